"""Random trajectories, payloads and control modes for an arm that is never left in peace."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import KeyValue
from geometry_msgs.msg import InertiaStamped
from rcl_interfaces.srv import SetParameters
from rclpy.node import Node
from rclpy.parameter import Parameter
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from benchmark.nodes.processes import wait_until
from benchmark.soak.monitor import Monitor
from benchmark.soak.sent_trajectory import DURATION, FIRST, SEGMENT, SEGMENTS, SentTrajectory
from robot_dynamics.nodes.ros.messages import UNFOLLOWED_TOPIC, duration_msg
from robot_dynamics.nodes.ros.topics import DESCRIPTION_QOS

LEAD = 0.15
"""Time between sending a trajectory and its start, s: it has arrived by then."""

REACH = 0.2
"""Largest distance of waypoints from the middle of the joint ranges, rad. Without feedforward a
Panda deviates up to 0.4 rad between them, and a tracking error of 0.5 rad stops it."""

DEAF = "gravity_compensation"
"""Mode that follows no reference: feedforward_node refuses trajectories until it is over, and a
load that the robot is told of and does not carry would lift its wrist at 6 rad/s."""

UNDER_WAY = 0.5
"""Time after which a trajectory or a payload that was sent has been taken up, s."""

RETRY = 0.1
"""Time after which is tried again what cannot be done now, s."""

SHORT = {DEAF: 0.2, "pd": 0.2}
"""Durations of modes that let the arm sink or drift under an unknown load, s."""

MODES = ("feedforward", "computed_torque", "impedance", "pd_gravity", *SHORT)


class Disturbances:
    """Sends everything, at random.

    Args:
        node: Node of this process.
        monitor: Told of every trajectory.
        moved: Joints that trajectories name.
        middle: Middle of their ranges, shape (n,), rad.
        frame: Frame of the payload.
        heaviest: Heaviest payload, kg.
        seed: The same seed sends the same.
    """

    def __init__(
        self,
        node: Node,
        monitor: Monitor,
        moved: Sequence[str],
        middle: np.ndarray,
        frame: str,
        heaviest: float,
        seed: int,
    ) -> None:
        self._node, self._monitor, self._report = node, monitor, monitor.report
        self._moved, self._middle, self._frame = tuple(moved), middle, frame
        self._heaviest = heaviest
        self._random = random.Random(seed)
        self._numbers = np.random.default_rng(seed)
        self._trajectories = node.create_publisher(JointTrajectory, "joint_trajectory", 10)
        self._payload = node.create_publisher(InertiaStamped, "payload", 10)
        self._set = node.create_client(SetParameters, "controller_node/set_parameters")
        self._unfollowed = ""
        self._mass, self._loaded_at = 0.0, 0.0
        node.create_subscription(KeyValue, UNFOLLOWED_TOPIC, self._on_unfollowed, DESCRIPTION_QOS)
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
        end = self._monitor.sent[-1].begin + DURATION + 0.3
        wait_until(lambda: time.time() > end, "the end of the last trajectory")

    def _on_unfollowed(self, msg: Any) -> None:
        self._unfollowed = msg.value

    def _send_trajectory(self, left: float) -> float:
        if self._mode == DEAF or self._unfollowed:
            return RETRY
        now = time.time()
        reach = REACH * self._numbers.uniform(-1.0, 1.0, (SEGMENTS + 1, len(self._moved)))
        sent = SentTrajectory(now + LEAD, self._middle + reach)
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
        if self._monitor.sent:
            before = self._monitor.sent[-1]
            if sent.begin < before.begin + DURATION:
                self._report.replaced += 1
            # Taken up some time between being sent and its start; from then on it may differ
            before.until = now
        self._monitor.sent.append(sent)
        self._trajectories.publish(msg)
        self._report.trajectories += 1
        if self._random.random() < 0.2:
            return DURATION + LEAD + 0.3
        return self._random.uniform(FIRST + 0.3, DURATION)

    def _send_payload(self, left: float) -> float:
        if self._mode == DEAF:
            return RETRY
        msg = InertiaStamped()
        msg.header.frame_id = self._frame
        mass = self._random.choice((0.0, self._random.uniform(0.0, self._heaviest)))
        self._mass, self._loaded_at = mass, time.time()
        body = msg.inertia
        body.m = mass
        body.com.x, body.com.z = (self._random.uniform(0.0, 0.1) for _ in range(2))
        body.ixx = body.iyy = body.izz = 0.01 * mass
        self._payload.publish(msg)
        self._report.payloads += 1
        return self._random.uniform(0.5, 4.0)

    def _send_mode(self, left: float) -> float:
        risky = self._mode in SHORT
        mode = "feedforward" if risky else self._random.choice(MODES)
        taken_up = max(self._monitor.sent[-1].begin, self._loaded_at) + UNDER_WAY
        if mode == DEAF and (self._mass or time.time() < taken_up):
            return RETRY
        self._mode = mode
        change = Parameter("mode", value=self._mode).to_parameter_msg()
        answer = self._set.call_async(SetParameters.Request(parameters=[change]))
        self._answers.append((self._mode, answer))
        self._report.modes += 1
        return SHORT.get(self._mode, self._random.uniform(0.5, 4.0))

    def faults(self) -> list[str]:
        """Requests that were refused or not answered."""
        found = []
        for mode, answer in self._answers:
            if not answer.done():
                found.append(f"mode {mode}: no answer")
            elif not answer.result().results[0].successful:
                found.append(f"mode {mode}: {answer.result().results[0].reason}")
        return found
