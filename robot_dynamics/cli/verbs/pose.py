"""Print the pose of a frame in the root link at given joint positions (default: mid-range).

robot-dynamics pose ur5 --q 0,-1,1,0,0,0
robot-dynamics pose arm.urdf --frame wrist --q elbow=0.5
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.spatial.transform import Rotation

from robot_dynamics.cli.arguments import add_robot, joint_values, take_negative_lists
from robot_dynamics.cli.chosen_joints import add_end_effector, end_effector_of, robot_of
from robot_dynamics.cli.output import add_json, print_json
from robot_dynamics.kinematics import frame_pose
from robot_dynamics.trajectory.motions import middle_pose


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command line of the verb."""
    add_robot(parser)
    add_end_effector(parser, "link or named frame")
    take_negative_lists(parser)
    parser.add_argument(
        "--q",
        metavar="VALUES",
        help="positions, rad or m: 0.1,0.2,... in the order of the joints, or JOINT=NUMBER,...",
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print position and orientation, as `robot-dynamics ik` takes them."""
    robot = robot_of(arguments, inertia=False)
    q = joint_values("--q", arguments.q, robot, middle_pose(robot))
    frame = end_effector_of(arguments, robot)
    R, p = frame_pose(robot, q, frame)
    turn = Rotation.from_matrix(R)
    if arguments.json:
        orientation = {"rpy": turn.as_euler("xyz"), "quaternion": turn.as_quat(), "rotation": R}
        joints = {"joints": robot.joint_names, "q": q}
        print_json({"robot": robot.name, "frame": frame, **joints, "position": p, **orientation})
        return 0
    for name, values in (
        ("position, m", p),
        ("rpy, rad", turn.as_euler("xyz")),
        ("quaternion x,y,z,w", turn.as_quat()),
    ):
        print(f"{name}: {_written(values)}")
    print("rotation:")
    for row in R:
        print(f"  {_written(row)}")
    return 0


def _written(values: np.ndarray) -> str:
    return ",".join(f"{x + 0.0:.10g}" for x in np.where(np.abs(values) < 1e-15, 0.0, values))
