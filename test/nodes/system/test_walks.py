"""The two traced walks of benchmark/records/walks.md list the files that a run enters."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ros_system import PATIENCE

SCRIPT = Path(__file__).parents[3] / "docs" / "make_walks.py"
STALE = "run python docs/make_walks.py"


def listed(title):
    """The files of a walk in their order, as the page lists them."""
    spec = importlib.util.spec_from_file_location("make_walks", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.listed(title)


def entered(title, **environment):
    """The files that a run enters, in a new process: this one has caches of earlier tests."""
    command = [sys.executable, str(SCRIPT), "--print", title]
    environment = {**os.environ, **environment}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=2 * PATIENCE
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_the_walk_from_a_urdf_to_machine_code_is_the_way_that_a_first_call_takes():
    pytest.importorskip("llvmlite", reason="llvmlite is not installed")
    title = "A URDF to machine code"
    assert entered(title) == listed(title), STALE


@pytest.mark.thorough
def test_the_walk_from_a_message_to_an_effort_is_the_way_that_a_cycle_takes(domain):
    pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")
    title = "A joint_states message to the published effort"
    found = []
    for _ in range(3):  # on a busy machine states may be late, and take another way
        found = entered(title, ROS_DOMAIN_ID=str(domain))
        if found == listed(title):
            return
    assert found == listed(title), STALE
