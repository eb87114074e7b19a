"""Print a robot as a table file: Denavit-Hartenberg parameters or its zero reference position.

    robot-dynamics table ur5 --frame tool0
    robot-dynamics table arm.urdf --as zero-reference -o arm.csv

Every verb and node takes the file where it takes a URDF.
"""

from __future__ import annotations

import argparse

from robot_dynamics.cli.arguments import add_robot
from robot_dynamics.cli.chosen_joints import (
    add_end_effector,
    add_lock,
    frame_or_end_effector,
    robot_of,
)
from robot_dynamics.cli.verbs.urdf import add_output, write
from robot_dynamics.robot.denavit_hartenberg import CONVENTIONS
from robot_dynamics.robot.table_columns import HARTENBERG_DENAVIT, ZERO
from robot_dynamics.robot.table_text import table_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command line of the verb."""
    add_robot(parser)
    add_end_effector(parser, "link or named frame")
    add_lock(parser, "joints that stand still, and where, rad or m")
    parser.add_argument(
        "--as", dest="form", choices=("dh", ZERO), default="dh", help="kind of table (default: dh)"
    )
    parser.add_argument(
        "--convention",
        choices=(*CONVENTIONS, HARTENBERG_DENAVIT),
        default=CONVENTIONS[0],
        help=f"of a Denavit-Hartenberg table (default: {CONVENTIONS[0]})",
    )
    parser.add_argument("--csv", action="store_true", help="CSV (default: YAML, or as the output)")
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print or write the table."""
    robot = robot_of(arguments, inertia=False)
    output = arguments.output
    as_csv = arguments.csv or (output is not None and output.suffix.lower() == ".csv")
    convention = ZERO if arguments.form == ZERO else arguments.convention
    frame = frame_or_end_effector(arguments.frame or arguments.tip, robot, "--frame")
    write(output, table_text(robot, frame, convention, as_csv=as_csv))
    return 0
