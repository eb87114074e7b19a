"""The two walks of docs/developer-notes.md through running code are the way that it takes."""

import re
import sys
import threading
import time
from contextlib import contextmanager
from functools import cache
from inspect import CO_OPTIMIZED
from pathlib import Path

import numpy as np
import pytest

import robot_dynamics
from robot_dynamics import Dynamics, read_urdf
from ros_system import PATIENCE

ROOT = Path(__file__).parents[3]
PACKAGE = Path(robot_dynamics.__file__).parent


def walk(title):
    """The files of a walk in their order."""
    page = (ROOT / "docs" / "developer-notes.md").read_text(encoding="utf-8")
    section = page.split(f"### {title}\n", 1)[1].split("\n#", 1)[0]
    return re.findall(r"^\d+\. `([^`]+)`", section, re.M)


@contextmanager
def files_called(profile=sys.setprofile):
    """Files of the package and names of their functions, in the order in which they are called."""
    called = []

    @cache
    def in_package(name):
        file = Path(name)
        return file.relative_to(PACKAGE).as_posix() if file.is_relative_to(PACKAGE) else ""

    def note(frame, event, _):
        code = frame.f_code
        # Bodies of modules and classes are none, and what has no name may run when they do
        is_function = code.co_flags & CO_OPTIMIZED and not code.co_name.startswith("<")
        if event == "call" and is_function and (file := in_package(code.co_filename)):
            called.append((file, code.co_name))

    profile(note)
    try:
        yield called
    finally:
        profile(None)


def assert_in_this_order(expected, called):
    """Every file is entered, and for the first time after the one before it."""
    entered = dict.fromkeys(file for file, _ in called)
    assert [file for file in entered if file in expected] == expected, list(entered)


def test_the_walk_from_a_urdf_to_machine_code_is_the_way_that_a_first_call_takes():
    pytest.importorskip("llvmlite", reason="llvmlite is not installed")
    with files_called() as called:
        arm = Dynamics(read_urdf(ROOT / "urdf" / "planar_2r.urdf"), cache=False)
        arm.inverse(*np.zeros((3, 2)))
    assert_in_this_order(walk("A URDF to machine code"), called)


def test_the_walk_from_a_message_to_an_effort_is_the_way_that_a_cycle_takes(domain):
    pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")
    from robot_dynamics.nodes.runtime.composition import composed

    expected = walk("A joint_states message to the published effort")
    controller = next(file for file in expected if file.startswith("nodes/controller/"))
    others = ("nodes/simulator/", "nodes/feedforward/", "nodes/recorder", "nodes/trajectory")

    def cycles(calls):
        """Files entered in each cycle of the controller: one node works after the other."""
        entered = {}
        for file, _ in calls:
            if file.startswith(others):
                if controller in entered:
                    yield list(entered)
                entered = {}
            elif entered or file == expected[0]:
                entered[file] = None

    with (
        files_called(threading.setprofile) as called,
        composed("planar_2r", rate=100.0, domain=domain) as nodes,
    ):
        nodes.wait_until_holding(timeout=PATIENCE)  # Python that is watched is slow
        end = time.monotonic() + PATIENCE
        seen, taken = 0, []
        # A cycle may also come with no state, or with a parameter, a diagnosis, a late reference
        while expected not in taken and time.monotonic() < end:
            nodes.sleep(0.2)
            calls = called[seen:]
            seen += len(calls)
            taken = [[file for file in cycle if file in expected] for cycle in cycles(calls)]
    assert expected in taken, taken[-1:]
