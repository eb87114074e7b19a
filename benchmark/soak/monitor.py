"""Looks at every message of an arm while a soak runs."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from benchmark.soak.sent_trajectory import SentTrajectory
from benchmark.soak.soak_report import SoakReport
from robot_dynamics.nodes.ros.cdr import deserialized
from robot_dynamics.nodes.runtime.loop import Loop
from robot_dynamics.nodes.runtime.loop_statistics import Input
from robot_dynamics.nodes.runtime.loop_topics import LoopCallbackGroup, LoopSubscriber


def _refuse(error: Exception) -> None:
    raise error


class Monitor:
    """Looks at every reference and state, without keeping them.

    Efforts are those of the states: they acted at the stamp.

    Args:
        node: Node of this process.
        joints: Joints of the effort commands, in their order.
        moved: Joints that trajectories name.
        report: Where counts go.
        effort_rate: Largest change of effort that the controller allows, N m/s.
        slack: Least time between two commands for that rate, s: they may arrive late and close
            together.
    """

    def __init__(
        self,
        node: Node,
        joints: Sequence[str],
        moved: Sequence[str],
        report: SoakReport,
        effort_rate: float,
        slack: float,
    ) -> None:
        self.report, self._effort_rate, self._slack = report, effort_rate, slack
        self.faults: list[str] = []
        self._joints = tuple(joints)
        self._moved = np.array([joints.index(name) for name in moved])
        self._commands: tuple[tuple[float, np.ndarray], ...] = ()
        self._reference = np.zeros(len(joints))
        self._reference_time = 0.0
        self.sent: list[SentTrajectory] = []
        self.position: np.ndarray | None = None
        group, deep = LoopCallbackGroup(), QoSProfile(depth=500)
        subscriptions = [
            node.create_subscription(kind, topic, callback, deep, callback_group=group, raw=True)
            for kind, topic, callback in (
                (JointState, "reference", self._on_reference),
                (JointState, "joint_states", self._on_state),
                (JointTrajectory, "joint_trajectory_with_effort", self._on_filled),
            )
        ]
        self._loop = Loop(node.context)
        subscribers = []
        for subscription in subscriptions:
            topic, kind = subscription.topic_name, subscription.msg_type
            read = partial(deserialized, topic, kind=kind)
            subscribers.append(LoopSubscriber(subscription, read, _refuse, Input(topic)))
        self._loop.add("monitor", 50.0, lambda: None, inputs=subscribers)
        self._thread = threading.Thread(target=self._loop.run, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Look no more."""
        self._loop.stop()
        self._thread.join()

    def _fault(self, text: str) -> None:
        if len(self.faults) < 20:
            self.faults.append(text)

    def _look_at_effort(self, t: float, tau: np.ndarray) -> None:
        """Look at the efforts that drive the arm, shape (n,), N m, at time t, s."""
        self.report.commands += 1
        if not np.isfinite(tau).all():
            self._fault(f"effort_command at {t:.3f} s is not finite: {tau}")
        if len(self._commands) == 2:
            (t_0, tau_0), (t_1, tau_1) = self._commands
            self.report.silence = max(self.report.silence, t - t_1)
            # A command that is late makes the next step look fast; over two steps only a real one
            # is
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
        self._reference, self._reference_time = q, t
        for sent in self.sent[-2:]:
            sent.compare(t, q[self._moved])

    def _on_state(self, msg: Any) -> None:
        columns = [msg.name.index(name) for name in self._joints]
        q, tau = np.array(msg.position)[columns], np.array(msg.effort)[columns]
        self.position = q
        if tau.any():  # brakes hold the arm otherwise
            self._look_at_effort(_seconds(msg), tau)
        if abs(_seconds(msg) - self._reference_time) < 0.05:
            error = float(np.abs(q - self._reference).max())
            self.report.farthest = max(self.report.farthest, error)

    def _on_filled(self, msg: Any) -> None:
        self.report.accepted += 1
        if not all(len(point.effort) == len(msg.joint_names) for point in msg.points):
            self._fault("joint_trajectory_with_effort: a point without the effort of every joint")


def _seconds(msg: Any) -> float:
    return msg.header.stamp.sec + 1e-9 * msg.header.stamp.nanosec
