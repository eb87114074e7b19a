"""Entry points of the executables.

Imports take about a second. A signal meanwhile ends the process at once without a traceback, and a
missing rclpy is reported in one line with the remedy.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from functools import partial
from importlib import import_module

OF_VIEW = ("viser", "trimesh", "mcap", "rosbags")
"""Modules that the page and recordings need besides ROS."""


def _run(module: str) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: os._exit(0))  # nothing has been started yet
    try:
        main = import_module(f"robot_dynamics.nodes.{module}").main
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("robot_dynamics"):
            raise
        name, missing = module.rpartition(".")[2], (error.name or "").partition(".")[0]
        remedy = "source a ROS 2 installation, or pip install 'robot_dynamics[ros]'"
        if missing in OF_VIEW:
            remedy = "pip install 'robot_dynamics[view]'"
        print(f"{name}: no Python module '{error.name}'; {remedy}", file=sys.stderr)
        sys.exit(1)
    try:
        main()
        status = 0
    except SystemExit as end:
        status = int(end.code or 0)
    # The process has ended in order; skip the teardown of Python and the middleware, in which
    # Fast DDS 2.14 may crash
    for stream in (sys.stdout, sys.stderr):
        with suppress(BrokenPipeError):
            stream.flush()
    os._exit(status)


feedforward_node = partial(_run, "feedforward.feedforward_node")
controller_node = partial(_run, "controller.controller_node")
simulator_node = partial(_run, "simulator.simulator_node")
trajectory_node = partial(_run, "trajectory_node")
viewer_node = partial(_run, "viewer_node")
marker_node = partial(_run, "marker_node")
recorder_node = partial(_run, "recorder_node")
monitor_node = partial(_run, "monitor_node")
composed_nodes = partial(_run, "runtime.composition")
