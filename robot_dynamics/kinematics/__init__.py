"""Kinematics: poses and motion of frames, Jacobians, inverse kinematics, resolved rates."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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

_MODULES = {
    "InverseKinematics": "inverse.inverse_kinematics",
    "InverseSolutions": "inverse.inverse_solutions",
    "selected_rows": "selection",
}


def __getattr__(name: str) -> Any:
    """Import inverse kinematics and rates on first use: `dynamics` does without them."""
    if name not in __all__:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.{_MODULES.get(name, 'rates')}"), name)


def __dir__() -> list[str]:
    """List the names that are not imported yet, too."""
    return sorted({*globals(), *__all__})
