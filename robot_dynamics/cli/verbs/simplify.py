"""Compare simplified models of a robot: operations saved and torque lost.

    robot-dynamics simplify puma_gupta --motion circle
    robot-dynamics simplify ur5 --keep shoulder_pan_joint=D_tran,G --others D_tran,D_rot,G

Rows are the models that section 3 of Lee, Lee and Nigam recommends: translation alone in the
inertia of the first three joints and rotation alone in that of the others, and no velocity terms;
and a choice of your own. Errors are those of each joint along the motion, in percent of its largest
torque. Terms: D_tran, D_rot (inertia), H_tran, H_rot (velocities), G (gravity).
"""

from __future__ import annotations

import argparse

import numpy as np

from robot_dynamics.cli.arguments import add_robot, say
from robot_dynamics.cli.chosen_joints import robot_of
from robot_dynamics.cli.output import Printer, add_json, print_json
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.text_tables import TextTable
from robot_dynamics.papers.paper_motions import CIRCLE_TIME_S, circle_motion
from robot_dynamics.papers.simplified_models import (
    TERMS,
    ModelComparison,
    SimplifiedModel,
    compare_models,
    recommended_models,
    simplified_model,
)
from robot_dynamics.robot import Robot
from robot_dynamics.robot.zero_position import ZeroReference
from robot_dynamics.trajectory import excitation, interpolate

POINTS = 181
"""Points of the motion along which models are compared."""

DURATION_S = 8.0
"""Duration of the excitation, s."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command line of the verb."""
    add_robot(parser)
    parser.add_argument(
        "--motion",
        choices=("excitation", "circle"),
        default="excitation",
        help="all joints move (default), or Gupta's circle, for arms like puma_gupta",
    )
    parser.add_argument(
        "--keep",
        type=_kept,
        action="append",
        default=[],
        metavar="JOINT=TERM,TERM",
        help="terms that a model of your own keeps of one joint; may be repeated",
    )
    parser.add_argument(
        "--others",
        type=lambda text: text.split(","),
        metavar="TERM,TERM",
        help="terms that your model keeps of all other joints (default: all)",
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print a row for each model."""
    robot = robot_of(arguments)
    models = recommended_models(robot)
    if arguments.keep or arguments.others is not None:
        models = {**models, "your choice": _chosen(robot, arguments)}
    motion = _circle(robot) if arguments.motion == "circle" else _excitation(robot)
    say("comparing models")
    comparison = compare_models(robot, models, *motion)
    if arguments.json:
        print_json({"robot": robot.name, **vars(comparison)})
        return 0
    Printer()(_table(robot, comparison))
    return 0


def _kept(text: str) -> tuple[str, list[str]]:
    joint, equals, terms = text.partition("=")
    if not (joint and equals):
        raise argparse.ArgumentTypeError(f"'{text}' is not JOINT=TERM,TERM")
    return joint, [term for term in terms.split(",") if term]


def _chosen(robot: Robot, arguments: argparse.Namespace) -> SimplifiedModel:
    others = tuple(TERMS) if arguments.others is None else arguments.others
    return simplified_model(robot, dict(arguments.keep), others=others)


def _circle(robot: Robot) -> tuple[Array, Array, Array]:
    return circle_motion(ZeroReference.from_robot(robot), np.linspace(0.0, CIRCLE_TIME_S, POINTS))


def _excitation(robot: Robot) -> tuple[Array, Array, Array]:
    trajectory = interpolate(excitation(robot, DURATION_S, share=0.5, speed_share=0.5))
    return trajectory.sample(np.linspace(0.0, trajectory.end, POINTS))


def _table(robot: Robot, comparison: ModelComparison) -> TextTable:
    table = TextTable(
        f"simplified models of {robot.name}: peak error along the motion",
        ["model"],
        ["mult", "add", *comparison.joint_names],
    )
    peak = comparison.peak_effort
    table.add_row("largest torque", "", "", *[f"{x:.3g}" for x in peak])
    for name, result in comparison.results.items():
        count = result.operations
        share = 100.0 * result.peak_error / np.where(peak > 0.0, peak, 1.0)
        cells = [str(count.multiplications), str(count.additions), *[f"{x:.1f} %" for x in share]]
        table.add_row(name, *cells)
    return table
