"""Run one node of the package, as `ros2 run robot_dynamics NAME` does.

robot-dynamics node simulator_node --ros-args -p urdf_path:=ur5
robot-dynamics node viewer_node --ros-args -p urdf_path:=ur5 -p port:=8090
"""

from __future__ import annotations

import argparse
import sys
from functools import partial

from robot_dynamics.errors import check_known
from robot_dynamics.nodes import executables

NODES = [name for name, run in vars(executables).items() if isinstance(run, partial)]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command line of the verb."""
    parser.add_argument("name", help=", ".join(NODES))
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="those of the node")


def run(arguments: argparse.Namespace) -> int:
    """Become the node; it ends the process.

    Raises:
        UnknownNameError: If there is no such node.
    """
    check_known("node", arguments.name, "robot_dynamics", NODES)
    sys.argv = [arguments.name, *arguments.arguments]
    getattr(executables, arguments.name)()
    return 0
