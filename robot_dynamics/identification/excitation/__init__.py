"""Optimal excitation: motions for identification, designed within limits."""
