"""Simulate a robot in the browser without ROS: watch it move, drag it, load it.

    robot-dynamics view panda                   then open the address that is printed
    robot-dynamics view arm.urdf --port 8090
    robot-dynamics view ur5 --motion motion.csv
    robot-dynamics view ur5 --base-motion sine:rx:0.1:0.5   on a ship
    robot-dynamics view panda --record run.mcap  for replay, plot, Foxglove, ros2 bag

Plots beside the robot show efforts by cause and by the link that causes them. The page needs no
network and is visible on this machine only, unless --host opens it. Ctrl-C ends it.
"""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from robot_dynamics.cli.arguments import (
    add_robot,
    add_server,
    load_robot,
    new_recording,
    say,
    text_of_robot,
)
from robot_dynamics.cli.chosen_joints import robot_of
from robot_dynamics.cli.recordings import read_motion_file
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.base_motions import read_base_motion

if TYPE_CHECKING:  # needs rosbags
    from robot_dynamics.viewer.simulated_runs import SimulatedRecording


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command line of the verb."""
    add_robot(parser)
    parser.add_argument(
        "--motion",
        type=Path,
        metavar="FILE",
        help="a .csv or .yaml trajectory to follow, or a recording of one; joints without "
        "values stand still",
    )
    parser.add_argument(
        "--base-motion",
        metavar="MOTION",
        help="move the base by sine:AXIS:AMPLITUDE:HZ (x, y, z in m; rx, ry, rz in rad) or a CSV "
        "with t, x, y, z, qx, qy, qz, qw; the laws know it",
    )
    add_server(parser)
    parser.add_argument(
        "--record",
        type=new_recording,
        metavar="FILE",
        help="an .mcap to write meanwhile; another robot that is chosen goes into another one",
    )


def run(arguments: argparse.Namespace) -> int:
    """Serve the page until Ctrl-C."""
    from robot_dynamics.viewer.live_view import LiveView  # noqa: PLC0415  # needs viser
    from robot_dynamics.viewer.page import Page  # noqa: PLC0415

    robot = robot_of(arguments)

    def load(name: str) -> Robot:
        return robot if name == arguments.robot else load_robot(name)

    waypoints = None
    if arguments.motion is not None:
        waypoints = read_motion_file(arguments.motion, robot).arriving_at_rest()
    moves = arguments.base_motion
    base = None if moves is None else read_base_motion(moves)
    recordings = None if arguments.record is None else Recordings(arguments.record)
    try:
        with closing(Page(arguments.host, arguments.port)) as page:
            say("reading meshes, compiling")
            view = LiveView(page, arguments.robot, load, waypoints, recordings, base)
            with closing(view):
                page.serve(view.tick)
    finally:  # Ctrl-C, as a rule
        if recordings is not None and recordings.made:
            print(f"recording: {', '.join(map(str, recordings.made))}")
    return 0


class Recordings:
    """Makes a file for every robot that is shown: run.mcap, then run_2.mcap, and so on."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.made: list[Path] = []

    def __call__(self, name: str, dynamics: Dynamics) -> SimulatedRecording:
        """Open a new file for a robot."""
        from robot_dynamics.viewer import simulated_runs  # noqa: PLC0415  # needs mcap

        path, k = self._path, 1
        while self.made and path.exists():
            k += 1
            path = self._path.with_name(f"{self._path.stem}_{k}{self._path.suffix}")
        recording = simulated_runs.SimulatedRecording(path, text_of_robot(name), dynamics)
        self.made.append(path)
        return recording
