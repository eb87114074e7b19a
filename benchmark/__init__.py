"""Measurements: `python -m benchmark` (or `make bench`) times this package beside its peers."""
