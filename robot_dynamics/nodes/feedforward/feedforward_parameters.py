"""Parameters of feedforward_node."""

from __future__ import annotations

from dataclasses import dataclass

from robot_dynamics.nodes.ros.node_parameters import listed, parameter
from robot_dynamics.nodes.runtime.drive_parameters import FeedbackParameters
from robot_dynamics.nodes.runtime.online_model import ModelParameters
from robot_dynamics.trajectory.motion_limits import LIMITS
from robot_dynamics.trajectory.replacement import DEFAULT_BLEND_S


@dataclass(frozen=True)
class FeedforwardParameters(FeedbackParameters, ModelParameters):
    """Parameters of feedforward_node."""

    velocity_filter: float = listed("velocity_filter")
    blend: float = parameter(
        DEFAULT_BLEND_S,
        "Time to blend into a trajectory that does not start at the present state, s",
        low=1e-3,
        high=10.0,
    )
    preparation: float = parameter(
        0.01,
        "Least time between the arrival of a trajectory and its start, to prepare it, s",
        low=0.0,
        high=10.0,
    )
    limits: str = parameter(
        "reject", "Treatment of a trajectory beyond the limits of the URDF", one_of=LIMITS
    )
    allow_partial_joints_goal: bool = parameter(
        True, "Accept trajectories of some of the joints; the others continue their motion"
    )
    allow_nonzero_velocity_at_trajectory_end: bool = parameter(
        False,
        "Accept trajectories that end in motion, as in a stream of them; the last one is brought "
        "to rest",
    )
    empty_trajectory: str = parameter(
        "reject",
        "Meaning of a trajectory without points: stop comes to rest and holds",
        one_of=("reject", "stop"),
    )
    effort_tolerance: float = parameter(
        0.1,
        "Largest error of linear interpolation between the efforts of "
        "joint_trajectory_with_effort, N m or N",
        low=1e-6,
        high=1e6,
    )
    hold_with_effort: bool = parameter(
        False,
        "For a joint_trajectory_controller, which otherwise holds without effort: publish the held "
        "position on joint_trajectory_with_effort before the first motion, and begin motions at "
        "the measured position",
        read_only=True,
    )
    action_monitor_rate: float = parameter(
        20.0,
        "Rate of the feedback of ~/follow_joint_trajectory, Hz",
        low=0.1,
        high=1000.0,
        read_only=True,
    )
    wrench_ramp: float = parameter(
        0.1, "Duration of the ramp to another wrench, s", low=0.0, high=60.0
    )
    wrench_timeout: float = parameter(
        0.2, "Age of the last wrench at which it returns to zero, s", low=1e-3, high=3600.0
    )
    fade: float = parameter(
        0.2, "Time to fade to other terms of the model, such as friction, s", low=0.0, high=10.0
    )
