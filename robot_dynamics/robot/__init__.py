"""Robots as immutable values: links, joints, frames; URDF reader and transformations."""

from robot_dynamics.robot.base_motion import BaseMotion
from robot_dynamics.robot.catalogue import find_robot, known_robots, share_folder, urdf_text
from robot_dynamics.robot.kinematic_tree import (
    Coupling,
    Frame,
    Joint,
    JointLimits,
    JointType,
    Link,
    Mimic,
    RobotLimits,
)
from robot_dynamics.robot.robot import STANDARD_GRAVITY, Robot
from robot_dynamics.robot.transforms import lock, merge_fixed, mount, subchain, with_payload
from robot_dynamics.robot.urdf.reader import read_urdf
from robot_dynamics.robot.urdf_writer import urdf_of
from robot_dynamics.spatial import Inertia, Pose

__all__ = [
    "STANDARD_GRAVITY",
    "BaseMotion",
    "Coupling",
    "Frame",
    "Inertia",
    "Joint",
    "JointLimits",
    "JointType",
    "Link",
    "Mimic",
    "Pose",
    "Robot",
    "RobotLimits",
    "find_robot",
    "known_robots",
    "lock",
    "merge_fixed",
    "mount",
    "read_urdf",
    "share_folder",
    "subchain",
    "urdf_of",
    "urdf_text",
    "with_payload",
]
