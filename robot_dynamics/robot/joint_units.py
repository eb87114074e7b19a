"""Units of the quantities of joints."""

from __future__ import annotations

from robot_dynamics.robot.kinematic_tree import Joint
from robot_dynamics.robot.robot import Robot

UNITS = {
    "position": ("rad", "m"),
    "velocity": ("rad/s", "m/s"),
    "acceleration": ("rad/s^2", "m/s^2"),
    "effort": ("N m", "N"),
    "frequency": ("Hz", "Hz"),
}
"""Units of quantities of a joint that rotates, and of one that slides."""


def unit_of(robot: Robot, i: int, quantity: str) -> str:
    """Return the unit of one of `UNITS` of joint i."""
    return joint_unit(robot.independent_joints[i], quantity)


def joint_unit(joint: Joint, quantity: str) -> str:
    """Return the unit of one of `UNITS` of a joint."""
    return UNITS[quantity][not joint.type.rotates]
