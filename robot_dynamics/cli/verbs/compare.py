"""Compare the formulations on one robot: agreement, operations and time.

    robot-dynamics compare ur5
    robot-dynamics compare talos --formulations newton_euler augmented_body

All compute the same torques. Differences are relative to the largest torque of random states, from
plain newton_euler; operations are those of the compiled inverse dynamics. A state is one of a
batch, a call a single state from Python. Times are the best of several turns: compare them within a
run.
"""

from __future__ import annotations

import argparse
from time import perf_counter
from typing import NamedTuple

import numpy as np

from robot_dynamics.cli.arguments import add_robot
from robot_dynamics.cli.chosen_joints import robot_of
from robot_dynamics.cli.output import Printer, add_json, print_json
from robot_dynamics.cli.progress_line import stages
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.formulations import FORMULATIONS, inverse_dynamics
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.text_tables import TextTable
from robot_dynamics.robot import Robot

CLOSED_FORMS = ("lagrange", "dalembert", "lagrange_euler")
"""Formulations whose operations grow with the third or fourth power of the number of joints."""

MOST_JOINTS = 12
"""Largest number of joints with closed forms by default; with more they take minutes."""

REFERENCE = "newton_euler"

STATES, CHECKED, TURNS, CALLS = 1000, 20, 20, 200


class ComparisonRow(NamedTuple):
    """One formulation: largest relative difference, operations, times (s)."""

    difference: float
    multiplications: int
    additions: int
    sines_cosines: int
    per_state: float
    per_call: float
    build: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command line of the verb."""
    add_robot(parser)
    parser.add_argument(
        "--formulations",
        nargs="+",
        choices=list(FORMULATIONS),
        metavar="NAME",
        help=f"which to compare, of {', '.join(FORMULATIONS)} (default: all; closed forms up to "
        f"{MOST_JOINTS} joints)",
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print a row for each formulation."""
    robot = robot_of(arguments)
    names = arguments.formulations or list(FORMULATIONS)
    left_out = []
    if not arguments.formulations and robot.dof > MOST_JOINTS:
        left_out = [name for name in names if name in CLOSED_FORMS]
        names = [name for name in names if name not in CLOSED_FORMS]
    states = np.random.default_rng(0).uniform(-1.0, 1.0, (3, STATES, robot.dof))
    show = Printer()
    rows = {}
    with stages() as progress:
        progress("computing the reference", 0.0)
        expected = plain(robot, states)
        for k, name in enumerate(names):
            progress(f"compiling {name}", k / len(names))
            rows[name] = measured(robot, name, states, expected)
    if arguments.json:
        print_json({"robot": robot.name, "formulations": rows, "left_out": left_out})
        return 0
    show(table_of(robot, rows))
    if left_out:
        show(
            f"left out, because they grow with a power of the {robot.dof} joints: "
            f"{', '.join(left_out)}; name them with --formulations"
        )
    return 0


def plain(robot: Robot, states: Array) -> Array:
    """Torques of the first states by the uncompiled reference, shape (CHECKED, n)."""
    checked = np.moveaxis(states[:, :CHECKED], 0, 1)
    return np.array([inverse_dynamics(robot, *state, formulation=REFERENCE) for state in checked])


def measured(robot: Robot, name: str, states: Array, expected: Array) -> ComparisonRow:
    """Compile one formulation, without the cache, and compare it."""
    dynamics = Dynamics(robot, name, cache=False)
    count = dynamics.operation_count("inverse")
    start = perf_counter()
    tau = dynamics.inverse(*states)
    build = perf_counter() - start
    one = [x[0].copy() for x in states]
    batch, calls = [], []
    for _ in range(TURNS):
        start = perf_counter()
        dynamics.inverse(*states, threads=1)
        batch.append(perf_counter() - start)
        start = perf_counter()
        for _ in range(CALLS):
            dynamics.inverse(*one)
        calls.append(perf_counter() - start)
    scale = np.abs(expected).max() or 1.0
    return ComparisonRow(
        float(np.abs(tau[:CHECKED] - expected).max() / scale),
        count.multiplications,
        count.additions,
        count.sines_cosines,
        min(batch) / STATES,
        min(calls) / CALLS,
        build,
    )


def table_of(robot: Robot, rows: dict[str, ComparisonRow]) -> TextTable:
    """Return the table for the terminal."""
    operations = ("multiplications", "additions", "sines, cosines")
    table = TextTable(
        f"inverse dynamics of {robot.name}, {robot.dof} joints",
        ["formulation"],
        ["difference", *operations, "ns per state", "µs per call", "s to build"],
    )
    for name, row in rows.items():
        table.add_row(
            name,
            f"{row.difference:.0e}",
            *(str(count) for count in row[1:4]),
            f"{1e9 * row.per_state:.0f}",
            f"{1e6 * row.per_call:.2f}",
            f"{row.build:.2f}",
        )
    return table
