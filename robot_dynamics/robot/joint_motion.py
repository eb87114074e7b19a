"""Pose of the link that a joint carries, at any position of the joint."""

from __future__ import annotations

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.robot.joint import Joint
from robot_dynamics.spatial.pose import Pose
from robot_dynamics.spatial.rotation import rotation_about
from robot_dynamics.spatial.vectors import skew


def joint_motion(joint: Joint, q: Array) -> tuple[Array, Array]:
    """Pose of the child link of a moving joint in its parent link at position q.

    Returns:
        R_PC, shape (3, 3), and p_PC, shape (3,), m: x_P = R_PC @ x_C + p_PC.
    """
    R0, p0 = joint.origin.rotation, joint.origin.translation
    if joint.type.rotates:
        return R0 @ rotation_about(joint.axis, q), p0
    return R0, p0 + R0 @ (joint.axis * q)


def joint_pose(joint: Joint, position: float) -> Pose:
    """Pose of the child link of a joint at a position (rad or m), in the child link at zero."""
    if not joint.moves:
        return Pose.identity()
    if not joint.type.rotates:
        return Pose(np.eye(3), position * joint.axis)
    K = skew(joint.axis)  # Rodrigues' formula
    return Pose(np.eye(3) + np.sin(position) * K + (1.0 - np.cos(position)) * (K @ K), np.zeros(3))
