"""What a URDF says, as this package reads it: joints, limits, masses, size of the equations."""

from __future__ import annotations

import argparse

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from robot_dynamics.cli.arguments import add_formulation, add_robot, load_robot
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.robot import Joint, Robot

COUNTED = ("inverse", "gravity", "bias", "mass_matrix", "forward")
"""Kernels whose operations are shown."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command line of the verb."""
    add_robot(parser)
    add_formulation(parser, "count")


def run(arguments: argparse.Namespace) -> int:
    """Print what is known of the robot."""
    robot = load_robot(arguments.robot, moving=False)
    console = Console(width=None if Console().is_terminal else 130)
    mass = sum(float(link.inertia.mass) for link in robot.links)
    console.print(
        f"[bold]{robot.name}[/]: {robot.dof} independent joints, {len(robot.links)} links, "
        f"{mass:.3f} kg, gravity {', '.join(f'{x:g}' for x in robot.gravity)} m/s^2"
    )
    console.print(joint_table(robot))
    dynamics = Dynamics(robot, arguments.formulation)
    table = Table(
        title=f"equations ({arguments.formulation})",
        box=box.SIMPLE_HEAD,
        title_justify="left",
        pad_edge=False,
    )
    for heading in ("kernel", "multiplications", "additions", "sines, cosines", "divisions"):
        table.add_column(heading, justify="left" if heading == "kernel" else "right")
    for name in COUNTED:
        count = dynamics.operation_count(name)
        table.add_row(
            name,
            str(count.multiplications),
            str(count.additions),
            str(count.sines_cosines),
            str(count.divisions),
        )
    console.print(table)
    return 0


def joint_table(robot: Robot) -> Table:
    """The moving joints, followers of mimic joints included."""
    table = Table(title="joints", box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for heading in ("name", "type", "range", "velocity", "effort", "damping", "friction"):
        table.add_column(heading, justify="left" if heading in ("name", "type") else "right")
    for joint in robot.moving_joints:
        unit = "rad" if joint.type.rotates else "m"
        limits = joint.limits
        table.add_row(
            joint.name,
            _type(joint),
            f"{_number(limits.lower)} to {_number(limits.upper)} {unit}"
            if np.isfinite(limits.lower) or np.isfinite(limits.upper)
            else "no limits",
            f"{_number(limits.velocity)} {unit}/s" if np.isfinite(limits.velocity) else "no limit",
            f"{_number(limits.effort)} {'N m' if joint.type.rotates else 'N'}"
            if np.isfinite(limits.effort)
            else "no limit",
            f"{joint.damping:g}",
            f"{joint.friction:g}",
        )
    return table


def _type(joint: Joint) -> str:
    if joint.mimic is None:
        return joint.type.value
    offset = f" {joint.mimic.offset:+g}" if joint.mimic.offset else ""
    return f"{joint.type.value}, {joint.mimic.multiplier:g} x {joint.mimic.joint}{offset}"


def _number(value: float) -> str:
    return f"{value:.4g}"
