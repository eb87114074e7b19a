"""Print the motion that joint efforts cause, by forward dynamics without friction and stops.

    robot-dynamics forward planar_2r --duration 2                 it falls from rest
    robot-dynamics forward stanford --efforts joint_3=-50 --formulation zero_reference
    robot-dynamics forward planar_2r --efforts "30*cos(2*pi*t),5"
    robot-dynamics forward puma_gupta --efforts run.csv --method adams_bashforth_moulton -o out.csv

Efforts are numbers or expressions of the time t, by default zero, or come from a CSV file of
columns time and tau.JOINT, with straight lines between its rows and its ends held. The output has
the columns of such a file, and q.JOINT and qd.JOINT. A motion that diverges ends there, with a
warning.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np

from robot_dynamics.cli.arguments import (
    add_formulation,
    add_robot,
    duration,
    joint_entries,
    joint_values,
    positive,
    take_negative_lists,
)
from robot_dynamics.cli.chosen_joints import add_lock, robot_of
from robot_dynamics.cli.output import add_json, print_json
from robot_dynamics.cli.verbs.urdf import add_output, write
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.errors import ArgumentError, unknown_name
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.functions_of_time import function_of_time
from robot_dynamics.foundation.user_files import number, read_csv
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.integrators import INTEGRATORS, integrate
from robot_dynamics.trajectory.motions import middle_pose

MOST_STEPS = 1_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command line of the verb."""
    add_robot(parser)
    take_negative_lists(parser)
    add_lock(parser, "joints that stand still, and where, rad or m")
    values = "0.1,0.2,... in the order of the joints, or JOINT=NUMBER,..."
    parser.add_argument(
        "--efforts",
        metavar="VALUES|FILE",
        help=f"N m or N: {values}, where a number may be an expression of t such as 5*sin(2*t), or "
        "a CSV file (default: zero)",
    )
    for option, what in (
        ("--q", "positions at the start, rad or m (default: mid-range)"),
        ("--qd", "velocities at the start, rad/s or m/s (default: zero)"),
    ):
        parser.add_argument(option, metavar="VALUES", help=f"{what}: {values}")
    parser.add_argument("--duration", type=duration, default=1.0, help="s (default: 1)")
    parser.add_argument(
        "--step", type=positive, default=1e-3, help="step of the integrator, s (default: 0.001)"
    )
    parser.add_argument(
        "--method",
        choices=list(INTEGRATORS),
        default="runge_kutta",
        help="integrator (default: runge_kutta)",
    )
    add_formulation(parser, "use")
    add_json(parser)
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    """Integrate, and print or write the motion."""
    robot = robot_of(arguments)
    efforts = _efforts(arguments.efforts, robot)
    if arguments.duration / arguments.step > MOST_STEPS:
        raise ArgumentError(
            f"--step: {arguments.duration / arguments.step:.3g} steps are more than {MOST_STEPS}; "
            "give a longer step or a shorter duration"
        )
    dynamics = Dynamics(robot, arguments.formulation)
    motion = integrate(
        lambda t, q, qd: dynamics.forward(q, qd, efforts(t)),
        joint_values("--q", arguments.q, robot, middle_pose(robot)),
        joint_values("--qd", arguments.qd, robot, np.zeros(robot.dof)),
        duration=arguments.duration,
        step=arguments.step,
        method=arguments.method,
    )
    tau = np.array([efforts(t) for t in motion.t])
    if arguments.json:
        columns = {"time": motion.t, "q": motion.q, "qd": motion.qd, "tau": tau}
        print_json({"robot": robot.name, "joints": robot.joint_names, **columns})
        return 0
    heads = [f"{x}.{name}" for x in ("q", "qd", "tau") for name in robot.joint_names]
    rows = np.column_stack((motion.t, motion.q, motion.qd, tau))
    lines = [",".join(["time", *heads]), *(",".join(f"{x:.12g}" for x in row) for row in rows)]
    write(arguments.output, "\n".join([*lines, ""]))
    return 0


def _efforts(text: str | None, robot: Robot) -> Callable[[float], Array]:
    """Return the efforts at a time."""
    if text is None or Path(text).suffix.lower() != ".csv":
        entries = joint_entries("--efforts", text, robot)
        given = {k: function_of_time("--efforts", entry) for k, entry in entries.items()}
        return lambda t: np.array([given[k](t) if k in given else 0.0 for k in range(robot.dof)])
    t, tau = _read_efforts(Path(text), robot)
    return lambda at: np.array([np.interp(at, t, column) for column in tau.T])


def _read_efforts(path: Path, robot: Robot) -> tuple[Array, Array]:
    table = read_csv(path, ArgumentError)
    wanted = ["time", *(f"tau.{name}" for name in robot.joint_names)]
    for name in wanted:
        if name not in table.header:
            raise unknown_name("column", name, f"{path}", table.header)
    if not table.rows:
        raise ArgumentError(f"{path}: has no row; give one per time")
    at = [table.header.index(name) for name in wanted]
    values = np.array(
        [
            [number(f"{path}: {row.name}: {table.header[k]}", row.cells[k], ArgumentError)
             for k in at]
            for row in table.rows
        ]
    )  # fmt: skip
    if not np.isfinite(values).all():
        raise ArgumentError(f"{path}: a time or effort is not finite; give finite numbers")
    if np.any(np.diff(values[:, 0]) <= 0.0):
        raise ArgumentError(f"{path}: times must increase; sort the rows, each time once")
    return values[:, 0], values[:, 1:]
