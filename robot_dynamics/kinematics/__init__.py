"""Kinematics: poses and motion of frames, Jacobians, inverse kinematics, resolved rates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from robot_dynamics.foundation.lazy import late
from robot_dynamics.kinematics.forward_kinematics import (
    FrameMotion,
    FramePose,
    frame_motion,
    frame_pose,
    link_poses,
)
from robot_dynamics.kinematics.jacobian import (
    frame_drift,
    frame_jacobian,
    frame_jacobian_derivative,
)

if TYPE_CHECKING:
    from robot_dynamics.kinematics.inverse.inverse_kinematics import InverseKinematics
    from robot_dynamics.kinematics.inverse.inverse_solutions import InverseSolutions
    from robot_dynamics.kinematics.rates import (
        Mobility,
        joint_accelerations,
        joint_velocities,
        mobility,
        resolved_rates,
        weighted_inverse,
    )
    from robot_dynamics.kinematics.selection import selected_rows

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
    "joint_velocities",
    "link_poses",
    "mobility",
    "resolved_rates",
    "selected_rows",
    "weighted_inverse",
]

# `dynamics` does without inverse kinematics and rates
__getattr__, __dir__ = late(__name__)
