"""A robot that only listens for answers: how long a command for a state takes.

    python -m benchmark.nodes.latency_probe ROBOT RATE SECONDS

Publishes joint_states of an arm at rest and waits for effort_command of
controller_node, for effort_echo of `benchmark.nodes.bare_echo` and for effort_bytes of
`benchmark.nodes.bytes_echo`. The position of
one joint carries the number of the message; the effort of that joint, which is
proportional to it, brings it back. Prints delays as JSON.
"""

from __future__ import annotations

import json
import struct
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack

import numpy as np
import rclpy
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from benchmark.nodes.processes import wait_until
from robot_dynamics import read_urdf
from robot_dynamics.nodes.ros.joint_values import JointValues
from robot_dynamics.nodes.ros.message_bytes import JointStateWriter
from robot_dynamics.nodes.ros.qos import LOCKSTEP_QOS, OUTPUT_QOS
from robot_dynamics.nodes.runtime.loop import LoopCallbackGroup
from robot_dynamics.nodes.runtime.scheduling import sharpen_timers
from robot_dynamics.robot import find_robot
from robot_dynamics.trajectory.motions import middle_pose

ANSWERS = {"command": "effort_command", "echo": "effort_echo", "bytes": "effort_bytes"}
"""Who answers, on which topic."""

FIRST = 20
"""Where the numbers of a Float64MultiArray begin in its bytes."""

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
        self._names = tree.joint_names
        self._q = middle_pose(tree)
        self._write = JointStateWriter()
        self._node = node
        self._states = node.create_publisher(JointState, "joint_states", OUTPUT_QOS)
        self._sent = np.zeros(NUMBERS, dtype=np.int64)  # when each number was published, ns
        self._open = np.zeros((len(ANSWERS), NUMBERS), dtype=bool)  # which of them await an answer
        self._at_zero = float("nan")
        self.delays: dict[str, list[int]] = {who: [] for who in ANSWERS}
        group = LoopCallbackGroup()

        self._answers = [
            node.create_subscription(
                Float64MultiArray, topic, print, LOCKSTEP_QOS, callback_group=group
            ).handle
            for topic in ANSWERS.values()
        ]

    def _answered(self, who: int, value: float, now: int) -> None:
        """Take the number of the joint that an answer brings."""
        if who == 0 and not self._counting:
            self._at_zero = value
        elif self._counting:
            number = (self._at_zero - value) / GAIN if who == 0 else value - self._q[JOINT]
            self._came(who, round(number / STEP), now)

    def _came(self, who: int, number: int, now: int) -> None:
        if 0 <= number < NUMBERS and self._open[who, number]:
            self._open[who, number] = False
            self.delays[list(ANSWERS)[who]].append(now - int(self._sent[number]))

    def run(self, rate: float, seconds: float) -> int:
        """Publish for a while; the number of states that counted."""
        sharpen_timers()
        wait_until(lambda: self._states.get_subscription_count() >= 4, "four who listen")
        context = self._node.context
        period = round(1e9 / rate)
        self._counting, count = False, 0
        due = time.monotonic_ns() + period
        begin = due + round(WARM_UP * 1e9)
        end = begin + round(seconds * 1e9)
        with ExitStack() as stack:
            for handle in (context.handle, *self._answers):
                stack.enter_context(handle)
            count_of = len(self._answers)
            wait_set = rclpy_implementation.WaitSet(count_of, 0, 0, 0, 0, 0, context.handle)
            while due < end:
                while (left := due - time.monotonic_ns()) > 0:
                    wait_set.clear_entities()
                    for handle in self._answers:
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
        rows = np.zeros((3, len(self._names)))
        rows[0] = self._q
        rows[0, JOINT] += STEP * number
        stamp = self._node.get_clock().now().nanoseconds
        data = self._write(JointValues(self._names, stamp, rows))
        self._open[:, number] = True
        self._sent[number] = time.monotonic_ns()
        self._states.publish(data)

    def _take(self) -> None:
        for who, handle in enumerate(self._answers):
            while (taken := handle.take_message(Float64MultiArray, True)) is not None:
                now = time.monotonic_ns()
                (value,) = struct.unpack_from("<d", taken[0], FIRST + 8 * JOINT)
                self._answered(who, value, now)


def main(arguments: Sequence[str]) -> int:
    """Print delays as JSON."""
    robot, rate, seconds = arguments[0], float(arguments[1]), float(arguments[2])
    rclpy.init()
    node = rclpy.create_node("probe")
    probe = Probe(node, robot)
    published = probe.run(rate, seconds)
    print(json.dumps({"published": published, **probe.delays}), flush=True)
    node.destroy_node()
    rclpy.try_shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
