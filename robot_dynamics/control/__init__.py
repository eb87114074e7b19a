"""Control without ROS: compute joint efforts from desired and measured motion, within limits."""

from typing import TYPE_CHECKING

from robot_dynamics.foundation.lazy import late

if TYPE_CHECKING:
    from robot_dynamics.control.actuators import Actuators
    from robot_dynamics.control.collision import Collision
    from robot_dynamics.control.collision_monitor import CollisionMonitor
    from robot_dynamics.control.controller import Command, Controller
    from robot_dynamics.control.friction import Friction
    from robot_dynamics.control.gains import Gains
    from robot_dynamics.control.laws import (
        MODES,
        TASK_MODES,
        ControlLaw,
        Measured,
        Reference,
        pd_feedforward,
        position_error,
    )
    from robot_dynamics.control.limits import (
        Limited,
        SoftLimits,
        effort_limits,
        limit_rate,
        saturate,
    )
    from robot_dynamics.control.load import Load
    from robot_dynamics.control.model import Model, continuous_joints
    from robot_dynamics.control.sampling.tuning import gains_for
    from robot_dynamics.control.settings import Settings
    from robot_dynamics.control.status import Status
    from robot_dynamics.control.task import Task
    from robot_dynamics.control.task_settings import TaskSettings

__all__ = [
    "MODES",
    "TASK_MODES",
    "Actuators",
    "Collision",
    "CollisionMonitor",
    "Command",
    "ControlLaw",
    "Controller",
    "Friction",
    "Gains",
    "Limited",
    "Load",
    "Measured",
    "Model",
    "Reference",
    "Settings",
    "SoftLimits",
    "Status",
    "Task",
    "TaskSettings",
    "continuous_joints",
    "effort_limits",
    "gains_for",
    "limit_rate",
    "pd_feedforward",
    "position_error",
    "saturate",
]

__getattr__, __dir__ = late(__name__)
