"""Companions of a verb: nodes in processes of their own, which end with it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
VERB = """
import time
from robot_dynamics.cli.subprocesses import node_subprocess
with node_subprocess("recorder_node", 0, file="never.mcap", robot_description="") as process:
    print(process.pid, flush=True)
    time.sleep(600.0)
"""


@pytest.mark.parametrize("way", [signal.SIGTERM, signal.SIGKILL])
def test_a_verb_that_is_ended_by_others_ends_its_subprocesses(way):
    pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")
    verb = subprocess.Popen(
        [sys.executable, "-c", VERB],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    child = int(verb.stdout.readline())
    os.kill(child, 0)  # it is there
    verb.send_signal(way)
    verb.communicate(timeout=120.0)  # until the child, which has the same output, closes it
    assert verb.returncode == (128 + way if way == signal.SIGTERM else -way)
