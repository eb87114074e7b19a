"""What a robot is: immutable values, read once from a URDF."""

from robot_dynamics.robot.robot import (
    STANDARD_GRAVITY,
    Coupling,
    Frame,
    Inertia,
    Joint,
    JointLimits,
    JointType,
    Limits,
    Link,
    Mimic,
    Pose,
    Robot,
)
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.robot.urdf import read_urdf

__all__ = [
    "STANDARD_GRAVITY",
    "Coupling",
    "Frame",
    "Inertia",
    "Joint",
    "JointLimits",
    "JointType",
    "Limits",
    "Link",
    "Mimic",
    "Pose",
    "Robot",
    "merge_fixed",
    "read_urdf",
]
