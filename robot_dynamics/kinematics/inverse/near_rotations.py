"""Matrices that are rotations but for their last digits, and the rotations nearest to them."""

from __future__ import annotations

import functools

import numpy as np

from robot_dynamics.compiler.graph.piecewise import maximum, select
from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.kinematics.inverse.subproblems import cross, dot

ROTATION = 1e-5
"""Largest error of R^T R of an argument, which is then made a rotation matrix."""

EXACT = 1e-20
"""Square of an error that counts as round-off."""

STEPS = 2
"""Of Newton's method: they take an error of 1e-5 to 1e-10 and to round-off."""


def nearest(R: Array) -> tuple[Array, Array]:
    """Return the rotations nearest to matrices, and R^T R - 1, of any scalar, shape (..., 3, 3).

    The orthogonal factor of the polar decomposition, by the iteration of Newton and Schulz.
    """
    turned, error = R, np.swapaxes(R, -1, -2) @ R - np.eye(3)
    for _ in range(STEPS):
        turned = 1.5 * turned - 0.5 * (turned @ (np.swapaxes(turned, -1, -2) @ turned))
    return turned, error


def repaired(rotation: Array) -> dict[str, Array]:
    """Return the output of a kernel: the nearest rotation, or NaN where the matrix is none."""
    near, error = nearest(rotation)
    off = functools.reduce(maximum, [np.abs(x) for x in error.flat])
    off = select(0.0, dot(rotation[0], cross(rotation[1], rotation[2])), off, 1.0)
    nothing = np.sqrt(-1.0 - off)  # equations hold no NaN
    kept = [[select(ROTATION, off, nothing, x) for x in row] for row in near]
    return {"nearest": np.array(kept, dtype=object)}


def nearest_rotations(R: Array) -> Array:
    """Return the rotation matrices nearest to N matrices, which differ from them by round-off.

    Raises:
        ArgumentError: If a matrix is no rotation matrix.
    """
    near, error = nearest(R)
    off = np.abs(error).max(axis=(1, 2), initial=0.0)
    bad = np.flatnonzero((off > ROTATION) | (np.linalg.det(R) < 0.0))
    if bad.size:
        raise ArgumentError(
            f"rotation{'' if len(R) == 1 else f'[{bad[0]}]'} is no rotation matrix: its columns "
            "must be unit vectors at right angles, right-handed (R^T R is off by "
            f"{off[bad[0]]:.2g})"
        )
    return near


def rotation_error(rotation: Array) -> dict[str, Array]:
    """Return the output of a kernel: squares of R^T R - 1 and the determinant - 1, shape (1,)."""
    x, y, z = ([rotation[0, k], rotation[1, k], rotation[2, k]] for k in range(3))
    units = [dot(v, v) - 1.0 for v in (x, y, z)] + [dot(x, cross(y, z)) - 1.0]
    errors = [*units, dot(x, y), dot(y, z), dot(z, x)]
    return {"error": np.array([sum(e * e for e in errors)], dtype=object)}
