"""Euler angles of a rotation: both solutions, and the singular case.

For other descriptions of orientation (roll-pitch-yaw, rotation vector, quaternion) use
`scipy.spatial.transform.Rotation`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import Array, numbers

SINGULAR = 1e-12
"""Sine of theta below which both z axes count as parallel."""

ROTATION = 1e-5
"""Largest deviation of R^T R from the identity."""


class EulerAngles(NamedTuple):
    """Rotations about z, the new x and the new z: [AsadaSlotine1986], section 2.1.3.

    Attributes:
        first: phi, theta, psi with theta from 0 to pi, shape (3,), rad.
        second: phi + pi, -theta, psi + pi, the same orientation.
        singular: Whether theta is 0 or pi. Then only phi + psi or phi - psi is determined, and
            psi is set to zero.
    """

    first: Array
    second: Array
    singular: bool


def euler_angles(rotation: npt.ArrayLike) -> EulerAngles:
    """Find the Euler angles of a rotation matrix, shape (3, 3): R = Rz(phi) Rx(theta) Rz(psi).

    Raises:
        RobotError: If it is not a matrix of finite numbers.
        ArgumentError: If it is not a rotation matrix.
    """
    R = numbers("rotation", rotation, (3, 3))
    if np.abs(R.T @ R - np.eye(3)).max() > ROTATION or np.linalg.det(R) < 0.0:
        raise ArgumentError("rotation is no rotation matrix: R^T R must be 1, and its determinant")
    sine = np.hypot(R[0, 2], R[1, 2])
    theta = np.arctan2(sine, R[2, 2])
    singular = bool(sine < SINGULAR)
    if singular:
        phi, psi = np.arctan2(R[1, 0], R[0, 0]), 0.0
    else:
        phi, psi = np.arctan2(R[0, 2], -R[1, 2]), np.arctan2(R[2, 0], R[2, 1])
    first = np.array([phi, theta, psi])
    return EulerAngles(first, first * [1.0, -1.0, 1.0] + [np.pi, 0.0, np.pi], singular)
