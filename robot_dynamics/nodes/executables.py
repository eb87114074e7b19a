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


def _run(module: str, name: str) -> None:
    """Run a process, and end it.

    Args:
        module: Its module.
        name: Class of its node there, or a function that runs the process.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: os._exit(0))  # nothing has been started yet
    try:
        made = getattr(import_module(f"robot_dynamics.nodes.{module}"), name)
        run_alone = import_module("robot_dynamics.nodes.runtime.process").run_alone
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("robot_dynamics"):
            raise
        node, missing = module.rpartition(".")[2], (error.name or "").partition(".")[0]
        remedy = "source a ROS 2 installation, or pip install 'robot_dynamics[ros]'"
        if missing in OF_VIEW:
            remedy = "pip install 'robot_dynamics[view]'"
        print(f"{node}: no Python module '{error.name}'; {remedy}", file=sys.stderr)
        sys.exit(1)
    try:
        status = run_alone(made) if isinstance(made, type) else made()
    except SystemExit as end:
        status = end.code
    # The process has ended in order; skip the teardown of Python and the middleware, in which
    # Fast DDS 2.14 may crash
    for stream in (sys.stdout, sys.stderr):
        with suppress(BrokenPipeError):
            stream.flush()
    os._exit(int(status or 0))


feedforward_node = partial(_run, "feedforward.feedforward_node", "FeedforwardNode")
controller_node = partial(_run, "controller.controller_node", "ControllerNode")
simulator_node = partial(_run, "simulator.simulator_node", "SimulatorNode")
trajectory_node = partial(_run, "trajectory_node", "TrajectoryNode")
viewer_node = partial(_run, "viewer_node", "ViewerNode")
marker_node = partial(_run, "marker_node", "MarkerNode")
recorder_node = partial(_run, "recorder_node", "RecorderNode")
monitor_node = partial(_run, "monitor_node", "MonitorNode")
composed_nodes = partial(_run, "composition", "main")
