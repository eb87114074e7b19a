"""Kinematics: where the frames of a robot are, how they move, and the Jacobian between."""

from robot_dynamics.kinematics.forward_kinematics import (
    FrameMotion,
    FramePose,
    frame_motion,
    frame_pose,
    link_poses,
)
from robot_dynamics.kinematics.inverse_kinematics import InverseKinematics
from robot_dynamics.kinematics.inverse_solutions import InverseSolutions
from robot_dynamics.kinematics.jacobian import frame_jacobian

__all__ = [
    "FrameMotion",
    "FramePose",
    "InverseKinematics",
    "InverseSolutions",
    "frame_jacobian",
    "frame_motion",
    "frame_pose",
    "link_poses",
]
