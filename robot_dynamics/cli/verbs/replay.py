"""Replay a recorded run in the browser, with a slider for its time.

robot-dynamics replay run.mcap              of `demo --record`, recorder_node, or ros2 bag
robot-dynamics replay run.mcap --robot ur5  for a recording without robot_description
"""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path

from robot_dynamics.cli.arguments import add_server, load_robot, say
from robot_dynamics.robot import find_robot


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command line of the verb."""
    parser.add_argument("recording", type=Path, help="an .mcap, a .db3, or the folder of a bag")
    parser.add_argument(
        "--robot", default=None, help="name or URDF path (default: the recorded robot)"
    )
    add_server(parser)


def run(arguments: argparse.Namespace) -> int:
    """Serve the page until Ctrl-C."""
    from robot_dynamics.recordings.recorded_motion import read_motion  # noqa: PLC0415
    from robot_dynamics.viewer.page import Page  # noqa: PLC0415  # needs viser
    from robot_dynamics.viewer.replay_view import ReplayView  # noqa: PLC0415

    say("reading the recording")
    motion = read_motion(arguments.recording)
    if arguments.robot is None:
        robot, source = motion.robot(), motion.description
    else:
        robot, source = load_robot(arguments.robot), str(find_robot(arguments.robot))
    motion.states_of(robot)  # refused before a page is served
    with closing(Page(arguments.host, arguments.port)) as page:
        page.serve(ReplayView(page, motion, robot, source).tick)
    return 0
