"""Geometry of rigid bodies on any scalar: vectors, rotations, poses, inertias as values."""
