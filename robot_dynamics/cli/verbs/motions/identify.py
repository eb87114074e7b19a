"""Bodies and friction that fit a recorded motion, written into your URDF.

    robot-dynamics identify arm.urdf run.mcap                       -> arm_identified.urdf
    robot-dynamics identify arm.urdf run.mcap --out fits.urdf --report report.html
    robot-dynamics identify panda run.mcap --lock panda_finger_joint1=0

Beside the URDF goes a .yaml with the friction and rotor inertia that a URDF cannot hold, as
parameters of controller_node and feedforward_node. Judge the result by another recording:
`robot-dynamics validate`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from robot_dynamics.cli.arguments import add_robot, load_robot
from robot_dynamics.cli.recordings import add_recordings, locked, read_recordings
from robot_dynamics.identification import Drives, identify, write_parameters, write_urdf
from robot_dynamics.identification.html_report import html_report
from robot_dynamics.identification.write_back import write_whole
from robot_dynamics.robot import find_robot


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command line of the verb."""
    add_robot(parser)
    add_recordings(parser)
    parser.add_argument(
        "--out", type=Path, help="URDF to write (default: <robot>_identified.urdf here)"
    )
    parser.add_argument("--report", type=Path, help="report to write, .html")
    parser.add_argument(
        "--any-bodies",
        action="store_true",
        help="least squares alone: report, without a URDF, as no bodies may have what it finds",
    )


def run(arguments: argparse.Namespace) -> int:
    """Identify, write, and say how well it fits."""
    robot = locked(load_robot(arguments.robot, inertia=False), arguments.lock)
    source = find_robot(arguments.robot)
    recordings = read_recordings(arguments, robot)
    found = identify(robot, recordings, edge=arguments.edge, physical=not arguments.any_bodies)
    print(found.report)
    if arguments.report is not None:
        write_whole(arguments.report, html_report(found.report, found).encode())
        print(f"wrote {arguments.report}")
    if not arguments.any_bodies:
        out = arguments.out or Path(f"{Path(arguments.robot).stem}_identified.urdf")
        write_urdf(source, found.robot, out)
        parameters = out.with_suffix(".yaml")
        write_parameters(parameters, robot, Drives(found.friction, found.rotor_inertia))
        print(f"wrote {out} and {parameters}")
    return 0
