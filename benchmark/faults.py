"""End nodes in every way before a plant that keeps the last command, and measure the arm.

    python -m benchmark.faults                      two robots, 100 and 1000 Hz: 45 minutes
    python -m benchmark.faults --rates 100 --jobs 3
    python -m benchmark.faults --quick              three runs, a minute

The plant is simulator_node with brakes that never close, as a drive behind a
forward_command_controller. Each run ends feedforward_node, or all nodes of the
launch, in motion at 0.4 rad/s or more, or at rest. The table replaces the one
in docs/hardware.md, or goes to --out. Exit status 1 if an arm was unsafe
although a controller or its effort had to hold it.
"""

from __future__ import annotations

import argparse
import ctypes
import itertools
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from rich.console import Console
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from benchmark.machine import processor
from benchmark.nodes.processes import (
    ROOT,
    SystemFailure,
    environment,
    leave_nothing_behind,
    own_domain,
    wait_until,
)
from benchmark.progress import progress_bar, step
from robot_dynamics import read_urdf
from robot_dynamics.nodes.ros.messages import duration_msg, nanoseconds
from robot_dynamics.nodes.runtime.loop_topics import LoopCallbackGroup
from robot_dynamics.robot import find_robot

PAGE = ROOT / "docs" / "hardware.md"
BEGIN, END = "<!-- benchmark.faults -->\n", "<!-- end -->\n"

POSES = {
    "ur5": ([0.0, -1.2, 1.5, -0.5, 0.3, 0.2], [0.9, -0.6, 0.9, 0.1, 0.9, 0.8]),
    "panda": (
        [0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.8, 0.01],
        [0.8, 0.1, 0.5, -1.4, 0.5, 2.1, 1.3, 0.02],
    ),
}
"""Positions between which the arms move, rad and m, in 1.5 s."""

FRICTION = 0.02
"""Coulomb friction of every joint where there is any, as a share of its effort limit."""

UNDER_WAY, WATCHED, STOPPED = 0.4, 10.0, 2.0
"""Speed in motion, rad/s; time for which the arm is watched, and after which it must stand, s."""

FAST, FAR = 3.0, 0.05
"""Peak speed, rad/s, and drift, rad, above which a run is unsafe."""

DOMAINS = 8
"""ROS domains that runs use in turns: a killed participant is known to others for 20 s."""

WAYS = {
    "kill -9": signal.SIGKILL,
    "SIGTERM": signal.SIGTERM,
    "SIGSTOP": signal.SIGSTOP,
    "Ctrl-C": signal.SIGINT,
}
ALL = "all nodes"
NODES = ("controller_node", "feedforward_node")
PR_SET_PDEATHSIG = 1
FORKS = multiprocessing.get_context("forkserver")


@dataclass(frozen=True)
class Case:
    """One run: which nodes of which system end in which way.

    Attributes:
        node: Name of the node, or ALL.
    """

    robot: str
    rate: float
    friction: bool
    node: str
    way: str
    moving: bool

    @property
    def row(self) -> str:
        """Return the row of the table."""
        return f"{self.node}, {self.way}, {'in motion' if self.moving else 'at rest'}"

    @property
    def column(self) -> str:
        """Return the column of the table."""
        friction = f"friction {100 * FRICTION:g} %" if self.friction else "no friction"
        return f"{self.robot}, {friction}, {self.rate:g} Hz"

    @property
    def held(self) -> bool:
        """Return whether a controller, or its last effort with friction, has to hold the arm."""
        return self.node != ALL or (self.friction and self.way in ("Ctrl-C", "SIGTERM"))


@dataclass(frozen=True)
class Result:
    """Holder of the arm, its peak speed, rad/s, its drift, rad, and the fault if there was one."""

    holder: str
    peak: float
    drift: float
    fault: str = ""

    def __str__(self) -> str:
        return self.fault or f"{self.peak:.2f}, {self.drift:.4f}"


def cases(rates: Sequence[float], robots: Sequence[str]) -> Iterator[Case]:
    """All cases."""
    for rate, robot, friction in itertools.product(rates, robots, (False, True)):
        for node, way, moving in itertools.product(("feedforward_node", ALL), WAYS, (True, False)):
            yield Case(robot, rate, friction, node, way, moving)


def quick() -> list[Case]:
    """Three cases that differ in everything."""
    return [
        Case("ur5", 100.0, False, "feedforward_node", "kill -9", True),
        Case("panda", 100.0, True, ALL, "Ctrl-C", True),
        Case("ur5", 100.0, True, "feedforward_node", "SIGTERM", False),
    ]


class Ear:
    """A node of this process on one domain that keeps the states; it lasts as the process does.

    Fast DDS 2.14 may crash where the last node of a context goes while nodes of others come and go.
    """

    def __init__(self) -> None:
        self.domain = own_domain()
        context = rclpy.Context()
        rclpy.init(context=context, domain_id=self.domain)
        self.node = rclpy.create_node("peer", context=context, enable_rosout=False)
        self.states: list[JointState] = []
        group = LoopCallbackGroup()
        self._subscription = self.node.create_subscription(
            JointState, "joint_states", self.states.append, 1000, callback_group=group
        )
        self.trajectories = self.node.create_publisher(JointTrajectory, "joint_trajectory", 10)
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        take = self._subscription.handle.take_message
        while True:
            while (taken := take(JointState, False)) is not None:
                self.states.append(taken[0])
            time.sleep(0.005)


def run_node(executable: str, words: list[str], variables: dict[str, str], log: str) -> None:
    """Run an executable in this process, a fork of one that has imported all nodes."""
    with suppress(AttributeError):  # outside Linux; a run that is killed takes its nodes with it
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.environ.update(variables)
    with open(log, "a") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    sys.argv = [executable, *words]
    from robot_dynamics.nodes import executables

    getattr(executables, executable)()


class Run:
    """The nodes of one case, which end with it."""

    def __init__(self, case: Case, ear: Ear, folder: Path) -> None:
        self.case, self.ear, self._folder = case, ear, folder
        self._robot = read_urdf(find_robot(case.robot))
        self._processes: dict[str, Any] = {}

    def start(self, name: str, executable: str, parameters: dict[str, Any]) -> None:
        """Start a node."""
        common = {"urdf_path": self.case.robot, "rate": self.case.rate, **parameters}
        words = ["--ros-args", "-r", f"__node:={name}"]
        for key, value in common.items():
            words += ["-p", f"{key}:={value}"]
        variables = environment(self.ear.domain, self._folder)
        self._log(name).touch()
        arguments = (executable, words, variables, str(self._log(name)))
        process = FORKS.Process(target=run_node, args=arguments, daemon=True)
        process.start()
        self._processes[name] = process

    def _log(self, name: str) -> Path:
        return self._folder / f"{name}.log"

    def log(self, name: str) -> str:
        """Return the output of a node."""
        return self._log(name).read_text()

    def _logged(self, name: str, text: str) -> None:
        wait_until(lambda: text in self.log(name), f"'{text}' of {name}")

    def measure(self) -> Result:
        """Start the nodes, end those of the case, and watch the arm."""
        case, states = self.case, self.ear.states
        start, far = POSES[case.robot]
        names = self._robot.joint_names
        limits = self._robot.limits.effort
        plant: dict[str, Any] = {"initial_positions": start, "command_timeout": 3600.0}
        for name, limit in zip(names, limits, strict=True):
            plant[f"friction.{name}.coulomb"] = FRICTION * float(limit) * case.friction
            plant[f"friction.{name}.viscous"] = FRICTION * float(limit) * case.friction
        del states[:]
        self.start("simulator_node", "simulator_node", plant)
        self.start("feedforward_node", "feedforward_node", {})
        self.start("controller_node", "controller_node", {})
        self._logged("controller_node", "tracking the reference")
        self._logged("feedforward_node", "ready for trajectories")
        wait_until(lambda: states, "states")
        if case.moving:
            self._move(start, far)
        begin = stamp(states[-1])
        for name in NODES:
            if case.node in (name, ALL):
                os.kill(self._processes[name].pid, WAYS[case.way])
        wait_until(lambda: stamp(states[-1]) > begin + WATCHED, "the end of the run")
        seen = [m for m in list(states) if begin <= stamp(m) <= begin + WATCHED]
        late = np.array([m.position for m in seen if stamp(m) >= begin + STOPPED])
        peak = max(float(np.abs(m.velocity).max()) for m in seen)
        holder = "last effort" if case.node == ALL else "controller_node"
        return Result(holder, peak, float(np.abs(late - late[0]).max()))

    def _move(self, start: Sequence[float], far: Sequence[float]) -> None:
        points = [
            JointTrajectoryPoint(positions=q, time_from_start=duration_msg(1.5 * (k + 1)))
            for k, q in enumerate([far, start] * 4)
        ]
        names = list(self._robot.joint_names)
        msg, sent = JointTrajectory(joint_names=names, points=points), -np.inf

        def under_way() -> bool:
            nonlocal sent
            now = time.monotonic()
            if now > sent + 5.0:
                self.ear.trajectories.publish(msg)
                sent = now
            return bool(np.abs(self.ear.states[-1].velocity).max() > UNDER_WAY)

        wait_until(under_way, "motion")

    def close(self) -> None:
        """End all nodes."""
        for process in self._processes.values():
            process.kill()
            process.join()


def stamp(msg: JointState) -> float:
    """Return the time of a state, s."""
    return nanoseconds(msg.header.stamp) * 1e-9


def measured(chosen: Sequence[Case], jobs: int, ended: Callable[[Case, Result], None]) -> None:
    """Run cases, some at a time, and report each."""
    FORKS.set_forkserver_preload(["robot_dynamics.nodes.runtime.composition"])
    free = [Ear() for _ in range(min(len(chosen), max(DOMAINS, 2 * jobs)))]

    def one(case: Case) -> None:
        ear = free.pop(0)
        try:
            with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
                run = Run(case, ear, Path(folder))
                stack.callback(run.close)
                result = run.measure()
        except SystemFailure as failure:  # the others go on
            reason = str(failure).partition("\n")[0]
            result = Result("-", np.inf, np.inf, f"not measured: {reason}")
        free.append(ear)
        ended(case, result)

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, chosen))


def table(results: dict[Case, Result], load: str) -> list[str]:
    """Return the table as Markdown, one row for each way in which nodes end."""
    columns = list(dict.fromkeys(case.column for case in results))
    found: dict[str, dict[str, Result]] = {}
    for case, result in results.items():
        found.setdefault(case.row, {})[case.column] = result
    lines = [
        f"Measured on {processor()}, load average {load}. Each cell gives the peak speed in "
        f"{WATCHED:g} s, rad/s, and the drift from {STOPPED:g} s to {WATCHED:g} s, rad.",
        "",
        "| end of | holds the arm | " + " | ".join(columns) + " |",
        "| --- " * (len(columns) + 2) + "|",
    ]
    for row, cells in found.items():
        holders = ", ".join(dict.fromkeys(r.holder for r in cells.values() if not r.fault))
        values = " | ".join(str(cells[c]) if c in cells else "" for c in columns)
        lines.append(f"| {row} | {holders} | {values} |")
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the cases and write the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmark.faults", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--rates", type=float, nargs="+", default=[100.0, 1000.0], help="Hz")
    parser.add_argument("--robots", nargs="+", choices=POSES, default=list(POSES))
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument("--quick", action="store_true", help="three runs, and no file")
    parser.add_argument("--out", type=Path, default=PAGE, help="page with the marks of the table")
    options = parser.parse_args(arguments)
    leave_nothing_behind()
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    chosen = quick() if options.quick else list(cases(options.rates, options.robots))
    loads, console = [os.getloadavg()[0]], Console()
    results: dict[Case, Result] = {}
    lines: list[str] = []
    with progress_bar(console) as bar, step(bar, "faults", len(chosen)) as advance:

        def ended(case: Case, result: Result) -> None:
            results[case] = result
            loads.append(os.getloadavg()[0])
            done = {case: results[case] for case in chosen if case in results}
            lines[:] = table(done, f"{min(loads):.0f} to {max(loads):.0f}")
            if not options.quick:  # after each run: one that is interrupted leaves what it has
                before = options.out.read_text() if options.out.exists() else ""
                head, _, rest = before.partition(BEGIN)
                page = head + BEGIN + "\n".join(lines) + "\n" + END + rest.partition(END)[2]
                options.out.write_text(page)
            bar.console.print(f"{case.column}: {case.row}: {result.holder}: {result}")
            advance()

        measured(chosen, options.jobs, ended)
    if options.quick:
        console.print("\n".join(lines), markup=False)
    unsafe = [c for c, r in results.items() if c.held and (r.peak > FAST or r.drift > FAR)]
    for case in unsafe:
        console.print(f"unsafe: {case.column}: {case.row}: {results[case]}", markup=False)
    return int(bool(unsafe))


if __name__ == "__main__":
    sys.exit(main())
