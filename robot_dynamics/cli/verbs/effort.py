"""Add the effort of each point to a trajectory.

    robot-dynamics effort panda motion.csv                       -> motion_with_effort.csv
    robot-dynamics effort arm.urdf motion.yaml --output out.csv
    robot-dynamics effort ur5 motion.csv --keep-points
    robot-dynamics effort panda run.mcap                         -> run_with_effort.mcap
    robot-dynamics effort panda arm_only.csv --lock panda_finger_joint1=0.02

A bag (.mcap, .db3 or its folder) is copied to an .mcap, and its trajectories get efforts. A bag
without trajectories gets one of the desired motion, on joint_trajectory_with_effort.
Friction of the URDF is part of the effort. A controller that interpolates effort by straight lines,
as joint_trajectory_controller does, needs more points than the motion has. Points are added where
the error of a line would exceed --tolerance.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np

from robot_dynamics.cli.arguments import (
    add_formulation,
    add_robot,
    joint_units,
    new_file,
    output_file,
    positive,
    say,
)
from robot_dynamics.cli.chosen_joints import add_lock, robot_of
from robot_dynamics.cli.output import Printer, add_json, print_json
from robot_dynamics.control import Friction, effort_limits
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.errors import ArgumentError, TrajectoryError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.numbers import counted
from robot_dynamics.foundation.text_tables import TextTable
from robot_dynamics.robot import Robot
from robot_dynamics.trajectory import State, Waypoints, interpolate
from robot_dynamics.trajectory.trajectory_files import read_trajectory, write_trajectory
from robot_dynamics.trajectory.waypoint_effort import with_effort

SUFFIXES = (".csv", ".yaml", ".yml")
BAGS = (".mcap", ".db3")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command line of the verb."""
    add_robot(parser)
    parser.add_argument(
        "trajectory",
        type=Path,
        help="a .csv with columns time, q.<joint>, ...; a .yaml as `ros2 topic echo` prints one; "
        "or a bag",
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="a .csv or .yaml, of a bag an .mcap, to write (default: the name of the input, with "
        "_with_effort)",
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
    add_lock(parser, "joints that the trajectory leaves out, and where they stand (rad or m)")
    add_formulation(parser, "use")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the file, and print the peak efforts beside the limits."""
    source = arguments.trajectory
    if source.suffix in ("", ".urdf", ".xacro") and not source.is_dir():
        raise ArgumentError(f"{source}: is no trajectory; give the robot before the trajectory")
    robot = robot_of(arguments)
    bag = source.suffix in BAGS or source.is_dir()
    output = arguments.output or _beside(source, ".mcap" if bag else source.suffix)
    if output.suffix not in ((".mcap",) if bag else SUFFIXES):
        kinds = ".mcap" if bag else ".yaml or .csv"
        raise TrajectoryError(f"{output}: unknown kind of file; use {kinds}")
    output = new_file(output) if bag else output_file(output)
    say("filling efforts in")
    filler = _Filler(robot, arguments)
    if bag:
        from robot_dynamics.recordings.bag_trajectories import fill_bag  # noqa: PLC0415

        written = fill_bag(source, output, robot.joint_names, filler, robot.followers)
    else:
        given = read_trajectory(
            source, robot.joint_names, followers=robot.followers, allow_end_velocity=True
        )
        written = [filler(given)]
        write_trajectory(output, written[0])
    if arguments.json:
        print_json({"output": str(output), "trajectories": [_peaks(robot, w) for w in written]})
        return 0
    show = Printer()
    show(*(peak_table(robot, filled) for filled in written))
    points = sum(len(filled.times) for filled in written)
    show(f"{output}: {counted(points, 'point')}")
    return 0


class _Filler:
    """Adds efforts to waypoints according to the options."""

    def __init__(self, robot: Robot, arguments: argparse.Namespace) -> None:
        self._source, self._names = arguments.trajectory, robot.joint_names
        self._dynamics = Dynamics(robot, arguments.formulation)
        self._friction = Friction.of(robot)
        self._keep, self._tolerance = arguments.keep_points, arguments.tolerance

    def __call__(self, given: Waypoints) -> Waypoints:
        missing = [name for name in self._names if name not in given.joint_names]
        if missing:
            raise TrajectoryError(
                f"{self._source}: nothing for joint '{missing[0]}', one of {len(missing)} that are "
                "left out; the effort of one joint depends on all: give every joint its positions, "
                f"or say where it stands: --lock {missing[0]}=POSITION"
            )
        order = [given.joint_names.index(name) for name in self._names]
        motion = interpolate(given)

        def effort(state: State) -> Array:
            q, qd, qdd = (values[..., order] for values in state)
            tau: Array = self._dynamics.inverse(q, qd, qdd) + self._friction.smooth(qd)
            return tau[..., np.argsort(order)]

        if self._keep:
            return replace(given, effort=effort(motion.sample(given.times)))
        return with_effort(motion, effort, tolerance=self._tolerance)


def _peaks(robot: Robot, filled: Waypoints) -> dict[str, object]:
    """Return the content of the table for programs."""
    limits = dict(zip(robot.joint_names, effort_limits(robot), strict=True))
    tau = np.abs(np.asarray(filled.effort))
    return {
        "joint_names": filled.joint_names,
        "points": len(filled.times),
        "peak_effort": tau.max(axis=0),
        "peak_time": filled.times[tau.argmax(axis=0)],
        "effort_limit": [limits[name] for name in filled.joint_names],
    }


def peak_table(robot: Robot, filled: Waypoints) -> TextTable:
    """Return a table of the largest effort of each joint, its time and its share of the limit."""
    table = TextTable(None, ["joint"], ["peak effort", "at", "limit", ""])
    limits = dict(zip(robot.joint_names, effort_limits(robot), strict=True))
    tau = np.abs(np.asarray(filled.effort))
    for column, (name, (_, unit)) in enumerate(
        zip(filled.joint_names, joint_units(robot, filled.joint_names), strict=True)
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


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(f"{path.stem}_with_effort{suffix}")
