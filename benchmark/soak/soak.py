"""Simulator, feedforward and controller as processes, disturbed all the time."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.nodes.listener import spinning_node
from benchmark.nodes.processes import System, system, wait_until
from benchmark.soak.disturbances import Disturbances
from benchmark.soak.monitor import Monitor
from benchmark.soak.sent_trajectory import SentTrajectory
from benchmark.soak.soak_report import SETTLED, SoakReport
from robot_dynamics import read_urdf
from robot_dynamics.control.configuration import LONGEST_CYCLE
from robot_dynamics.robot import find_robot

EFFORT_RATE = 1000.0
"""Largest change of effort that the controller is told to allow, N m/s: what Franka allows."""

HEAVIEST = 0.3
"""Heaviest payload, kg: the robot is told of it and does not carry it, and 1 kg takes the wrist of
a Panda 0.4 rad off, next to where a tracking error stops it."""

ON_THE_CURVE = 1e-6
"""Largest distance of a reference from the trajectory that was sent, rad: rounding of stamps."""

GROWTH = 1.0
"""Most that the memory of a node may grow, MiB: in an hour, less than a byte in three cycles."""


def soak(
    seconds: float,
    folder: Path,
    *,
    robot: str = "panda",
    rate: float = 1000.0,
    effort_rate: float = EFFORT_RATE,
    seed: int = 0,
    domain: int | None = None,
    tick: Callable[[float], None] = lambda gone: None,
) -> SoakReport:
    """Run an arm and disturb it.

    Args:
        seconds: How long.
        folder: Where logs go.
        robot: Name of a known robot, or path of a URDF.
        rate: Rate of the nodes, Hz.
        effort_rate: Largest change of effort that the controller is to allow, N m/s.
        seed: The same seed sends the same.
        domain: ROS domain; by default one that depends on this process.
        tick: Called with the time gone, s, some times a second.

    Returns:
        What was seen; its `faults` are empty if all is well.
    """
    tree = read_urdf(find_robot(robot))
    revolute = [j.name for j in tree.moving_joints if j.mimic is None and j.type.rotates]
    names = list(tree.joint_names)
    limits = tree.limits
    index = [names.index(name) for name in revolute]
    low, high = limits.lower[index], limits.upper[index]
    middle = np.where(np.isfinite(low + high), 0.5 * (low + high), 0.0)
    frame = next(name for name in ("panda_hand", *_tips(tree)) if name in _places(tree))
    report = SoakReport(effort_rate)
    with system(folder, domain) as running:
        rates = {f"limits.{name}.effort_rate": effort_rate for name in names}
        common = {"urdf_path": robot, "rate": rate}
        running.start_arm(
            common,
            controller={**rates, "payload.frame": frame},
            feedforward={"payload.frame": frame},
        )
        with spinning_node("soak", running.domain) as node:
            monitor = Monitor(node, names, revolute, report, effort_rate, LONGEST_CYCLE / rate)
            try:
                wait_until(lambda: monitor.position is not None, "joint_states")
                disturbances = Disturbances(node, monitor, revolute, middle, frame, HEAVIEST, seed)
                listeners = "joint_trajectory_with_effort"
                wait_until(lambda: node.count_subscribers(listeners), f"a listener to {listeners}")
                time.sleep(1.0)  # until feedforward_node has discovered its subscribers
                begin = time.monotonic()
                disturbances.run(seconds, lambda gone: _sample(running, report, gone, tick))
                report.seconds = time.monotonic() - begin
                disturbances.finish()
                report.faults += disturbances.faults()
            finally:
                monitor.end()
        report.faults += monitor.faults + _lost(monitor.sent, report)
        report.faults += _ended(running)
    report.faults += _complaints(running) + _grown(report)
    report.load = os.getloadavg()[0]
    return report


def _sample(
    running: System, report: SoakReport, gone: float, tick: Callable[[float], None]
) -> None:
    for process in running.processes.values():
        values = report.memory.setdefault(process.name, [])
        if not values or gone - values[-1][0] >= 1.0:
            values.append((gone, process.memory()))
    tick(gone)


def _places(tree: Any) -> set[str]:
    return {link.name for link in tree.links} | set(tree.frames)


def _tips(tree: Any) -> list[str]:
    parents = {joint.parent for joint in tree.joints}
    return [link.name for link in tree.links if link.name not in parents]


def _lost(sent: Sequence[SentTrajectory], report: SoakReport) -> list[str]:
    faults = []
    if report.accepted < report.trajectories:  # a pose that is held may come back too
        faults.append(f"{report.trajectories} trajectories sent, {report.accepted} came back")
    for k, trajectory in enumerate(sent):
        if not trajectory.seen:
            faults.append(f"trajectory {k} was never followed")
        elif trajectory.deviation > ON_THE_CURVE:
            faults.append(
                f"trajectory {k}: the reference was {trajectory.deviation:.2g} rad beside it"
            )
    return faults


def _ended(running: System) -> list[str]:
    return [
        f"{p.name} ended:\n{p.log[-2000:]}" for p in running.processes.values() if not p.running
    ]


def _complaints(running: System) -> list[str]:
    words = ("[ERROR]", "[FATAL]", "Traceback", "refused", "not finite")
    return [
        f"{process.name}: {line}"
        for process in running.processes.values()
        for line in process.log.splitlines()
        if any(word in line for word in words)
    ][:20]


def _grown(report: SoakReport) -> list[str]:
    if report.seconds < 2.0 * SETTLED:
        return []
    return [
        f"{node}: memory grew by {report.growth(node):.2f} MiB"
        for node in report.memory
        if report.growth(node) > GROWTH
    ]
