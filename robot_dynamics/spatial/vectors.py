"""Vector algebra on any scalar: floats, or symbols while equations are traced.

NumPy carries both: an array of floats computes numbers, an object array of
symbols builds an expression graph. These helpers return whichever fits what
they are given, and never branch on a value.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.arrays import Array


def skew(v: Array) -> Array:
    """Matrix that multiplies a vector w to give the cross product v x w."""
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


def cross(a: Array, b: Array) -> Array:
    """Cross product a x b of two 3-vectors."""
    return np.array(
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    )
