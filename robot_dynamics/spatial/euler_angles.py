"""Euler angles of a rotation: both solutions, and the case where they are not determined.

Other descriptions of orientation (roll-pitch-yaw, rotation vector, quaternion) are those of
`scipy.spatial.transform.Rotation`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from robot_dynamics.arrays import Array, numbers
from robot_dynamics.errors import ArgumentError

SINGULAR = 1e-12
"""Sine of theta below which both axes z are in line."""

ROTATION = 1e-5
"""How far R^T R may be from the identity."""


class EulerAngles(NamedTuple):
    """Turns about z, the new x and the newest z: [AsadaSlotine1986], section 2.1.3.

    Attributes:
        first: phi, theta, psi with theta from 0 to pi, shape (3,), rad.
        second: phi + pi, -theta, psi + pi, the same orientation.
        singular: Whether theta is 0 or pi, so that only phi + psi or phi - psi is determined, and
            psi is taken as zero.
    """

    first: Array
    second: Array
    singular: bool


def euler_angles(rotation: npt.ArrayLike) -> EulerAngles:
    """Find the Euler angles of a rotation matrix, shape (3, 3): R = Rz(phi) Rx(theta) Rz(psi).

    Raises:
        RobotError: If it is no matrix of finite numbers.
        ArgumentError: If it is no rotation matrix.
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
