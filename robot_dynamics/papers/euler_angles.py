"""Euler and roll-pitch-yaw angles in any convention: both solutions, and the singular case.

`scipy.spatial.transform.Rotation.from_euler` has the same conventions and is the inverse.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from robot_dynamics.errors import ArgumentError, check_known
from robot_dynamics.foundation.arrays import Array, numbers

SINGULAR = 1e-12
"""Sine of the angle between the first and the last axis below which both count as parallel."""

ROTATION = 1e-5
"""Largest deviation of R^T R from the identity."""

ROLL_PITCH_YAW = "ZYX"
"""Roll, pitch and yaw of [AsadaSlotine1986]: R = Rz Ry Rx. URDF calls these yaw, pitch, roll."""

_MOVING = tuple(a + b + c for a in "XYZ" for b in "XYZ" for c in "XYZ" if b not in (a, c))
CONVENTIONS = (*_MOVING, *map(str.lower, _MOVING))
"""Axes of the three rotations: in capitals those that turn along, else fixed ones."""


class EulerAngles(NamedTuple):
    """Angles of three rotations about the axes of a convention.

    Attributes:
        first: The solution with the middle angle from 0 to pi if the outer axes are the same
            (ZXZ), else from -pi/2 to pi/2 (ZYX), shape (3,), rad.
        second: The other solution: both outer angles differ by pi.
        singular: Whether the first and last axes are parallel. Then only the sum or difference of
            the outer angles is determined; the last one is zero, of fixed axes the first one.
    """

    first: Array
    second: Array
    singular: bool


def euler_angles(rotation: npt.ArrayLike, convention: str = "ZXZ") -> EulerAngles:
    """Find the Euler angles of a rotation: [AsadaSlotine1986], (2-16) to (2-20) and section 2.1.3.

    Args:
        rotation: Rotation matrix, shape (3, 3).
        convention: One of `CONVENTIONS`. "ZXZ" are the Euler angles of the book, R = Rz(phi)
            Rx(theta) Rz(psi); "ZYX" its roll, pitch and yaw; "xyz" roll, pitch and yaw of URDF.

    Raises:
        UnknownNameError: If there is no such convention.
        RobotError: If `rotation` is not a matrix of finite numbers.
        ArgumentError: If it is not a rotation matrix.
    """
    check_known("convention", convention, "Euler angles", CONVENTIONS)
    R = numbers("rotation", rotation, (3, 3))
    if np.abs(R.T @ R - np.eye(3)).max() > ROTATION or np.linalg.det(R) < 0.0:
        raise ArgumentError("rotation is no rotation matrix: R^T R must be 1, and its determinant")
    fixed = convention.islower()
    i, j, k = ("XYZ".index(axis) for axis in convention.upper()[:: -1 if fixed else 1])
    m = 3 - i - j  # the axis beside i and j
    sign = 1.0 if (j - i) % 3 == 1 else -1.0  # of the permutation i, j, m
    if same := i == k:
        sine, cosine = np.hypot(R[j, i], R[m, i]), R[i, i]
        outer = np.arctan2(R[j, i], -sign * R[m, i]), np.arctan2(R[i, j], sign * R[i, m])
    else:
        sine, cosine = sign * R[i, k], np.hypot(R[j, k], R[k, k])
        outer = np.arctan2(-sign * R[j, k], R[k, k]), np.arctan2(-sign * R[i, j], R[i, i])
    singular = bool((sine if same else cosine) < SINGULAR)
    if singular:
        outer = np.arctan2(sign * R[m, j], R[j, j]), 0.0
    first = np.array([outer[0], np.arctan2(sine, cosine), outer[1]])
    second = np.pi * np.array([1.0, 0.0 if same else 1.0, 1.0]) + first * [1.0, -1.0, 1.0]
    order = slice(None, None, -1 if fixed else 1)
    return EulerAngles(first[order], second[order], singular)
