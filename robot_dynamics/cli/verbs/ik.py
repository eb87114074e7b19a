"""Print all joint positions that bring a frame to a pose, or the reason for none.

robot-dynamics ik ur5 --position 0.4,0.1,0.3
robot-dynamics ik ur5 --position=-0.4,0.1,0.3 --rpy 0,1.57,0 --json
robot-dynamics ik ur5 --position 0.4,0.1,0.3 --selection x,y,z,rx,ry --axes frame
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from robot_dynamics.cli.arguments import add_robot, number_list, take_negative_lists
from robot_dynamics.cli.chosen_joints import add_end_effector, end_effector_of, robot_of
from robot_dynamics.cli.output import Printer, add_json, print_json
from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.text_tables import TextTable
from robot_dynamics.kinematics import InverseKinematics, InverseSolutions
from robot_dynamics.kinematics.inverse.inverse_kinematics import SOLVERS
from robot_dynamics.kinematics.selection import DIRECTIONS, SELECTION_AXES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command line of the verb."""
    add_robot(parser)
    add_end_effector(parser, "link or named frame")
    take_negative_lists(parser)
    parser.add_argument("--position", metavar="X,Y,Z", required=True, help="of the frame, m")
    orientation = parser.add_mutually_exclusive_group()
    orientation.add_argument(
        "--rpy", metavar="R,P,Y", help="roll, pitch, yaw, rad (default: 0,0,0)"
    )
    orientation.add_argument("--quaternion", metavar="X,Y,Z,W", help="orientation, of length 1")
    orientation.add_argument(
        "--rotation", metavar="XX,XY,...,ZZ", help="orientation as a matrix, row by row"
    )
    parser.add_argument(
        "--given", metavar="JOINT", help="redundant joint of seven, or 'arm angle' (default: found)"
    )
    parser.add_argument("--redundant", type=float, help="position of the redundant joint, rad")
    parser.add_argument(
        "--solver", choices=SOLVERS, default=SOLVERS[0], help=f"(default: {SOLVERS[0]})"
    )
    parser.add_argument(
        "--selection",
        metavar="X,Y,...",
        help="directions of the pose that are reached; the others are free (default: "
        f"{','.join(DIRECTIONS)})",
    )
    parser.add_argument(
        "--axes",
        choices=SELECTION_AXES,
        default=SELECTION_AXES[0],
        help="axes of the directions: of the root link, or of the frame at the pose "
        f"(default: {SELECTION_AXES[0]})",
    )
    parser.add_argument(
        "--turns",
        action="store_true",
        help="also list solutions that differ by multiples of 2 pi, within the limits",
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print a row per solution."""
    robot = robot_of(arguments, inertia=False)
    ik = InverseKinematics(
        robot,
        end_effector_of(arguments, robot),
        redundant=arguments.given,
        solver=arguments.solver,
        selection=arguments.selection or DIRECTIONS,
        axes=arguments.axes,
    )
    position = number_list("--position", arguments.position, "xyz")
    found = ik(_rotation(arguments), position, redundant=arguments.redundant)
    if arguments.json:
        print_json(_answer(ik, found, arguments.turns))
        return 0 if found.reason is None else 1
    print(f"structure: {ik.structure}")
    if found.reason is not None:
        print(f"no solution: {found.reason}")
        return 1
    table = TextTable(None, ["branch"], [*ik.joint_names, "residual", "within limits"])
    for branch, q, residual, within, _ in _rows(ik, found, arguments.turns):
        cells = [f"{x:.6f}" for x in q]
        table.add_row(branch, *cells, f"{residual:.1e}", "yes" if within else "no")
    Printer()(table)
    for branch, self_motion in zip(found.branch, found.self_motion, strict=True):
        if self_motion is not None:
            print(f"{branch}: {self_motion}")
    if "numeric" in found.branch:
        print("this is one solution, found by a search: more may exist")
    return 0


ROW = ("branch", "q", "residual", "within_limits", "self_motion")
"""Attributes of `InverseSolutions` of which a solution is a row."""


def _rows(ik: InverseKinematics, found: InverseSolutions, turns: bool) -> Iterator[tuple[Any, ...]]:
    """Yield the solutions; with `turns`, each at all its multiples of 2 pi within the limits."""
    for branch, q, *more in zip(*(getattr(found, name) for name in ROW), strict=True):
        _, within, _ = more
        for turned in ik.turns(q) if turns and within else [q]:
            yield branch, turned, *more


def _answer(ik: InverseKinematics, found: InverseSolutions, turns: bool) -> dict[str, Any]:
    return {
        "structure": ik.structure,
        "joints": ik.joint_names,
        "solutions": [dict(zip(ROW, row, strict=True)) for row in _rows(ik, found, turns)],
        "reason": found.reason,
    }


def _rotation(arguments: argparse.Namespace) -> Array:
    if arguments.rotation is not None:
        names = [f"{row}{column}" for row in "xyz" for column in "xyz"]
        return number_list("--rotation", arguments.rotation, names).reshape(3, 3)
    if arguments.quaternion is None:
        if arguments.rpy is None and arguments.selection is None:
            print("orientation: --rpy 0,0,0; --selection x,y,z leaves it free", file=sys.stderr)
        given = "0,0,0" if arguments.rpy is None else arguments.rpy
        rpy = number_list("--rpy", given, ("roll", "pitch", "yaw"))
        return Rotation.from_euler("xyz", rpy).as_matrix()
    quaternion = number_list("--quaternion", arguments.quaternion, "xyzw")
    length = float(np.linalg.norm(quaternion))
    if abs(length - 1.0) > 1e-3:
        raise ArgumentError(f"--quaternion: its length is {length:g} and must be 1")
    return Rotation.from_quat(quaternion).as_matrix()
