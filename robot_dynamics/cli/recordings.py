"""Recordings on the command line: the options of the verbs that read them, and the reading."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from robot_dynamics.cli.arguments import joint_values, positive, say
from robot_dynamics.cli.chosen_joints import add_lock, name_pairs
from robot_dynamics.control.actuators import Actuators
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.identification import Drives, Recording, read_parameters
from robot_dynamics.recordings.bag_reader import is_bag
from robot_dynamics.robot import Robot
from robot_dynamics.robot.catalogue import find_robot, located
from robot_dynamics.robot.urdf.transmissions import read_transmissions
from robot_dynamics.trajectory import Waypoints
from robot_dynamics.trajectory.trajectory_files import read_trajectory

NOT_GOOD = 3
"""Exit status of a verb whose verdict is less than good."""


def add_recordings(parser: argparse.ArgumentParser) -> None:
    """Add positional arguments for recordings, and the options for reading them."""
    parser.add_argument(
        "recordings",
        nargs="+",
        type=Path,
        metavar="RECORDING",
        help="bag (.mcap, .db3 or its folder), .csv (q.<joint>, qd.<joint>, tau.<joint>) or .npz",
    )
    parser.add_argument("--topic", help="topic of the joint states, if a bag has several")
    parser.add_argument(
        "--effort-topic", help="topic of joint states with the efforts, if it is another one"
    )
    parser.add_argument(
        "--columns",
        metavar="COLUMNS",
        help="columns of a table of text without a header, in order: time,q,qd,tau (-N: N columns "
        "that do not count); or their names, * for the number of the joint: "
        "time=NAME,q=NAME*,qd=NAME*,tau=NAME*",
    )
    parser.add_argument(
        "--joint-names",
        metavar="JOINT=NAME,...",
        help="names of joints in the recording, if they differ by more than a prefix",
    )
    add_lock(parser, "joints that were not recorded, and their positions (rad or m)")
    parser.add_argument(
        "--degrees", action="store_true", help="positions and velocities are in degrees"
    )
    parser.add_argument(
        "--drive-gains",
        metavar="GAINS",
        help="efforts are currents: N m per unit of each joint, 0.1,0.2,... or JOINT=GAIN,...",
    )
    parser.add_argument(
        "--effort-lag",
        type=float,
        default=0.0,
        metavar="SECONDS",
        help="time by which efforts come after the motion, s; identify reports it (default: 0)",
    )
    parser.add_argument(
        "--motor-side",
        action="store_true",
        help="positions and efforts are those of the motors behind the URDF's <transmission>s",
    )
    parser.add_argument(
        "--cutoff",
        type=positive,
        help="cutoff frequency of the low-pass, Hz (default: from the motion)",
    )


def add_parameters(parser: argparse.ArgumentParser) -> None:
    """Add the option for the file of friction and rotors; see `drives_of`."""
    parser.add_argument(
        "--parameters", type=Path, help=".yaml of friction and rotors (default: beside the URDF)"
    )


def drives_of(source: str, given: Path | None, robot: Robot) -> Drives | None:
    """Return friction and rotors of the file that is given or beside the URDF, or None."""
    path = parameter_file(source, given)
    return None if path is None else read_parameters(path, robot)


def parameter_file(source: str, given: Path | None) -> Path | None:
    """Return the file of `drives_of`: the one that is given, the one beside a URDF, or None."""
    robot = find_robot(source)
    beside = robot.with_suffix(".yaml")  # of a table, the table itself
    return given or (beside if beside.is_file() and beside != robot else None)


def read_motion_file(path: Path, robot: Robot) -> Waypoints:
    """Read a trajectory (.csv, .yaml), or a recording of a motion."""
    if is_bag(path):
        from robot_dynamics.recordings import bag_trajectories  # noqa: PLC0415  # needs rosbags

        return bag_trajectories.recorded_waypoints(path, robot.joint_names, robot.followers)
    return read_trajectory(
        path, robot.joint_names, followers=robot.followers, speeds=robot.limits.velocity
    )


def actuators_of(arguments: argparse.Namespace, robot: Robot) -> Actuators | None:
    """Return the motors of the URDF's transmissions if recordings are on their side, else None."""
    if not arguments.motor_side:
        return None
    return Actuators.of_transmissions(robot, read_transmissions(located(arguments.robot)))


def read_recordings(
    arguments: argparse.Namespace, robot: Robot, paths: Sequence[Path] | None = None
) -> list[Recording]:
    """Read recordings, by default those of the command line, with its options."""
    gains: Array | None = None
    if arguments.drive_gains is not None:
        gains = joint_values("--drive-gains", arguments.drive_gains, robot, np.ones(robot.dof))
    actuators = actuators_of(arguments, robot)
    say("reading recordings")
    given = arguments.joint_names
    names = None if given is None else name_pairs("--joint-names", given)
    return [
        Recording.read(
            path,
            robot,
            joint_names=names,
            topic=arguments.topic,
            effort_topic=arguments.effort_topic,
            columns=arguments.columns,
            degrees=arguments.degrees,
            drive_gains=gains,
            actuators=actuators,
            effort_lag=arguments.effort_lag,
        )
        for path in paths or arguments.recordings
    ]
