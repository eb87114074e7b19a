"""Equations become kernels: expression graph, passes, back ends."""
