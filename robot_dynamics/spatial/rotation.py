"""Rotation matrices: from an axis and an angle, and from roll, pitch and yaw."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from robot_dynamics.arrays import Array


def rotation_about(axis: Array, angle: Array) -> Array:
    """Rotation matrix of a turn by `angle` (rad) about the unit vector `axis`.

    A component of the axis that is exactly zero or one leaves no operations
    behind when the equations are traced.
    """
    return rodrigues(axis, np.cos(angle), np.sin(angle))


def rodrigues(u: Array, c: Any, s: Any) -> Array:
    """Rotation matrix about the unit vector u by an angle of cosine c and sine s (Rodrigues)."""
    v = 1.0 - c
    return np.array(
        [
            [c + v * (u[0] * u[0]), v * (u[0] * u[1]) - s * u[2], v * (u[0] * u[2]) + s * u[1]],
            [v * (u[0] * u[1]) + s * u[2], c + v * (u[1] * u[1]), v * (u[1] * u[2]) - s * u[0]],
            [v * (u[0] * u[2]) - s * u[1], v * (u[1] * u[2]) + s * u[0], c + v * (u[2] * u[2])],
        ]
    )


RIGHT_ANGLE = 1e-11
"""What an angle may differ from a multiple of a right angle, as which it is then taken, rad."""


def cosine_and_sine(angle: npt.ArrayLike) -> tuple[Array, Array]:
    """Cosine and sine of constant angles, rad: of right angles exactly 0, 1 and -1.

    In floats the cosine of pi / 2 is 6e-17, and 5e-12 if the angle was printed with eleven
    decimals, as exporters do; compiled equations would multiply by such numbers forever. An angle
    within `RIGHT_ANGLE` of a multiple of pi / 2 is therefore taken as that multiple: the end of a
    link of one metre moves by 1e-11 m, and torques change by some 1e-11 of the largest.
    """
    c, s = np.cos(angle), np.sin(angle)  # where one is this small, the other is 1 or -1 in floats
    return np.where(np.abs(c) < RIGHT_ANGLE, 0.0, c), np.where(np.abs(s) < RIGHT_ANGLE, 0.0, s)


def rotation_from_rpy(rpy: npt.ArrayLike) -> Array:
    """Rotation matrix Rz(yaw) Ry(pitch) Rx(roll) of URDF's roll, pitch, yaw (3,), rad.

    A right angle turns axes into axes, exactly: see `cosine_and_sine`.
    """
    (cr, cp, cy), (sr, sp, sy) = cosine_and_sine(rpy)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )
