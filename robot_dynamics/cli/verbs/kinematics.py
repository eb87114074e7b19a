"""Print the Denavit-Hartenberg table of the chain to a frame, and its inverse kinematics.

robot-dynamics kinematics ur5
robot-dynamics kinematics panda --json
"""

from __future__ import annotations

import argparse

from robot_dynamics.cli.arguments import add_robot
from robot_dynamics.cli.chosen_joints import add_end_effector, end_effector_of, robot_of
from robot_dynamics.cli.output import Printer, add_json, print_json
from robot_dynamics.cli.verbs.info import chain_rows
from robot_dynamics.foundation.text_tables import joint_table
from robot_dynamics.kinematics import InverseKinematics
from robot_dynamics.robot.denavit_hartenberg import CONVENTIONS, denavit_hartenberg


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command line of the verb."""
    add_robot(parser)
    add_end_effector(parser, "link or named frame")
    parser.add_argument(
        "--convention",
        choices=CONVENTIONS,
        default=CONVENTIONS[0],
        help=f"of the table (default: {CONVENTIONS[0]})",
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print table, structure and branches."""
    robot = robot_of(arguments, inertia=False)
    frame = end_effector_of(arguments, robot)
    table = denavit_hartenberg(robot, frame, arguments.convention)
    ik = InverseKinematics(robot, frame)
    if arguments.json:
        chain = {"frame": frame, "convention": table.convention, "table": chain_rows(table)}
        ways = {"structure": ik.structure, "redundant": ik.redundant, "branches": ik.branches}
        print_json({"robot": robot.name, **chain, **ways})
        return 0
    show = Printer()
    title = f"Denavit-Hartenberg table to {frame}, {table.convention}"
    show(joint_table(title, table.rows), f"structure: {ik.structure}")
    solver = "damped Gauss-Newton" if ik.structure == "numeric" else "closed form"
    if ik.structure.startswith("nearly"):
        solver = "closed form of a nearby arm, then Newton's steps"
    given = f", with '{ik.redundant}' given" if ik.redundant else ""
    show(f"solver: {solver}{given}", f"branches: {', '.join(ik.branches)}")
    return 0
