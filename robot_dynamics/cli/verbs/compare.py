"""Compare the formulations on one robot: agreement, operations and time.

    robot-dynamics compare ur5
    robot-dynamics compare talos --formulations newton_euler augmented_body
    robot-dynamics compare --papers                          # all arms of the publications

All compute the same torques. Differences are relative to the largest torque of random states, from
plain newton_euler; operations are those of the compiled inverse dynamics. A state is one of a
batch, a call a single state from Python. Times are the best of several turns: compare them within a
run. With --papers printed counts stand below ours: those for six joints in general are of symbolic
lengths and bodies, while the numbers of an arm leave zeros and ones out.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import NamedTuple

import numpy as np

from robot_dynamics.cli.arguments import add_robot
from robot_dynamics.cli.chosen_joints import robot_of
from robot_dynamics.cli.output import Printer, add_json, print_json
from robot_dynamics.cli.progress_line import stages
from robot_dynamics.compiler.operation_count import OperationCount
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.errors import ArgumentError
from robot_dynamics.formulations import FORMULATIONS, inverse_dynamics
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.numbers import counted
from robot_dynamics.foundation.progress import Progress
from robot_dynamics.foundation.text_tables import TextTable
from robot_dynamics.papers.counts.printed_counts import (
    ANY_ARM,
    ARMS,
    PRINTED_TIME,
    PrintedCount,
    general_count,
    printed_counts,
)
from robot_dynamics.robot import Robot, find_robot, read_urdf

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
    add_robot(parser, optional=True)
    parser.add_argument(
        "--papers", action="store_true", help="all arms of the publications, and printed counts"
    )
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
    if arguments.papers != (arguments.robot is None):
        raise ArgumentError("name a robot to compare the formulations on, or --papers")
    if arguments.papers:
        return compare_on_arms_of_publications(arguments)
    robot = robot_of(arguments)
    names = arguments.formulations or list(FORMULATIONS)
    left_out = []
    if not arguments.formulations and robot.dof > MOST_JOINTS:
        left_out = [name for name in names if name in CLOSED_FORMS]
        names = [name for name in names if name not in CLOSED_FORMS]
    show = Printer()
    with stages() as progress:
        rows = compared(robot, names, progress)
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


def compare_on_arms_of_publications(arguments: argparse.Namespace) -> int:
    """Print operations and times on every arm of the publications, beside the printed counts."""
    names = arguments.formulations or list(FORMULATIONS)
    arms: dict[str, dict[str, ComparisonRow]] = {}
    with stages() as progress:
        for arm in ARMS:
            robot = read_urdf(find_robot(arm))
            arms[arm] = compared(robot, names, _of_arm(progress, arm, len(arms)))
        progress("counting", 1.0)
        general = {name: general_count(name) for name in names}
        printed = [row for row in printed_counts() if row.formulation in names]
    if arguments.json:
        print_json({"arms": arms, ANY_ARM: general, "printed": printed})
        return 0
    Printer()(*tables_of_arms(arms, general, printed))
    return 0


def _of_arm(progress: Progress, arm: str, k: int) -> Progress:
    """Return the progress of one arm of `ARMS`."""
    return lambda stage, done: progress(f"{arm}: {stage}", (k + done) / len(ARMS))


def tables_of_arms(
    arms: Mapping[str, Mapping[str, ComparisonRow]],
    general: Mapping[str, OperationCount],
    printed: list[PrintedCount],
) -> list[TextTable | str]:
    """Return the tables for the terminal: operations and times, and how well torques agree."""
    title = "multiplications / additions of inverse dynamics, six joints"
    operations = TextTable(title, ["formulation"], [ANY_ARM, *arms])
    for name, count in general.items():
        operations.add_row(name, _pair(count), *(_pair(rows[name]) for rows in arms.values()))
        for row in printed:
            if row.formulation == name:
                cells = (_pair(row) if arm == row.arm else "" for arm in (ANY_ARM, *arms))
                operations.add_row(f"  printed, {row.author}", *cells)
    kinds: dict[str, Callable[[ComparisonRow], str]] = {
        "ns per state": lambda row: f"{1e9 * row.per_state:.0f}",
        "µs per call": lambda row: f"{1e6 * row.per_call:.2f}",
    }
    times = [TextTable(title, ["formulation"], list(arms)) for title in kinds]
    for table, text in zip(times, kinds.values(), strict=True):
        for name in general:
            table.add_row(name, *(text(rows[name]) for rows in arms.values()))
    worst = max(row.difference for rows in arms.values() for row in rows.values())
    agreement = f"largest difference between the formulations: {worst:.0e}"
    return [operations, *times, PRINTED_TIME, agreement]


def _pair(count: ComparisonRow | OperationCount | PrintedCount) -> str:
    return f"{count.multiplications} / {count.additions}"


def compared(robot: Robot, names: list[str], progress: Progress) -> dict[str, ComparisonRow]:
    """Return a row for each formulation on one robot."""
    states = np.random.default_rng(0).uniform(-1.0, 1.0, (3, STATES, robot.dof))
    progress("computing the reference", 0.0)
    expected = plain(robot, states)
    rows = {}
    for k, name in enumerate(names):
        progress(f"compiling {name}", k / len(names))
        rows[name] = measured(robot, name, states, expected)
    return rows


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
        f"inverse dynamics of {robot.name}, {counted(robot.dof, 'joint')}",
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
