"""Run an arm for minutes and never leave it in peace.

    python -m benchmark.soak --minutes 10       ten minutes of Panda at 1 kHz
    python -m benchmark.soak --minutes 0.5 --robot planar_2r

Simulator, feedforward and controller run as three processes. They get random
trajectories, most of them replaced on the way, random payloads and other
control modes. What must hold all the time: no node complains or ends, no effort
changes faster than its limit, every trajectory is followed until it is
replaced, and memory does not grow. Exit status 1 if something did not hold.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from benchmark.nodes_system import System, leave_nothing_behind, system, wait_until
from robot_dynamics import read_urdf
from robot_dynamics.robot import find_robot

EFFORT_RATE = 1000.0
"""Largest change of effort that the controller is told to allow, N m/s: what Franka allows."""

ON_THE_CURVE = 1e-6
"""Largest distance of a reference from the trajectory that was sent, rad: rounding of stamps."""

LEAD = 0.15
"""Time between sending a trajectory and its start, s: it has arrived by then."""

FIRST, SEGMENT, SEGMENTS = 0.8, 1.0, 3
"""Time to the first waypoint, time between two, and number of waypoints after the first."""

REACH = 0.3
"""How far waypoints are from the middle of the joint ranges, rad."""

MODES = ("feedforward", "computed_torque", "impedance", "pd_gravity", "gravity_compensation", "pd")
SHORT = {"gravity_compensation": 0.2, "pd": 0.2}
"""Modes that let the arm sink or drift under a load that nobody told the robot of; for how long, s.
"""

SETTLED = 30.0
"""Time after which memory counts, s; it is not judged in runs of less than twice that."""

GROWTH = 2.0
"""Most that the memory of a node may grow, MiB: less than 4 bytes a cycle in 10 minutes."""


@dataclass
class Sent:
    """A trajectory that was sent, and what has been seen of it.

    Args:
        begin: When it starts, s of the system's clock.
        knots: Its waypoints, at rest, shape (SEGMENTS + 1, n), rad.
        until: When another one takes its place, s.
    """

    begin: float
    knots: np.ndarray
    until: float = np.inf
    seen: int = 0
    off: float = 0.0

    def expected(self, t: float) -> np.ndarray:
        """Where the joints are to be, shape (n,), from the first waypoint on."""
        s = (t - self.begin - FIRST) / SEGMENT
        k = min(int(s), SEGMENTS - 1)
        s = min(s - k, 1.0)
        rise = s**3 * (10.0 - 15.0 * s + 6.0 * s**2)
        return self.knots[k] + rise * (self.knots[k + 1] - self.knots[k])

    def look(self, t: float, q: np.ndarray) -> None:
        """Compare a reference of time t."""
        if self.begin + FIRST <= t < self.until:
            self.seen += 1
            self.off = max(self.off, float(np.abs(q - self.expected(t)).max()))


@dataclass
class SoakReport:
    """What a soak has shown.

    Attributes:
        effort_rate: Largest change of effort that the controller was told to allow, N m/s.
        seconds: How long it ran.
        trajectories: Number sent.
        replaced: Number of those that were replaced on the way.
        accepted: Number that came back with efforts.
        payloads: Number of changes of the load.
        modes: Number of changes of the control mode.
        commands: Number of commands seen.
        fastest: Largest change of effort between two commands, N m/s.
        largest_step: Largest change of effort between two commands, N m.
        silence: Longest time between two commands, s.
        farthest: Largest tracking error, rad.
        memory: Resident memory of each node, MiB, as seconds and values.
        load: Load average at the end.
        faults: What did not hold.
    """

    effort_rate: float
    seconds: float = 0.0
    trajectories: int = 0
    replaced: int = 0
    accepted: int = 0
    payloads: int = 0
    modes: int = 0
    commands: int = 0
    fastest: float = 0.0
    largest_step: float = 0.0
    silence: float = 0.0
    farthest: float = 0.0
    memory: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    load: float = 0.0
    faults: list[str] = field(default_factory=list)

    def growth(self, node: str) -> float:
        """By how much the memory of a node grew after it had settled, MiB."""
        settled = min(SETTLED, 0.5 * self.seconds)
        values = [mib for t, mib in self.memory[node] if t >= settled]
        tenth = max(1, len(values) // 10)
        return float(np.median(values[-tenth:]) - np.median(values[:tenth]))

    def lines(self) -> list[str]:
        """The report in words."""
        told = [
            f"{self.seconds:.0f} s, load average {self.load:.2f} on {os.cpu_count()} processors",
            f"{self.trajectories} trajectories, {self.replaced} replaced on the way, "
            f"{self.accepted} came back with efforts",
            f"{self.payloads} payloads, {self.modes} changes of mode",
            f"{self.commands} commands: effort changed by at most {self.largest_step:.2f} N m and "
            f"{self.fastest:.0f} N m/s (limit {self.effort_rate:.0f}); the longest silence was "
            f"{1e3 * self.silence:.0f} ms",
            f"tracking error at most {self.farthest:.3f} rad, with loads that the robot does not "
            "carry and in modes without feedforward",
        ]
        for node, values in self.memory.items():
            told.append(
                f"{node}: {values[-1][1]:.1f} MiB at the end, grown by {self.growth(node):+.2f} MiB"
            )
        return told + [f"FAULT: {fault}" for fault in self.faults]


class Watch:
    """Looks at every command, reference and state, without keeping them.

    Args:
        node: Node of this process.
        joints: Joints of the effort commands, in their order.
        moved: Joints that trajectories name.
        report: Where counts go.
        effort_rate: Largest change of effort that the controller allows, N m/s.
        slack: Time between two commands that counts for that rate whatever their stamps say, s:
            they carry the stamps of states, which may arrive late and close together.
    """

    def __init__(
        self,
        node: Any,
        joints: Sequence[str],
        moved: Sequence[str],
        report: SoakReport,
        effort_rate: float,
        slack: float,
    ) -> None:
        from rclpy.qos import QoSProfile
        from sensor_msgs.msg import JointState
        from trajectory_msgs.msg import JointTrajectory

        from robot_dynamics.nodes.runtime.loop import Loop, LoopCallbackGroup

        self.report, self._effort_rate, self._slack = report, effort_rate, slack
        self.faults: list[str] = []
        self._joints = tuple(joints)
        self._moved = np.array([joints.index(name) for name in moved])
        self._commands: tuple[tuple[float, np.ndarray], ...] = ()
        self._reference = np.zeros(len(joints))
        self._referred_at = 0.0
        self.sent: list[Sent] = []
        self.position: np.ndarray | None = None
        group, deep = LoopCallbackGroup(), QoSProfile(depth=500)
        subscriptions = [
            node.create_subscription(kind, topic, callback, deep, callback_group=group)
            for kind, topic, callback in (
                (JointState, "effort_command_named", self._on_command),
                (JointState, "reference", self._on_reference),
                (JointState, "joint_states", self._on_state),
                (JointTrajectory, "joint_trajectory_with_effort", self._on_filled),
            )
        ]
        self._loop = Loop(node.context)
        self._loop.add("watch", 50.0, lambda: None, inputs=subscriptions)
        self._thread = threading.Thread(target=self._loop.run, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Look no more."""
        self._loop.stop()
        self._thread.join()

    def _fault(self, text: str) -> None:
        if len(self.faults) < 20:
            self.faults.append(text)

    def _on_command(self, msg: Any) -> None:
        t, tau = _seconds(msg), np.array(msg.effort)
        self.report.commands += 1
        if not np.isfinite(tau).all():
            self._fault(f"effort_command at {t:.3f} s is not finite: {tau}")
        if len(self._commands) == 2:
            (t_0, tau_0), (t_1, tau_1) = self._commands
            self.report.silence = max(self.report.silence, t - t_1)
            # A command whose stamp is too late makes the next step look fast; over two steps only
            # a real one is
            step, over = np.abs(tau_1 - tau_0), np.abs(tau - tau_0)
            gaps = max(t_1 - t_0, 0.0), max(t - t_0, 0.0)
            rate = np.minimum(step / (gaps[0] + self._slack), over / (gaps[1] + self._slack))
            self.report.fastest = max(self.report.fastest, float(rate.max()))
            self.report.largest_step = max(self.report.largest_step, float(step.max()))
            if rate.max() > self._effort_rate:
                worst = int(rate.argmax())
                self._fault(
                    f"effort of '{self._joints[worst]}' stepped by {step[worst]:.3g} N m in "
                    f"{1e3 * (t_1 - t_0):.2f} ms"
                )
        self._commands = (*self._commands[-1:], (t, tau))

    def _on_reference(self, msg: Any) -> None:
        t, q = _seconds(msg), np.array(msg.position)
        self._reference, self._referred_at = q, t
        for sent in self.sent[-2:]:
            sent.look(t, q[self._moved])

    def _on_state(self, msg: Any) -> None:
        q = np.array([msg.position[msg.name.index(name)] for name in self._joints])
        self.position = q
        if abs(_seconds(msg) - self._referred_at) < 0.05:
            error = float(np.abs(q - self._reference).max())
            self.report.farthest = max(self.report.farthest, error)

    def _on_filled(self, msg: Any) -> None:
        self.report.accepted += 1
        if not all(len(point.effort) == len(msg.joint_names) for point in msg.points):
            self._fault("joint_trajectory_with_effort: a point without the effort of every joint")


def _seconds(msg: Any) -> float:
    return msg.header.stamp.sec + 1e-9 * msg.header.stamp.nanosec


class Driver:
    """Sends everything, at random.

    Args:
        node: Node of this process.
        watch: Told of every trajectory.
        moved: Joints that trajectories name.
        middle: Middle of their ranges, shape (n,), rad.
        frame: Frame of the payload.
        heaviest: Heaviest payload, kg.
        seed: The same seed sends the same.
    """

    def __init__(
        self,
        node: Any,
        watch: Watch,
        moved: Sequence[str],
        middle: np.ndarray,
        frame: str,
        heaviest: float,
        seed: int,
    ) -> None:
        from geometry_msgs.msg import InertiaStamped
        from rcl_interfaces.srv import SetParameters
        from trajectory_msgs.msg import JointTrajectory

        self._node, self._watch, self._report = node, watch, watch.report
        self._moved, self._middle, self._frame = tuple(moved), middle, frame
        self._heaviest = heaviest
        self._random = random.Random(seed)
        self._numbers = np.random.default_rng(seed)
        self._trajectories = node.create_publisher(JointTrajectory, "joint_trajectory", 10)
        self._payload = node.create_publisher(InertiaStamped, "payload", 10)
        self._set = node.create_client(SetParameters, "controller_node/set_parameters")
        self._mode = "feedforward"
        self._answers: list[tuple[str, Any]] = []
        wait_until(self._trajectories.get_subscription_count, "feedforward_node")
        wait_until(lambda: self._payload.get_subscription_count() >= 2, "both nodes with a payload")
        wait_until(self._set.service_is_ready, "the parameters of controller_node")

    def run(self, seconds: float, tick: Callable[[float], None]) -> None:
        """Send for a while; `tick` is called with the time gone about ten times a second."""
        start = now = time.monotonic()
        due = {"trajectory": 0.0, "payload": 1.0, "mode": 1.5}
        while (gone := now - start) < seconds:
            for what, at in due.items():
                if gone >= at:
                    due[what] = gone + getattr(self, f"_send_{what}")(seconds - gone)
            tick(gone)
            time.sleep(0.1)
            now = time.monotonic()

    def finish(self) -> None:
        """Let the last trajectory come to its end."""
        wait_until(lambda: time.time() > self._watch.sent[-1].begin + self._duration + 0.3, "it")

    @property
    def _duration(self) -> float:
        return FIRST + SEGMENTS * SEGMENT

    def _send_trajectory(self, left: float) -> float:
        from builtin_interfaces.msg import Time
        from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

        from robot_dynamics.nodes.ros.messages import duration_msg

        now = time.time()
        reach = REACH * self._numbers.uniform(-1.0, 1.0, (SEGMENTS + 1, len(self._moved)))
        sent = Sent(now + LEAD, self._middle + reach)
        rest = [0.0] * len(self._moved)
        msg = JointTrajectory(joint_names=list(self._moved))
        ns = round(sent.begin * 1e9)
        msg.header.stamp = Time(sec=ns // 10**9, nanosec=ns % 10**9)
        msg.points = [
            JointTrajectoryPoint(
                time_from_start=duration_msg(FIRST + k * SEGMENT),
                positions=q.tolist(),
                velocities=rest,
                accelerations=rest,
            )
            for k, q in enumerate(sent.knots)
        ]
        if self._watch.sent:
            before = self._watch.sent[-1]
            if sent.begin < before.begin + self._duration:
                self._report.replaced += 1
            # Taken up some time between being sent and its start; from then on it may differ
            before.until = now
        self._watch.sent.append(sent)
        self._trajectories.publish(msg)
        self._report.trajectories += 1
        if self._random.random() < 0.2:
            return self._duration + LEAD + 0.3
        return self._random.uniform(FIRST + 0.3, self._duration)

    def _send_payload(self, left: float) -> float:
        from geometry_msgs.msg import InertiaStamped

        msg = InertiaStamped()
        msg.header.frame_id = self._frame
        mass = self._random.choice((0.0, self._random.uniform(0.0, self._heaviest)))
        body = msg.inertia
        body.m = mass
        body.com.x, body.com.z = (self._random.uniform(0.0, 0.1) for _ in range(2))
        body.ixx = body.iyy = body.izz = 0.01 * mass
        self._payload.publish(msg)
        self._report.payloads += 1
        return self._random.uniform(0.5, 4.0)

    def _send_mode(self, left: float) -> float:
        from rcl_interfaces.srv import SetParameters
        from rclpy.parameter import Parameter

        risky = self._mode in SHORT
        self._mode = "feedforward" if risky else self._random.choice(MODES)
        change = Parameter("mode", value=self._mode).to_parameter_msg()
        answer = self._set.call_async(SetParameters.Request(parameters=[change]))
        self._answers.append((self._mode, answer))
        self._report.modes += 1
        return SHORT.get(self._mode, self._random.uniform(0.5, 4.0))

    def faults(self) -> list[str]:
        """What was refused or not answered."""
        found = []
        for mode, answer in self._answers:
            if not answer.done():
                found.append(f"mode {mode}: no answer")
            elif not answer.result().results[0].successful:
                found.append(f"mode {mode}: {answer.result().results[0].reason}")
        return found


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
    import rclpy
    from rclpy.executors import SingleThreadedExecutor

    from robot_dynamics.nodes.controller.controller_node import LONGEST_CYCLE

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
        context = rclpy.Context()
        rclpy.init(context=context, domain_id=running.domain)
        node = rclpy.create_node("soak", context=context)
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(node)
        stop = threading.Event()

        def spin() -> None:
            while not stop.is_set():
                executor.spin_once(timeout_sec=0.1)

        thread = threading.Thread(target=spin, daemon=True)
        thread.start()
        watch = Watch(node, names, revolute, report, effort_rate, LONGEST_CYCLE / rate)
        try:
            wait_until(lambda: watch.position is not None, "joint_states")
            driver = Driver(node, watch, revolute, middle, frame, 1.0, seed)
            wait_until(lambda: node.count_subscribers("joint_trajectory_with_effort"), "itself")
            time.sleep(1.0)  # feedforward_node has heard by then that somebody listens
            begin = time.monotonic()
            sampled = -1.0

            def sample(gone: float) -> None:
                nonlocal sampled
                if gone - sampled >= 1.0:
                    sampled = gone
                    for process in running.processes.values():
                        values = report.memory.setdefault(process.name, [])
                        values.append((gone, process.memory()))
                tick(gone)

            driver.run(seconds, sample)
            report.seconds = time.monotonic() - begin
            driver.finish()
            report.faults += driver.faults()
        finally:
            watch.end()
            stop.set()
            thread.join()
            executor.shutdown()
            node.destroy_node()
            context.try_shutdown()
        report.faults += watch.faults + _lost(watch.sent, report)
        report.faults += _ended(running)
    report.faults += _complaints(running) + _grown(report)
    report.load = os.getloadavg()[0]
    return report


def _places(tree: Any) -> set[str]:
    return {link.name for link in tree.links} | set(tree.frames)


def _tips(tree: Any) -> list[str]:
    parents = {joint.parent for joint in tree.joints}
    return [link.name for link in tree.links if link.name not in parents]


def _lost(sent: Sequence[Sent], report: SoakReport) -> list[str]:
    faults = []
    if report.accepted != report.trajectories:
        faults.append(f"{report.trajectories} trajectories sent, {report.accepted} came back")
    for k, trajectory in enumerate(sent):
        if not trajectory.seen:
            faults.append(f"trajectory {k} was never followed")
        elif trajectory.off > ON_THE_CURVE:
            faults.append(f"trajectory {k}: the reference was {trajectory.off:.2g} rad beside it")
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, and say what came of it."""
    parser = argparse.ArgumentParser(prog="python -m benchmark.soak", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--robot", default="panda", help="a known robot, or a URDF")
    parser.add_argument("--rate", type=float, default=1000.0, help="of the nodes, Hz")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--logs", type=Path, help="where to leave what the nodes print")
    options = parser.parse_args(arguments)
    leave_nothing_behind()
    console = Console()
    seconds = 60.0 * options.minutes
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with (
        tempfile.TemporaryDirectory() as folder,
        Progress(*columns, console=console, auto_refresh=False) as bar,
    ):
        task = bar.add_task(f"soak of {options.robot}", total=seconds)

        def tick(gone: float) -> None:
            bar.update(task, completed=gone)
            bar.refresh()

        report = soak(
            seconds,
            options.logs or Path(folder),
            robot=options.robot,
            rate=options.rate,
            seed=options.seed,
            tick=tick,
        )
    for line in report.lines():
        console.print(line, markup=False, highlight=False)
    return 1 if report.faults else 0


if __name__ == "__main__":
    sys.exit(main())
