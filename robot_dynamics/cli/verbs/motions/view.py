"""A robot in the browser, simulated without ROS: watch it move, drag it, load it.

    robot-dynamics view panda                   then open the address that is printed
    robot-dynamics view arm.urdf --port 8090
    robot-dynamics view ur5 --motion motion.csv

Plots beside the robot show efforts by cause and by the link that causes them. The page needs no
network, and only this machine sees it unless --host says otherwise. Ctrl-C ends it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from robot_dynamics.cli.arguments import add_robot, add_server, load_robot
from robot_dynamics.cli.serving import serve
from robot_dynamics.trajectory.trajectory_files import read_trajectory


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command line of the verb."""
    add_robot(parser)
    parser.add_argument(
        "--motion", type=Path, metavar="FILE", help="a .csv or .yaml trajectory to follow"
    )
    add_server(parser)


def run(arguments: argparse.Namespace) -> int:
    """Serve the page until Ctrl-C."""
    from robot_dynamics.viewer.live_view import LiveView  # noqa: PLC0415  # needs viser
    from robot_dynamics.viewer.page import Page  # noqa: PLC0415

    robot = load_robot(arguments.robot)
    waypoints = None
    if arguments.motion is not None:
        waypoints = read_trajectory(arguments.motion, robot.joint_names).arriving_at_rest()
    page = Page(arguments.host, arguments.port)
    view = LiveView(page, arguments.robot, load_robot, waypoints)
    serve(page, view.run)
    return 0
