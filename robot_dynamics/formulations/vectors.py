"""Vector algebra on any scalar: floats, or symbols while equations are traced.

NumPy carries both: an array of floats computes numbers, an object array of
symbols builds an expression graph. These helpers return whichever fits what
they are given, and never branch on a value.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from robot_dynamics.robot.robot import Array, Joint, skew

__all__ = ["Array", "Wrenches", "cross", "joint_motion", "rotation_about", "skew"]


Wrenches = Mapping[int, tuple[Array, Array]]
"""For links by index: force (3,) N and moment (3,) N m about the origin of the link that the link
exerts on its surroundings, in its axes."""


def cross(a: Array, b: Array) -> Array:
    """Cross product a x b of two 3-vectors."""
    return np.array(
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    )


def rotation_about(axis: Array, angle: Array) -> Array:
    """Rotation matrix of a turn by `angle` (rad) about the unit vector `axis` (Rodrigues).

    A component of the axis that is exactly zero or one leaves no operations
    behind when the equations are traced.
    """
    c, s = np.cos(angle), np.sin(angle)
    u = axis
    v = 1.0 - c
    return np.array(
        [
            [c + v * (u[0] * u[0]), v * (u[0] * u[1]) - s * u[2], v * (u[0] * u[2]) + s * u[1]],
            [v * (u[0] * u[1]) + s * u[2], c + v * (u[1] * u[1]), v * (u[1] * u[2]) - s * u[0]],
            [v * (u[0] * u[2]) - s * u[1], v * (u[1] * u[2]) + s * u[0], c + v * (u[2] * u[2])],
        ]
    )


def joint_motion(joint: Joint, q: Array) -> tuple[Array, Array]:
    """Pose of the child link of a moving joint in its parent link at position q.

    Returns:
        R_PC, shape (3, 3), and p_PC, shape (3,), m: x_P = R_PC @ x_C + p_PC.
    """
    R0, p0 = joint.origin.rotation, joint.origin.translation
    if joint.type.rotates:
        return R0 @ rotation_about(joint.axis, q), p0
    return R0, p0 + R0 @ (joint.axis * q)
