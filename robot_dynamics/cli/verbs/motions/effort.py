"""The same trajectory with the effort that each point takes filled in.

    robot-dynamics effort motion.csv panda                       -> motion_with_effort.csv
    robot-dynamics effort motion.yaml arm.urdf --output out.csv
    robot-dynamics effort motion.csv ur5 --keep-points

Friction of the URDF is part of the effort. A controller that interpolates effort by straight lines,
as joint_trajectory_controller does, needs more points than the motion has: they are added where a
line would be off by more than --tolerance.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from robot_dynamics.arrays import Array
from robot_dynamics.cli.arguments import (
    add_formulation,
    add_robot,
    joint_units,
    load_robot,
    positive,
)
from robot_dynamics.cli.tables import plain_table
from robot_dynamics.control import Friction, effort_limits
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import RobotDynamicsError, TrajectoryError
from robot_dynamics.robot import Robot
from robot_dynamics.trajectory import State, Trajectory, Waypoints, interpolate
from robot_dynamics.trajectory.trajectory_files import read_trajectory, write_trajectory
from robot_dynamics.trajectory.waypoint_effort import with_effort

SUFFIXES = (".csv", ".yaml", ".yml")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command line of the verb."""
    parser.add_argument(
        "trajectory",
        type=Path,
        help="a .csv with columns time, q.<joint>, ... or a .yaml as `ros2 topic echo` prints one",
    )
    add_robot(parser)
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="a .csv or .yaml to write (default: the name of the input, with _with_effort)",
    )
    parser.add_argument(
        "--tolerance",
        type=positive,
        default=0.5,
        help="largest deviation of a straight line between points, N m or N (default: 0.5)",
    )
    parser.add_argument(
        "--keep-points", action="store_true", help="the points of the input and no others"
    )
    add_formulation(parser, "use")


def run(arguments: argparse.Namespace) -> int:
    """Write the file, and say how near to the limits it comes."""
    robot = load_robot(arguments.robot)
    output = arguments.output or _beside(arguments.trajectory)
    if output.suffix not in SUFFIXES:
        raise TrajectoryError(f"{output}: unknown kind of file; use .yaml or .csv")
    given = read_trajectory(arguments.trajectory, robot.joint_names, allow_end_velocity=True)
    missing = [name for name in robot.joint_names if name not in given.joint_names]
    if missing:
        raise TrajectoryError(
            f"{arguments.trajectory}: nothing for joint '{missing[0]}', one of {len(missing)} that "
            "are left out; the effort of one joint depends on all: give every joint its positions"
        )
    order = [given.joint_names.index(name) for name in robot.joint_names]
    motion = interpolate(given)
    dynamics, friction = Dynamics(robot, arguments.formulation), Friction.of(robot)

    def effort(state: State) -> Array:
        q, qd, qdd = (values[..., order] for values in state)
        tau: Array = dynamics.inverse(q, qd, qdd) + friction.smooth(qd)
        return tau[..., np.argsort(order)]

    if arguments.keep_points:
        filled = replace(given, effort=effort(motion.sample(given.times)))
    else:
        filled = with_effort(motion, effort, tolerance=arguments.tolerance)
    try:
        write_trajectory(output, filled)
    except OSError as error:
        raise RobotDynamicsError(f"{output}: {error.strerror}; name a file to write") from None
    console = Console(width=None if Console().is_terminal else 120)
    console.print(peak_table(robot, filled, motion))
    console.print(f"{output}: {len(filled.times)} points", soft_wrap=True, highlight=False)
    return 0


def peak_table(robot: Robot, filled: Waypoints, motion: Trajectory) -> Table:
    """The largest effort of each joint, when it comes, and how much of the limit it takes."""
    table = plain_table(None, ["joint"], ["peak effort", "at", "limit", ""])
    limits = dict(zip(robot.joint_names, effort_limits(robot), strict=True))
    tau = np.abs(np.asarray(filled.effort))
    for column, (name, (_, unit)) in enumerate(
        zip(motion.joint_names, joint_units(robot, motion.joint_names), strict=True)
    ):
        at = int(tau[:, column].argmax())
        share = tau[at, column] / limits[name]
        table.add_row(
            name,
            f"{tau[at, column]:.4g} {unit}",
            f"{filled.times[at]:.3f} s",
            f"{limits[name]:g} {unit}" if np.isfinite(limits[name]) else "none",
            f"{100.0 * share:.0f} %{' !' if share > 1.0 else ''}" if share > 0.0 else "",
        )
    return table


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.stem}_with_effort{path.suffix}")
