"""Compare the efforts that a URDF predicts with those of a recorded motion.

    robot-dynamics validate arm_identified.urdf other_run.mcap
    robot-dynamics validate arm.urdf run.mcap --report report.html     # before identification

Friction, rotor inertia and the 95 % bands of the efforts come from the .yaml that `identify` writes
beside the URDF. The table has the errors by regime (moving, reversing, at rest), and the share of
the samples in the bands. The exit status is 0 if the verdict is good, at least in motion, otherwise
3.
"""

from __future__ import annotations

import argparse

from robot_dynamics.cli.arguments import add_robot, output_file
from robot_dynamics.cli.chosen_joints import robot_of
from robot_dynamics.cli.output import Printer, add_json, print_json
from robot_dynamics.cli.progress_line import stages
from robot_dynamics.cli.recordings import (
    NOT_GOOD,
    add_parameters,
    add_recordings,
    drives_of,
    read_recordings,
)
from robot_dynamics.foundation.user_files import write_whole
from robot_dynamics.identification import validate
from robot_dynamics.identification.export.html_report import html_report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command line of the verb."""
    add_robot(parser)
    add_recordings(parser)
    add_parameters(parser)
    parser.add_argument("--report", type=output_file, help="report to write, .html")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the verdict, and write the report if requested."""
    robot = robot_of(arguments, inertia=False)
    drives = drives_of(arguments.robot, arguments.parameters, robot)
    recordings = read_recordings(arguments, robot)
    bands = None if drives is None else drives.bands
    with stages() as progress:
        report = validate(
            robot,
            recordings,
            friction=None if drives is None else drives.friction,
            rotor_inertia=None if drives is None else drives.rotor_inertia,
            cutoff=arguments.cutoff or (None if bands is None else bands.cutoff),
            bands=bands,
            progress=progress,
        )
    if arguments.report is not None:
        write_whole(arguments.report, html_report(report).encode())
    if arguments.json:
        print_json({**report.verdicts, "report": arguments.report and str(arguments.report)})
    else:
        show = Printer()
        show(*report.sentences, report.table)
        if arguments.report is not None:
            show(f"wrote {arguments.report}")
    return 0 if report.good else NOT_GOOD
