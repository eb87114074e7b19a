"""Compiled equations as differentiable functions of array libraries."""
