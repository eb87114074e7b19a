"""Print a URDF as this package reads it, and its implausible values.

    robot-dynamics info ur5
    robot-dynamics info panda --tip panda_hand              # the arm without the fingers
    robot-dynamics info ur.urdf.xacro ur_type:=ur5e         # arguments of the xacro file
    robot-dynamics info arm.urdf --convention modified
    robot-dynamics info bare.urdf --estimate-inertia -o estimated.urdf

Joints with their limits; the Denavit-Hartenberg table where the robot is one chain; links without
mass, physically impossible inertias, missing or absurd limits; effort limits below the worst
gravity over the workspace, with the pose; the interfaces of <ros2_control>, the driver and the
wirings of this package that fit; the size of the equations.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from robot_dynamics.cli.arguments import (
    add_formulation,
    add_robot,
    load_robot,
    output_file,
    positive,
    say,
)
from robot_dynamics.cli.chosen_joints import still_joints
from robot_dynamics.cli.output import Printer, add_json, print_json
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.errors import ArgumentError
from robot_dynamics.export.drivers import recognized
from robot_dynamics.export.wirings import wirings
from robot_dynamics.foundation.numbers import counted
from robot_dynamics.foundation.text_tables import TextTable
from robot_dynamics.foundation.text_tables import joint_table as chain_table
from robot_dynamics.foundation.user_files import write_whole
from robot_dynamics.robot import Joint, Robot
from robot_dynamics.robot.catalogue import located
from robot_dynamics.robot.denavit_hartenberg import CONVENTIONS, denavit_hartenberg
from robot_dynamics.robot.denavit_hartenberg import Table as Chain
from robot_dynamics.robot.endpoint import end_effector_by_rule
from robot_dynamics.robot.joint_units import UNITS, joint_unit
from robot_dynamics.robot.plausibility import inertialess_joints, limit_warnings
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.robot.urdf.document import ESTIMATES
from robot_dynamics.robot.urdf.ros2_control import Hardware, read_hardware
from robot_dynamics.statics.gravity_capacity import overloaded_joints
from robot_dynamics.viewer.estimated_inertia import DENSITY, with_estimated_inertias

RUBBING = {"damping": ("N m s/rad", "N s/m"), "friction": UNITS["effort"]}
"""Fields of a joint that are shown if one of the robot has them, with their units where it rotates
and where it slides."""

ESTIMATED = "efforts of them may be off by a half; identify the arm before you rely on them"

COUNTED: tuple[str, ...] = ("inverse", "gravity", "bias", "mass_matrix", "forward")
"""Kernels whose operations are counted."""

MOST_JOINTS = 16
"""Joints up to which they are counted unasked; a humanoid takes seconds."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command line of the verb."""
    add_robot(parser)
    parser.add_argument(
        "--convention",
        choices=CONVENTIONS,
        default=CONVENTIONS[0],
        help=f"of the Denavit-Hartenberg table (default: {CONVENTIONS[0]})",
    )
    parser.add_argument(
        "--estimate-inertia",
        action="store_true",
        help="estimate the inertias of moving links that have none, by their shapes, or boxes",
    )
    parser.add_argument(
        "--density",
        type=positive,
        default=DENSITY,
        metavar="KG/M3",
        help=f"mass of a link over the volume of its convex hull (default: {DENSITY:g})",
    )
    parser.add_argument(
        "-o", "--output", type=output_file, metavar="FILE", help="URDF with the estimates to write"
    )
    parser.add_argument(
        "--count",
        action="store_true",
        help=f"count operations also of more than {MOST_JOINTS} joints, which takes seconds",
    )
    add_formulation(parser, "count")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print joints, chain, warnings and operation counts."""
    found: list[str] = []
    whole = load_robot(arguments.robot, moving=False, inertia=False, warnings=found)
    estimates: Mapping[str, str] = {}
    if arguments.estimate_inertia:
        whole, estimates = _estimated(arguments, whole)
    elif arguments.output is not None:
        raise ArgumentError("--output writes a URDF with estimates; add --estimate-inertia")
    locked = still_joints(arguments, whole)
    robot = whole.with_locked(locked) if locked else whole
    tip = arguments.tip or only_chain(robot)
    chain = None if tip is None else denavit_hartenberg(robot, tip, arguments.convention)
    dynamics = Dynamics(robot, arguments.formulation)
    hardware = read_hardware(located(arguments.robot))
    driver = recognized(hardware)
    fitting = wirings(robot.joint_names, hardware, driver)
    found += limit_warnings(robot)
    still = inertialess_joints(robot)
    if not still:
        found += overloaded_joints(robot)
    many = len(robot.moving_joints) > MOST_JOINTS and not arguments.count
    kernels = () if still or many else COUNTED
    if kernels:
        say("counting operations")
    if arguments.json:
        rows = {"denavit_hartenberg": None if chain is None else chain_rows(chain)}
        counts = {name: asdict(dynamics.operation_count(name)) for name in kernels}
        wired = {"hardware": hardware, "driver": driver and driver.name, "wirings": fitting}
        facts = {**about(robot), "estimated": estimates, **rows, **wired}
        print_json({**facts, "warnings": found, "operations": counts})
        return 0
    show = Printer()
    mass = sum(float(link.inertia.mass) for link in robot.links)
    show(
        f"{robot.name}: {counted(robot.dof, 'independent joint')}, "
        f"{counted(len(robot.links), 'link')}, {mass:.3f} kg, "
        f"gravity {', '.join(f'{x:g}' for x in robot.gravity)} m/s^2"
    )
    show(joint_table(robot))
    if estimates:
        show(estimate_table(whole, estimates), f"estimates: {ESTIMATED}")
        if arguments.output is not None:
            show(f"wrote {arguments.output}")
        show("")
    if chain is not None:
        show(chain_table(f"Denavit-Hartenberg table to {tip}, {chain.convention}", chain.rows))
    if hardware:
        show(hardware_table(hardware))
        known = "not known" if driver is None else f"{driver.name}, robot-dynamics drivers"
        show(f"driver: {known}", *(f"wiring: {wiring}" for wiring in fitting), "")
    if found:
        show("warnings", *(f"  {warning}" for warning in found), "")
    if still:
        show(f"equations: none, as joint '{still[0]}' moves no inertia")
        return 0
    if not kernels:
        show(f"equations: more than {MOST_JOINTS} joints; --count counts their operations")
        return 0
    operations = ("multiplications", "additions", "sines, cosines", "divisions")
    table = TextTable(f"equations ({arguments.formulation})", ["kernel"], operations)
    for name in kernels:
        count = dynamics.operation_count(name)
        table.add_row(
            name,
            str(count.multiplications),
            str(count.additions),
            str(count.sines_cosines),
            str(count.divisions),
        )
    show(table)
    return 0


def about(robot: Robot) -> dict[str, Any]:
    """Return masses, gravity and moving joints for programs."""
    return {
        "robot": robot.name,
        "mass": sum(float(link.inertia.mass) for link in robot.links),
        "gravity": robot.gravity,
        "links": {link.name: float(link.inertia.mass) for link in robot.links},
        "joints": [
            {
                "name": joint.name,
                "type": joint.type.value,
                **asdict(joint.limits),
                "damping": joint.damping,
                "friction": joint.friction,
                "mimic": None if joint.mimic is None else asdict(joint.mimic),
            }
            for joint in robot.moving_joints
        ],
    }


def joint_table(robot: Robot) -> TextTable:
    """Return the table of moving joints, including followers of mimic joints."""
    rubbing = [x for x in RUBBING if any(getattr(joint, x) for joint in robot.moving_joints)]
    table = TextTable("joints", ["name", "type"], ["range", "velocity", "effort", *rubbing])
    for joint in robot.moving_joints:
        unit = joint_unit(joint, "position")
        limits = joint.limits
        table.add_row(
            joint.name,
            _type(joint),
            f"{_number(limits.lower)} to {_number(limits.upper)} {unit}"
            if np.isfinite(limits.lower) or np.isfinite(limits.upper)
            else "no limits",
            f"{_number(limits.velocity)} {unit}/s" if np.isfinite(limits.velocity) else "no limit",
            f"{_number(limits.effort)} {joint_unit(joint, 'effort')}"
            if np.isfinite(limits.effort)
            else "no limit",
            *(f"{getattr(joint, x):g} {RUBBING[x][not joint.type.rotates]}" for x in rubbing),
        )
    return table


def _estimated(arguments: argparse.Namespace, robot: Robot) -> tuple[Robot, Mapping[str, str]]:
    """Estimate missing inertias, and write a URDF with them if a file is named."""
    from robot_dynamics.identification.export.write_back import (  # noqa: PLC0415  # SciPy
        with_identified,
    )

    source, density = located(arguments.robot), arguments.density
    say("reading meshes")
    estimated, ways = with_estimated_inertias(robot, source, density)
    if not ways:
        raise ArgumentError("--estimate-inertia: every link that moves has a mass; leave it out")
    if arguments.output is not None:
        content = with_identified(source, estimated)
        end = content.rindex(b"</robot>")
        of = counted(len(ways), "link")
        mark = f"<!-- {ESTIMATES} of {of}, {density:g} kg/m^3: {ESTIMATED} -->\n"
        write_whole(arguments.output, content[:end] + mark.encode() + content[end:])
    return estimated, ways


def estimate_table(robot: Robot, estimates: Mapping[str, str]) -> TextTable:
    """Return the table of links with estimated inertias."""
    table = TextTable("estimated inertias", ["link", "of its"], ["mass kg", "mass centre m"])
    for link in robot.links:
        if link.name in estimates:
            c = " ".join(f"{x + 0.0:.3f}" for x in link.inertia.com)
            table.add_row(link.name, estimates[link.name], f"{link.inertia.mass:.3f}", c)
    return table


def hardware_table(hardware: Sequence[Hardware]) -> TextTable:
    """Return the table of the interfaces that <ros2_control> offers."""
    table = TextTable("ros2_control", ["joint", "commands", "states", "hardware"])
    for one in hardware:
        for name, interfaces in one.joints.items():
            kinds = (", ".join(names) or "none" for names in (interfaces.command, interfaces.state))
            table.add_row(name, *kinds, one.plugin or one.name)
    return table


def only_chain(robot: Robot) -> str | None:
    """Return the frame at the end if the robot is one chain without mimic joints, else None."""
    tree = merge_fixed(robot)
    serial = all(parent == k for k, parent in enumerate(tree.parents))
    if not tree.joints or not serial or any(joint.mimic is not None for joint in tree.joints):
        return None
    return end_effector_by_rule(robot) or tree.links[-1].name


def chain_rows(chain: Chain) -> list[dict[str, Any]]:
    """Return a Denavit-Hartenberg table for programs, in m and rad."""
    return [
        {"joint": row.name, "type": row.type.value}
        | {name: float(getattr(row, name)) for name in ("a", "alpha", "d", "theta")}
        for row in chain.rows
    ]


def _type(joint: Joint) -> str:
    if joint.mimic is None:
        return joint.type.value
    offset = f" {joint.mimic.offset:+g}" if joint.mimic.offset else ""
    return f"{joint.type.value}, {joint.mimic.multiplier:g} x {joint.mimic.joint}{offset}"


def _number(value: float) -> str:
    return f"{value + 0.0:.4g}"  # no minus before zero
