"""A robot that only listens for answers: how long a command for a state takes.

    python -m benchmark.nodes.latency_probe ROBOT RATE SECONDS

Publishes joint_states of an arm at rest and waits for effort_command of
controller_node, and in turn asks `benchmark.nodes.bare_echo` and `benchmark.nodes.bytes_echo` on
topics of their own: three that answer one message at once would wait for each other. The position
of one joint carries the number of the message; the effort of that joint, which is proportional to
it, brings it back. Prints delays as JSON.
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

from benchmark.nodes.processes import SystemFailure, wait_until
from robot_dynamics import read_urdf
from robot_dynamics.nodes.ros.cdr import JointStateWriter
from robot_dynamics.nodes.ros.joint_values import JointValues
from robot_dynamics.nodes.ros.topics import LOCKSTEP_QOS, OUTPUT_QOS
from robot_dynamics.nodes.ros.transport import init_rclpy
from robot_dynamics.nodes.runtime.loop_topics import LoopCallbackGroup
from robot_dynamics.nodes.runtime.scheduling import sharpen_timers
from robot_dynamics.robot import find_robot
from robot_dynamics.trajectory.motions import middle_pose

ANSWERS = {
    "command": ("joint_states", "effort_command"),
    "echo": ("joint_states_echo", "effort_echo"),
    "bytes": ("joint_states_bytes", "effort_bytes"),
}
"""Who answers, which topic, and on which one."""

DOUBLE = 8
"""Bytes of a number, with which a Float64MultiArray ends."""

JOINT = 0
"""The joint whose position carries the number of the message."""

NUMBERS, STEP = 16, 1e-5
"""Messages are numbered by turns, this many; what one number is in position, rad."""

LAST = NUMBERS - 1

COUNTING = "from now on states count"
"""What is printed after `WARM_UP`."""

WARM_UP = 3.0
"""Time from the first command to when numbers begin, s: by then the efforts have settled."""

PATIENCE = 60.0
"""Time in which the controller has to answer, s: a busy machine needs some."""


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
        self._states = [
            node.create_publisher(JointState, topic, OUTPUT_QOS) for topic, _ in ANSWERS.values()
        ]
        shape = len(ANSWERS), NUMBERS
        self._sent = np.zeros(shape, dtype=np.int64)  # when each number was published, ns
        self._open = np.zeros(shape, dtype=bool)  # which of them await an answer
        self._number = 0
        self._levels = {0: float("nan"), LAST: float("nan")}  # efforts that answer these numbers
        self.delays: dict[str, list[int]] = {who: [] for who in ANSWERS}
        group = LoopCallbackGroup()

        self._answers = [
            node.create_subscription(
                Float64MultiArray, topic, print, LOCKSTEP_QOS, callback_group=group
            ).handle
            for _, topic in ANSWERS.values()
        ]

    def _answered(self, who: int, value: float, now: int) -> None:
        """Take the number of the joint that an answer brings."""
        if who == 0 and not self._counting:
            self._levels[self._number] = value
        elif self._counting:
            first, last = self._levels[0], self._levels[LAST]
            numbers = (value - self._q[JOINT]) / STEP
            if who == 0:
                numbers = LAST * (value - first) / (last - first)
            self._came(who, round(numbers), now)

    def _came(self, who: int, number: int, now: int) -> None:
        if 0 <= number < NUMBERS and self._open[who, number]:
            self._open[who, number] = False
            self.delays[list(ANSWERS)[who]].append(now - int(self._sent[who, number]))

    def run(self, rate: float, seconds: float) -> int:
        """Publish for a while, to each at that rate; the number of states to each that counted."""
        sharpen_timers()
        wait_until(lambda: all(x.get_subscription_count() for x in self._states), "who answers")
        context = self._node.context
        turns = len(ANSWERS)
        period = round(1e9 / rate / turns)
        self._counting, count, turn = False, 0, 0
        due = time.monotonic_ns() + period
        begin = due + round(WARM_UP * 1e9)
        half, end = round(0.5e9 * WARM_UP), due + round(PATIENCE * 1e9)
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
                if np.isnan(self._levels[0]):
                    begin = due + round(WARM_UP * 1e9)
                if due >= begin and not self._counting and turn % turns == 0 and self._known:
                    self._take()
                    self._counting = True
                    end = due + round(seconds * 1e9)
                    print(COUNTING, flush=True)
                if self._counting:
                    self._number = count // turns % NUMBERS
                elif due >= begin - half:
                    self._number = LAST
                self._publish(turn % turns, self._number)
                turn += 1
                count += self._counting
                due += period * (1 + max(0, time.monotonic_ns() - due) // period)
        if not self._counting:
            raise SystemFailure(f"no command answers joint_states, {PATIENCE:g} s long")
        return count // turns - 1  # the answer to the last one is not awaited

    @property
    def _known(self) -> bool:
        """Whether it is known how efforts tell the number of a message."""
        levels = np.array(list(self._levels.values()))
        return bool(np.isfinite(levels).all() and np.ptp(levels) > 0.0)

    def _publish(self, who: int, number: int) -> None:
        rows = np.zeros((3, len(self._names)))
        rows[0] = self._q
        rows[0, JOINT] += STEP * number
        stamp = self._node.get_clock().now().nanoseconds
        data = self._write(JointValues(self._names, stamp, rows))
        self._open[who, number] = True
        self._sent[who, number] = time.monotonic_ns()
        self._states[who].publish(data)

    def _take(self) -> None:
        for who, handle in enumerate(self._answers):
            while (taken := handle.take_message(Float64MultiArray, True)) is not None:
                now = time.monotonic_ns()
                data = taken[0]
                first = len(data) - DOUBLE * len(self._names)
                (value,) = struct.unpack_from("<d", data, first + DOUBLE * JOINT)
                self._answered(who, value, now)


def main(arguments: Sequence[str]) -> int:
    """Print delays as JSON."""
    robot, rate, seconds = arguments[0], float(arguments[1]), float(arguments[2])
    init_rclpy()
    node = rclpy.create_node("probe")
    probe = Probe(node, robot)
    published = probe.run(rate, seconds)
    print(json.dumps({"published": published, **probe.delays}), flush=True)
    node.destroy_node()
    rclpy.try_shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
