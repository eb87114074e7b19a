"""Equations as a graph of expressions: traced, counted, simplified."""
