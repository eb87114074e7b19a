"""Write the walks through running code into benchmark/records/walks.md, by tracing a run.

Run it as `python docs/make_walks.py`. With `--print TITLE` it prints the files of one walk instead,
one per line. Every trace runs in a new process, because cached results are not computed again.
"""

# ruff: noqa: PLC0415  # the walk without ROS runs where rclpy is not installed

from __future__ import annotations

import argparse
import ast
import os
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import robot_dynamics

PAGE = Path(__file__).parents[1] / "benchmark" / "records" / "walks.md"
PACKAGE = Path(robot_dynamics.__file__).parent
PLANAR = Path(__file__).parents[1] / "urdf" / "planar_2r.urdf"

USUAL = 100
"""Number of cycles that must have entered the same files for them to be the usual cycle."""

PERIOD_S = 0.01
"""Time from one published state to the next, s: a traced controller keeps up with it."""

PATIENCE_S = 120.0
"""Longest time to wait for the usual cycle, s."""


class Trace:
    """The files of the package whose functions are called, in the order of their first call.

    The bodies of modules and classes are not functions, and what an import calls is not part of a
    walk: both would depend on what had been imported before.
    """

    def __init__(self) -> None:
        self.files: dict[str, None] = {}
        self._names: dict[str, str] = {}

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Note a call; for `sys.setprofile`."""
        code = frame.f_code
        if event != "call" or not code.co_flags & CO_OPTIMIZED or code.co_name.startswith("<"):
            return
        name = self._names.get(code.co_filename)
        if name is None:
            path = Path(code.co_filename)
            inside = path.is_relative_to(PACKAGE)
            name = path.relative_to(PACKAGE).as_posix() if inside else ""
            self._names[code.co_filename] = name
        if name and name not in self.files and not _imported_by(frame):
            self.files[name] = None


def _imported_by(frame: FrameType | None) -> bool:
    """Return whether an import is among the callers of a frame."""
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


class CycleTrace(Trace):
    """Trace of a loop that waits for messages: the files from a wake-up to the first publication.

    Attributes:
        cycles: Number of cycles by the files that they entered.
    """

    def __init__(self) -> None:
        super().__init__()
        self.cycles: Counter[tuple[str, ...]] = Counter()
        self._published = False

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        """Note a call, the end of a wait or a publication; for `threading.setprofile`."""
        if event == "c_return" and argument.__name__ in ("wait", "sleep"):
            self.files, self._published = {}, False
        elif event == "c_call" and argument.__name__.startswith("publish"):
            if not self._published:
                self.cycles[tuple(self.files)] += 1
            self._published = True
        elif not self._published:
            super().__call__(frame, event, argument)


def from_urdf_to_machine_code() -> list[str]:
    """Return the files that the first torques of a robot enter, without the cache of kernels."""
    from robot_dynamics import Dynamics, read_urdf

    trace = Trace()
    sys.setprofile(trace)
    try:
        Dynamics(read_urdf(PLANAR), cache=False).inverse(*np.zeros((3, 2)))
    finally:
        sys.setprofile(None)
    return list(trace.files)


def from_message_to_effort() -> list[str]:
    """Return the files that a usual cycle of controller_node enters before its command is out."""
    import rclpy
    from rclpy.context import Context
    from rclpy.logging import LoggingSeverity
    from rclpy.parameter import Parameter
    from sensor_msgs.msg import JointState
    from std_msgs.msg import Float64MultiArray

    from robot_dynamics import read_urdf
    from robot_dynamics.nodes.composition import own_domain
    from robot_dynamics.nodes.controller.controller_node import ControllerNode
    from robot_dynamics.nodes.ros.transport import REACH
    from robot_dynamics.nodes.runtime.process import Process

    traces: dict[str, CycleTrace] = {}

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        name = threading.current_thread().name
        trace = traces.setdefault(name, CycleTrace())
        sys.setprofile(trace)
        trace(frame, event, argument)

    os.environ.setdefault(REACH, "LOCALHOST")
    context = Context()
    rclpy.init(context=context, domain_id=int(os.environ.get("ROS_DOMAIN_ID") or own_domain()))
    values = {
        "urdf_path": str(PLANAR),
        "rate": 0.5 / PERIOD_S,
        "settling_time": 0.0,
        "bandwidth": 2.0,
    }
    overrides = [Parameter(name, value=value) for name, value in values.items()]
    robot = rclpy.create_node("robot", context=context)
    robot.create_subscription(Float64MultiArray, "effort_command", lambda _: None, 1)
    topics = ("reference", "joint_states")
    publishers = [robot.create_publisher(JointState, topic, 1) for topic in topics]
    try:
        controller = ControllerNode(context=context, parameter_overrides=overrides)
        controller.get_logger().set_level(LoggingSeverity.FATAL)
        names = list(read_urdf(PLANAR).joint_names)
        with Process([controller], context) as process, _profiled(profile):
            process.start()
            end = time.monotonic() + PATIENCE_S
            while time.monotonic() < end:
                phase = time.monotonic()
                message = JointState(name=names, effort=[0.0, 0.0])
                message.position = [0.1 * np.sin(phase), 0.1 * np.cos(phase)]
                message.velocity = [0.1 * np.cos(phase), -0.1 * np.sin(phase)]
                message.header.stamp = robot.get_clock().now().to_msg()
                for publisher in publishers:
                    publisher.publish(message)
                time.sleep(PERIOD_S)
                for trace in traces.values():
                    for files, count in trace.cycles.most_common(1):
                        if count >= USUAL and any("controller" in file for file in files):
                            return list(files)
    finally:
        context.try_shutdown()
    raise SystemExit(f"no usual cycle within {PATIENCE_S:g} s: {traces}")


@contextmanager
def _profiled(profile: Callable[[FrameType, str, Any], None]) -> Iterator[None]:
    threading.setprofile(profile)
    try:
        yield
    finally:
        threading.setprofile(None)


WALKS: dict[str, Callable[[], list[str]]] = {
    "A joint_states message to the published effort": from_message_to_effort,
    "A URDF to machine code": from_urdf_to_machine_code,
}
"""Title of every generated walk, and the run that it follows."""


def section(page: str, title: str) -> re.Match[str]:
    """Find the generated list of a walk; its groups are what precedes it and the list.

    Raises:
        SystemExit: If the page has no such list.
    """
    head = rf"(^## {re.escape(title)}\n(?:(?!^##).)*?^<!-- make_walks.py -->\n)"
    found = re.search(head + r"(.*?)(?=^<!-- end -->$)", page, re.M | re.S)
    if found is None:
        raise SystemExit(f"{PAGE.name}: no section '## {title}' with the marks of make_walks.py")
    return found


def listed(title: str) -> list[str]:
    """Return the files of a walk as the page lists them."""
    found = section(PAGE.read_text(encoding="utf-8"), title)
    return re.findall(r"^\d+\. `([^`]+)`", found.group(2), re.M)


def summary(file: str) -> str:
    """Return the first line of the docstring of a module."""
    docstring = ast.get_docstring(ast.parse((PACKAGE / file).read_text(encoding="utf-8"))) or ""
    return docstring.partition("\n")[0]


def main() -> None:
    """Write all walks into the page, or print one."""
    parser = argparse.ArgumentParser(description="trace the walks of benchmark/records/walks.md")
    parser.add_argument("--print", choices=WALKS, dest="title", help="print the files of one walk")
    title = parser.parse_args().title
    if title is not None:
        print("\n".join(WALKS[title]()))
        return
    page = PAGE.read_text(encoding="utf-8")
    for name in WALKS:
        command = [sys.executable, __file__, "--print", name]
        files = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        lines = [f"{i}. `{file}`: {summary(file)}\n" for i, file in enumerate(files, 1)]
        found = section(page, name)
        page = page[: found.end(1)] + "".join(lines) + page[found.end(2) :]
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
