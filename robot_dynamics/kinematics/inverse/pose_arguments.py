"""Poses as arguments: rotation matrices and positions, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from robot_dynamics.errors import ArgumentError, ShapeError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.kinematics.inverse.equations.subproblems import cross, dot

ROTATION = 1e-5
"""Largest error of R^T R of an argument, which is then made a rotation matrix."""

EXACT = 1e-20
"""Square of an error that counts as round-off."""


def checked_poses(rotation: npt.ArrayLike, position: npt.ArrayLike) -> tuple[Array, Array, bool]:
    """Rotation matrices (N, 3, 3), positions (N, 3), and whether it is a single pose."""
    try:
        R, p = np.asarray(rotation, dtype=np.float64), np.asarray(position, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError("rotation and position must hold numbers") from None
    one = R.ndim == 2
    if R.shape[-2:] != (3, 3) or R.ndim not in (2, 3) or p.shape != (*R.shape[:-2], 3):
        raise ShapeError(
            "rotation must have shape (3, 3) or (N, 3, 3), and position (3,) or (N, 3); got "
            f"{R.shape} and {p.shape}"
        )
    R, p = R.reshape(-1, 3, 3), p.reshape(-1, 3)
    for name, array in (("rotation", R), ("position", p)):
        if not np.isfinite(array).all():
            raise ArgumentError(f"{name} holds NaN or infinity; every entry must be finite")
    return R, p, one


def deviation(rotation: Array) -> Any:
    """Return the error of a rotation matrix: squares of R^T R - 1 and of the determinant - 1."""
    x, y, z = ([rotation[0, k], rotation[1, k], rotation[2, k]] for k in range(3))
    units = [dot(v, v) - 1.0 for v in (x, y, z)] + [dot(x, cross(y, z)) - 1.0]
    return sum((e * e for e in (*units, dot(x, y), dot(y, z), dot(z, x))), 0.0)


def nearest_rotations(R: Array) -> Array:
    """The rotation matrices that N matrices are but for their last digits.

    Raises:
        ArgumentError: If one of them is none.
    """
    off = np.abs(np.swapaxes(R, 1, 2) @ R - np.eye(3)).max(axis=(1, 2), initial=0.0)
    bad = np.flatnonzero((off > ROTATION) | (np.linalg.det(R) < 0.0))
    if bad.size:
        raise ArgumentError(
            f"rotation{'' if len(R) == 1 else f'[{bad[0]}]'} is no rotation matrix: its columns "
            "must be unit vectors at right angles, right-handed (R^T R is off by "
            f"{off[bad[0]]:.2g})"
        )
    U, _, V = np.linalg.svd(R)
    return U @ V
