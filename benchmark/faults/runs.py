"""Real nodes behind the plant, each in a process of its own, and what they make of a fault."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from benchmark.faults.arm import Array, description
from benchmark.faults.plant import OF_REFERENCES, Fault, message, run_plant
from benchmark.faults.poses import AFTER_S, DURATION_S, POSES, STEEPEST
from benchmark.nodes.processes import SystemFailure, environment, wait_until
from robot_dynamics import read_urdf
from robot_dynamics.control.gains import DEFAULT_BANDWIDTH, DEFAULT_DAMPING_RATIO
from robot_dynamics.control.limits import default_effort_rates
from robot_dynamics.control.status import WORDS, Status
from robot_dynamics.nodes.composition import own_domain
from robot_dynamics.nodes.ros.messages import duration_msg

WATCHED_S, ENDED_S = 3.0, 5.0
"""Time for which the arm is watched after a fault, and after the end of nodes, s."""

NODES = ("controller_node", "feedforward_node")
WAYS = {
    "kill -9": signal.SIGKILL,
    "SIGTERM": signal.SIGTERM,
    "SIGSTOP": signal.SIGSTOP,
    "Ctrl-C": signal.SIGINT,
}
"""Ways in which a node ends."""

NICENESS = -10
"""Of the nodes and the plant, where that is allowed: programs beside them are no fault to find."""

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    ["robot_dynamics.nodes.composition", "mujoco", "benchmark.faults.plant"]
)


class Ear:
    """A node of this process on one domain; it lasts as the process does.

    Fast DDS 2.14 may crash where the last node of a context goes while nodes of others come and go.
    """

    def __init__(self) -> None:
        self.domain = own_domain()
        context = rclpy.Context()
        rclpy.init(context=context, domain_id=self.domain)
        self.node = rclpy.create_node("peer", context=context, enable_rosout=False)
        self.trajectories = self.node.create_publisher(JointTrajectory, "joint_trajectory", 10)
        self._leftover = rclpy.create_node(
            "joint_state_publisher", context=context, enable_rosout=False
        )
        self._stop: threading.Event | None = None

    def publish_zeros(self, names: list[str]) -> None:
        """Publish zeros without velocities, ten times a second, as a leftover publisher does."""
        self._stop = stop = threading.Event()
        publisher = self._leftover.create_publisher(JointState, "joint_states", 10)

        def publish() -> None:
            while not stop.wait(0.1):
                publisher.publish(message(names, np.zeros(len(names)), None))
            self._leftover.destroy_publisher(publisher)

        threading.Thread(target=publish, daemon=True).start()

    def be_quiet(self) -> None:
        """End `publish_zeros`."""
        if self._stop is not None:
            self._stop.set()


def run_node(executable: str, words: list[str], variables: Mapping[str, str], log: str) -> None:
    """Run an executable in this process, a fork of one that has imported all nodes."""
    threading.Thread(target=_end_with_the_run, daemon=True).start()
    with suppress(OSError):
        os.nice(NICENESS)
    os.environ.update(variables)
    with open(log, "a") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    sys.argv = [executable, *words]
    from robot_dynamics.nodes import executables

    getattr(executables, executable)()


def _end_with_the_run() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)


def run_arm(*arguments: Any) -> None:
    """Run the plant in this process."""
    threading.Thread(target=_end_with_the_run, daemon=True).start()
    with suppress(OSError):
        os.nice(NICENESS)
    run_plant(*arguments)


class Nodes:
    """Plant and nodes of one run, which end with it.

    Args:
        robot: Name of the robot.
        rate: Rate of states and nodes, Hz.
        ear: The rest of the system.
        folder: For logs.
    """

    def __init__(self, robot: str, rate: float, ear: Ear, folder: Path) -> None:
        self.robot, self.rate, self.ear, self._folder = robot, rate, ear, folder
        self.text = description(robot)
        self.model = read_urdf(self.text)
        self._processes: dict[str, Any] = {}
        self.pipe: Any = None

    def start_plant(self, q: Array) -> None:
        """Start the arm, braked until a command comes."""
        self.pipe, other = FORKS.Pipe()
        variables = environment(self.ear.domain, self._folder)
        arguments = (other, self.text, q, self.rate, variables)
        self._start("plant", FORKS.Process(target=run_arm, args=arguments, daemon=True))

    def start(self, name: str, relayed: bool = False) -> None:
        """Start a node, the references of which may go through the plant."""
        file = self._folder / "arm.urdf"
        file.write_text(self.text, encoding="utf-8")
        words = ["--ros-args", "-p", f"urdf_path:={file}", "-p", f"rate:={self.rate}"]
        if relayed:
            words += ["-r", "reference:=planned"]
        log = self.log_file(name)
        arguments = (name, words, environment(self.ear.domain, self._folder), str(log))
        self._start(name, FORKS.Process(target=run_node, args=arguments, daemon=True))

    def _start(self, name: str, process: Any) -> None:
        process.start()
        self._processes[name] = process

    def log_file(self, name: str) -> Path:
        """Return the file that takes what a node prints."""
        file = self._folder / f"{name}.log"
        file.touch()
        return file

    def log_size(self, name: str) -> int:
        """Return the number of characters that a node has printed."""
        return len(self.log_file(name).read_text())

    def wait_for_log(self, name: str, *texts: str, behind: int = 0) -> None:
        """Wait until a node has printed one of some texts."""
        file = self.log_file(name)
        wait_until(
            lambda: any(text in file.read_text()[behind:] for text in texts),
            f"'{texts[0]}' of {name}",
        )

    def send(self, name: str, way: signal.Signals) -> None:
        """Send a signal to a node."""
        os.kill(self._processes[name].pid, way)

    def kill(self, name: str) -> None:
        """Kill a node, and wait until it has gone."""
        self._processes[name].kill()
        self._processes[name].join()

    def order(self, name: str, argument: object = None) -> None:
        """Give the plant an order."""
        self.pipe.send((name, argument))

    def answer(self, patience: float = 60.0) -> Any:
        """Return what the plant answers."""
        if not self.pipe.poll(patience):
            raise SystemFailure("the plant does not answer")
        return self.pipe.recv()

    def trace(self) -> tuple[Any, ...]:
        """Return times, q, qd, efforts and counts of commands of all cycles, and of the fault."""
        self.order("report")
        return tuple(self.answer())

    def send_to(self, goal: Iterable[float]) -> None:
        """Send a motion to a goal, by a polynomial of degree five."""
        n = self.model.dof
        point = JointTrajectoryPoint(
            positions=goal,
            velocities=[0.0] * n,
            accelerations=[0.0] * n,
            time_from_start=duration_msg(DURATION_S),
        )
        names = list(self.model.joint_names)
        self.ear.trajectories.publish(JointTrajectory(joint_names=names, points=[point]))

    def go(self, goal: Iterable[float]) -> None:
        """Send the arm to a goal, until a fault is due on its way.

        Raises:
            SystemFailure: If the arm does not move.
        """
        for _ in range(12):
            self.send_to(goal)
            if self.pipe.poll(5.0):
                self.pipe.recv()
                return
        raise SystemFailure("no motion began")

    def close(self) -> None:
        """End all processes."""
        for process in self._processes.values():
            process.kill()
            process.join()
        self.ear.be_quiet()


@dataclass(frozen=True)
class Case:
    """One run.

    Args:
        robot: Name of the robot.
        rate: Rate of states and nodes, Hz.
        fault: One of the kinds of the plant, or "NODE, WAY".
    """

    robot: str
    rate: float
    fault: str


@dataclass(frozen=True)
class Result:
    """Result of one run with a fault.

    Args:
        excess: Largest speed beyond that of the motion, relative to the speed limit.
        beyond: Largest distance of a joint from its part of the motion, rad.
        step: Largest change of a command, relative to the limit of its rate in one period.
        says: First words of the controller about the fault.
        ends: Last status.
        failure: Why there is no result.
        final: Speed at the end, rad/s.
    """

    excess: float = np.inf
    beyond: float = np.inf
    step: float = np.inf
    says: str = ""
    ends: str = ""
    failure: str = ""
    final: float = 0.0


CAUSES = (Status.STOPPED, Status.OPEN_LOOP, Status.SILENT, Status.HOLDING, Status.RESUMED)
"""Statuses whose lines say what is wrong."""

LINE = re.compile(r"\[(INFO|WARN|ERROR|FATAL)\] \[([0-9.]+)\] \[(\S+)\]: (.*)")


def measure(case: Case, nodes: Nodes) -> Result:
    """Start the nodes, let the fault happen in motion, and watch the arm."""
    start, far = (np.array(q) for q in POSES[case.robot])
    nodes.start_plant(start)
    for name in NODES:
        nodes.start(name, name == "feedforward_node" and case.fault in OF_REFERENCES)
    nodes.wait_for_log("feedforward_node", "ready for trajectories")
    nodes.wait_for_log("controller_node", "tracking the reference")
    time.sleep(0.5)
    nodes.order("arrange", Fault(case.fault, AFTER_S))
    nodes.go(far.tolist())
    moment = time.time()
    who, _, way = case.fault.partition(", ")
    if way:
        for name in NODES if who == "all nodes" else (who,):
            nodes.send(name, WAYS[way])
    time.sleep(ENDED_S if way else WATCHED_S)
    return judged(case, nodes, moment)


def judged(case: Case, nodes: Nodes, moment: float) -> Result:
    """Return the result of a run whose fault began at a system time, s."""
    start, far = (np.array(q) for q in POSES[case.robot])
    t, q, qd, tau, new, at = nodes.trace()
    after, robot = t >= at, nodes.model
    planned = STEEPEST * abs(far - start) / DURATION_S
    excess = (abs(qd[after]).max(axis=0) - planned) / robot.limits.velocity
    low, high = np.minimum(start, far), np.maximum(start, far)
    beyond = np.maximum(low - q[after], q[after] - high)
    rates = default_effort_rates(robot, DEFAULT_BANDWIDTH, DEFAULT_DAMPING_RATIO)
    steps = abs(np.diff(tau, axis=0)) / np.maximum(new[1:, None], 1) / rates * case.rate
    says, ends = words(nodes.log_file("controller_node").read_text(), moment)
    return Result(excess.max(), max(beyond.max(), 0.0), steps[after[1:]].max(), says, ends)


def words(log: str, moment: float, name: str = "controller_node") -> tuple[str, str]:
    """Return the first warning or error since a time, or else the last words, and the status.

    Args:
        log: Lines of nodes.
        moment: System time, s.
        name: Of the node whose lines count.
    """
    found = LINE.findall(log)
    lines = [(kind, float(at), text) for kind, at, of, text in found if of == name]
    since = [(kind, text) for kind, at, text in lines if at > moment - 0.05]
    of_status = [status for _, _, text in lines for status in WORDS if is_of(status, text)]
    causes = [text for _, text in since if any(is_of(status, text) for status in CAUSES)]
    loud = [text for kind, text in since if kind != "INFO"]
    said = causes or loud or [text for _, text in since]
    return (said[0] if said else "", of_status[-1].words if of_status else "")


def is_of(status: Status, text: str) -> bool:
    """Return whether a line of the log is that of a status."""
    return text.startswith(WORDS[status])
