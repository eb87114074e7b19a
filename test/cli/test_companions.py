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
from robot_dynamics.cli.companions import companion
with companion("recorder_node", 0, file="never.mcap", robot_description="") as process:
    print(process.pid, flush=True)
    time.sleep(60.0)
"""


def test_a_verb_that_is_terminated_ends_its_companions():
    pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")
    verb = subprocess.Popen(
        [sys.executable, "-c", VERB],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    companion = int(verb.stdout.readline())
    os.kill(companion, 0)  # it is there
    verb.terminate()
    assert verb.wait(60.0) == 128 + signal.SIGTERM
    with pytest.raises(ProcessLookupError):
        os.kill(companion, 0)
