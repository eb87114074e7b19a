"""Pure control laws: desired and measured motion in, joint efforts out."""

from robot_dynamics.control.friction import Friction
from robot_dynamics.control.gains import Gains, gains_for
from robot_dynamics.control.laws import (
    Measured,
    Reference,
    continuous_joints,
    pd_feedforward,
    position_error,
)
from robot_dynamics.control.limits import Limited, effort_limits, limit_rate, saturate

__all__ = [
    "Friction",
    "Gains",
    "Limited",
    "Measured",
    "Reference",
    "continuous_joints",
    "effort_limits",
    "gains_for",
    "limit_rate",
    "pd_feedforward",
    "position_error",
    "saturate",
]
