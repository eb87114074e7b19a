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
from robot_dynamics.kinematics.jacobian_derivative import frame_drift, frame_jacobian_derivative
from robot_dynamics.kinematics.rates import (
    Mobility,
    joint_accelerations,
    mobility,
    resolved_rates,
    task_rows,
    weighted_inverse,
)

__all__ = [
    "FrameMotion",
    "FramePose",
    "InverseKinematics",
    "InverseSolutions",
    "Mobility",
    "frame_drift",
    "frame_jacobian",
    "frame_jacobian_derivative",
    "frame_motion",
    "frame_pose",
    "joint_accelerations",
    "link_poses",
    "mobility",
    "resolved_rates",
    "task_rows",
    "weighted_inverse",
]
