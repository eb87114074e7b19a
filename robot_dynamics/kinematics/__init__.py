"""Kinematics: where the frames of a robot are, how they move, and the Jacobian between."""

from robot_dynamics.kinematics.forward_kinematics import (
    FrameMotion,
    FramePose,
    frame_motion,
    frame_pose,
    link_poses,
)
from robot_dynamics.kinematics.jacobian import frame_jacobian

__all__ = [
    "FrameMotion",
    "FramePose",
    "frame_jacobian",
    "frame_motion",
    "frame_pose",
    "link_poses",
]
