"""Write a robot as a URDF with simple shapes, which has the same torques to round-off.

    robot-dynamics urdf panda --lock panda_finger_joint1=0.02 -o arm.urdf
    robot-dynamics urdf arm.yaml -o arm.urdf                # from a table

A URDF or xacro is written as this package reads it: without meshes, transmissions and what else is
for other programs. --lock, --tip and --joints fix joints where they stand.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from robot_dynamics.cli.arguments import add_robot, output_file
from robot_dynamics.cli.chosen_joints import add_lock, robot_of
from robot_dynamics.foundation.user_files import write_whole
from robot_dynamics.robot import urdf_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command line of the verb."""
    add_robot(parser)
    add_lock(parser, "joints that stand still, and where, rad or m")
    add_output(parser)


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add the option for the file to write."""
    parser.add_argument(
        "-o", "--output", type=output_file, help="file to write (default: print to the terminal)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print or write the URDF."""
    write(arguments.output, urdf_of(robot_of(arguments, inertia=False, free_joints=True)))
    return 0


def write(output: Path | None, text: str) -> None:
    """Write a text to the file of `add_output`, or print it."""
    if output is None:
        print(text, end="")
    else:
        write_whole(output, text)
