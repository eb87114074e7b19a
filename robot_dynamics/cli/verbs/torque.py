"""Print joint torques of one motion state: gravity, velocity, acceleration and friction terms.

    robot-dynamics torque panda                                  at rest in the middle of its ranges
    robot-dynamics torque ur5 --q 0,-1,1,0,0,0 --qdd elbow_joint=2
    robot-dynamics torque ur5 --qd 0.1,0.1,0.1,0,0,0 --formulation kane

By default velocities and accelerations are zero, and positions are in the middle of the ranges.
"""

from __future__ import annotations

import argparse

import numpy as np

from robot_dynamics.cli.arguments import (
    add_formulation,
    add_robot,
    joint_units,
    joint_values,
    take_negative_lists,
)
from robot_dynamics.cli.chosen_joints import robot_of
from robot_dynamics.cli.output import Printer, add_json, print_json
from robot_dynamics.control import Friction, effort_limits
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.text_tables import TextTable
from robot_dynamics.trajectory.motions import middle_pose


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command line of the verb."""
    add_robot(parser)
    take_negative_lists(parser)
    for option, what in (
        ("--q", "positions, rad or m"),
        ("--qd", "velocities, rad/s or m/s"),
        ("--qdd", "accelerations, rad/s^2 or m/s^2"),
    ):
        parser.add_argument(
            option,
            metavar="VALUES",
            help=f"{what}: 0.1,0.2,... in the order of the joints, or JOINT=NUMBER,...",
        )
    add_formulation(parser, "use")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the torques."""
    robot = robot_of(arguments)
    zero = np.zeros(robot.dof)
    q = joint_values("--q", arguments.q, robot, middle_pose(robot))
    qd = joint_values("--qd", arguments.qd, robot, zero)
    qdd = joint_values("--qdd", arguments.qdd, robot, zero)

    dynamics = Dynamics(robot, arguments.formulation)
    gravity = dynamics.gravity(q)
    velocity = dynamics.bias(q, qd) - gravity
    total = dynamics.inverse(q, qd, qdd)
    if not np.all(np.isfinite([gravity, velocity, total])):
        raise ArgumentError(
            "--q, --qd, --qdd: the efforts of this motion are beyond the range of floating-point "
            "numbers; give smaller values"
        )
    friction = Friction.of(robot).smooth(qd)
    limits = effort_limits(robot)
    terms = {
        "gravity": gravity,
        "velocity": velocity,
        "acceleration": total - gravity - velocity,
        "friction": friction,
    }
    if arguments.json:
        motion = {"joints": robot.joint_names, "q": q, "qd": qd, "qdd": qdd}
        effort = {"effort": total + friction, "limit": limits}
        print_json({"robot": robot.name, **motion, **terms, **effort})
        return 0

    table = TextTable(None, ["joint"], ["q", "qd", "qdd", "effort", "limit", *terms])
    for i, (name, (_, unit)) in enumerate(
        zip(robot.joint_names, joint_units(robot, robot.joint_names), strict=True)
    ):
        effort = total[i] + friction[i]
        over = " !" if abs(effort) > limits[i] else ""
        table.add_row(
            name,
            *(f"{values[i]:.4g}" for values in (q, qd, qdd)),
            f"{_effort(effort)} {unit}{over}",
            f"{limits[i]:g}" if np.isfinite(limits[i]) else "none",
            *(_effort(part[i]) for part in terms.values()),
        )
    Printer()(table)
    return 0


def _effort(value: float) -> str:
    text = f"{value:.4f}"
    return text.removeprefix("-") if float(text) == 0.0 else text
