"""Pose of the link that a joint carries, at any position of the joint."""

from __future__ import annotations

from typing import Any

from robot_dynamics.arrays import Array
from robot_dynamics.robot.joint import Joint
from robot_dynamics.spatial.pose import Pose
from robot_dynamics.spatial.rotation import cosine_and_sine, rodrigues, rotation_about


def joint_motion(joint: Joint, q: Any) -> tuple[Array, Array]:
    """Pose of the child link of a moving joint in its parent link at position q.

    Returns:
        R_PC, shape (3, 3), and p_PC, shape (3,), m: x_P = R_PC @ x_C + p_PC.
    """
    R0, p0 = joint.origin.rotation, joint.origin.translation
    if joint.type.rotates:
        return R0 @ rotation_about(joint.axis, q), p0
    return R0, p0 + R0 @ (joint.axis * q)


def joint_pose(joint: Joint, position: float) -> Pose:
    """Pose X_PC of the child link of any joint at a constant position, rad or m."""
    if not joint.moves:
        return joint.origin
    if not joint.type.rotates:
        return Pose(*joint_motion(joint, position))
    R = rodrigues(joint.axis, *cosine_and_sine(position))
    return Pose(joint.origin.rotation @ R, joint.origin.translation)
