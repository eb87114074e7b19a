"""A robot that only listens for answers: how long a command for a state takes.

    python -m benchmark.nodes.latency_probe ROBOT RATE SECONDS

Publishes joint_states of an arm at rest and waits for effort_command of
controller_node and for effort_echo of `benchmark.nodes.bare_echo`. The position of
one joint carries the number of the message; the effort of that joint, which is
proportional to it, brings it back. Prints delays as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import rclpy
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from benchmark.nodes.processes import wait_until
from robot_dynamics import read_urdf
from robot_dynamics.nodes.ros.messages import joint_state_msg
from robot_dynamics.nodes.ros.qos import LOCKSTEP_QOS, OUTPUT_QOS
from robot_dynamics.nodes.runtime.loop import LoopCallbackGroup
from robot_dynamics.nodes.runtime.scheduling import sharpen_timers
from robot_dynamics.robot import find_robot
from robot_dynamics.trajectory.motions import middle_pose

JOINT = 0
"""The joint whose position carries the number of the message."""

GAIN = 100.0
"""Gain p that controller_node must have for that joint, N m/rad."""

NUMBERS, STEP = 16, 1e-5
"""Messages are numbered by turns, this many; what one number is in position, rad."""

WARM_UP = 3.0
"""Time before the numbers begin, s: both sides answer and the efforts have settled by then."""


class Probe:
    """Publishes states and notes when answers come.

    Args:
        node: Node of this process.
        robot: Name of a known robot, or path of a URDF.
    """

    def __init__(self, node: Node, robot: str) -> None:
        tree = read_urdf(find_robot(robot))
        self._names = list(tree.joint_names)
        self._q = middle_pose(tree)
        self._zero = np.zeros(len(self._names))
        self._node = node
        self._states = node.create_publisher(JointState, "joint_states", OUTPUT_QOS)
        self._sent = np.zeros(NUMBERS, dtype=np.int64)  # when each number was published, ns
        self._open = np.zeros((2, NUMBERS), dtype=bool)  # which of them await an answer
        self._at_zero = float("nan")
        self.delays: tuple[list[int], list[int]] = ([], [])
        group = LoopCallbackGroup()

        def listen(topic: str, answer: Callable[[Any, int], None]) -> Subscription:
            return node.create_subscription(
                Float64MultiArray, topic, answer, LOCKSTEP_QOS, callback_group=group
            )

        self._answers = (listen("effort_command", self._command), listen("effort_echo", self._echo))

    def _command(self, msg: Float64MultiArray, now: int) -> None:
        tau = msg.data[JOINT]
        if self._counting:
            self._came(0, round((self._at_zero - tau) / (GAIN * STEP)), now)
        else:
            self._at_zero = tau

    def _echo(self, msg: Float64MultiArray, now: int) -> None:
        if self._counting:
            self._came(1, round((msg.data[JOINT] - self._q[JOINT]) / STEP), now)

    def _came(self, who: int, number: int, now: int) -> None:
        if 0 <= number < NUMBERS and self._open[who, number]:
            self._open[who, number] = False
            self.delays[who].append(now - int(self._sent[number]))

    def run(self, rate: float, seconds: float) -> int:
        """Publish for a while; the number of states that counted."""
        sharpen_timers()
        wait_until(lambda: self._states.get_subscription_count() >= 3, "three who listen")
        context = self._node.context
        period = round(1e9 / rate)
        self._counting, count = False, 0
        due = time.monotonic_ns() + period
        begin = due + round(WARM_UP * 1e9)
        end = begin + round(seconds * 1e9)
        entered = [subscription.handle for subscription in self._answers]
        with context.handle, entered[0], entered[1]:
            wait_set = rclpy_implementation.WaitSet(2, 0, 0, 0, 0, 0, context.handle)
            while due < end:
                while (left := due - time.monotonic_ns()) > 0:
                    wait_set.clear_entities()
                    for handle in entered:
                        wait_set.add_subscription(handle)
                    wait_set.wait(left)
                    self._take()
                if due >= begin and not self._counting:
                    self._take()
                    self._counting = True
                number = count % NUMBERS if self._counting else 0
                self._publish(number)
                count += self._counting
                due += period * (1 + max(0, time.monotonic_ns() - due) // period)
        return count - 1  # nobody waits for the answer to the last one

    def _publish(self, number: int) -> None:
        q = self._q.copy()
        q[JOINT] += STEP * number
        stamp = self._node.get_clock().now().to_msg()
        msg = joint_state_msg(self._names, q, self._zero, self._zero, stamp)
        self._open[:, number] = True
        self._sent[number] = time.monotonic_ns()
        self._states.publish(msg)

    def _take(self) -> None:
        for subscription in self._answers:
            while (taken := subscription.handle.take_message(Float64MultiArray, False)) is not None:
                subscription.callback(taken[0], time.monotonic_ns())


def main(arguments: Sequence[str]) -> int:
    """Print delays as JSON."""
    robot, rate, seconds = arguments[0], float(arguments[1]), float(arguments[2])
    rclpy.init()
    node = rclpy.create_node("probe")
    probe = Probe(node, robot)
    published = probe.run(rate, seconds)
    print(
        json.dumps({"published": published, "command": probe.delays[0], "echo": probe.delays[1]}),
        flush=True,
    )
    node.destroy_node()
    rclpy.try_shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
