"""The executables of the package: what can go wrong while their modules are still imported.

That takes about a second. A signal that comes meanwhile ends the process at once and without a
traceback, and where there is no rclpy one line says what to do.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from importlib import import_module

OF_VIEW = ("viser", "trimesh", "mcap", "rosbags")
"""What the page and the recording need beside ROS."""


def feedforward_node() -> None:
    """Run feedforward_node."""
    _run("feedforward.feedforward_node")


def controller_node() -> None:
    """Run controller_node."""
    _run("controller.controller_node")


def simulator_node() -> None:
    """Run simulator_node."""
    _run("simulator.simulator_node")


def trajectory_node() -> None:
    """Run trajectory_node."""
    _run("trajectory_node")


def viewer_node() -> None:
    """Run viewer_node."""
    _run("viewer_node")


def recorder_node() -> None:
    """Run recorder_node."""
    _run("bag_recorder", "recorder_node")


def monitor_node() -> None:
    """Run monitor_node."""
    _run("monitor_node")


def composed_nodes() -> None:
    """Run simulator, feedforward and controller in one process."""
    _run("runtime.composition")


def _run(module: str, node: str | None = None) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: os._exit(0))  # nothing has been started yet
    try:
        main = import_module(f"robot_dynamics.nodes.{module}").main
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("robot_dynamics"):
            raise
        name, missing = node or module.rpartition(".")[2], (error.name or "").partition(".")[0]
        remedy = "source a ROS 2 installation, or pip install 'robot_dynamics[ros]'"
        if missing in OF_VIEW:
            remedy = "pip install 'robot_dynamics[view]'"
        print(
            f"{name}: there is no Python module '{error.name}'; {remedy}",
            file=sys.stderr,
        )
        sys.exit(1)
    try:
        main()
        status = 0
    except SystemExit as end:
        status = int(end.code or 0)
    # Everything has ended in order. What is left is what Python and the middleware take down of
    # themselves, in which Fast DDS 2.14 may crash
    for stream in (sys.stdout, sys.stderr):
        with suppress(BrokenPipeError):
            stream.flush()
    os._exit(status)
