"""Sign test: a small effort on one joint, which shows its sign and its place in the command.

The effort rises slowly from zero and ends as soon as a joint has moved a little. All other joints
get no effort, so that brakes or a support must hold them.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from rclpy.context import Context
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics.control import effort_limits
from robot_dynamics.errors import ArgumentError, RobotDynamicsError, check_known
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.nodes.ros.graph_client import GraphClient
from robot_dynamics.nodes.ros.messages import (
    COMMAND_TOPIC,
    HARDWARE_TOPIC,
    JointReader,
    effort_msg,
)
from robot_dynamics.nodes.ros.topics import OUTPUT_QOS, STATE_QOS, other_publishers_of
from robot_dynamics.robot import Robot

DEFAULT_SHARE, LARGEST_SHARE = 0.02, 0.1
"""Default and largest effort of a sign test, of the effort limit of its joint."""

UNLIMITED = 10.0
"""Effort limit of a joint without one, N m or N."""

MOVED = 0.01
"""Motion of a joint that ends a sign test, rad or m."""

LARGEST_SPEED = 0.2
"""Speed of a joint that ends a sign test, rad/s or m/s."""

WATCHED_S, RISING_S = 0.5, 1.5
"""Time for which the arm must rest before a sign test, and in which the effort rises, s."""

PERIOD_S = 0.01
"""Period of the commands, s."""

DISCOVERY_S = 1.0
"""Time for discovery of other nodes on the topics of the commands, s."""

STATES_TIMEOUT_S = 0.1
"""Age of joint_states that ends a sign test, s."""


def effort_of(robot: Robot, joint: str, effort: float | None) -> float:
    """Return the effort of a sign test, N m or N, by default a small one in positive direction.

    Raises:
        ArgumentError: If it is zero, not finite, or more than a tenth of the limit of the joint.
        UnknownNameError: If the robot has no such joint.
    """
    check_known("joint", joint, f"robot '{robot.name}'", robot.joint_names)
    limit = float(effort_limits(robot)[robot.joint_names.index(joint)])
    limit = limit if np.isfinite(limit) else UNLIMITED
    effort = DEFAULT_SHARE * limit if effort is None else effort
    if not 0.0 < abs(effort) <= LARGEST_SHARE * limit:
        raise ArgumentError(
            f"--effort is {effort:g}; give at most {LARGEST_SHARE * limit:g} N m or N, a tenth of "
            f"the limit of joint '{joint}', and not zero"
        )
    return effort


class SignTest(GraphClient):
    """A node that pushes one joint and judges its motion.

    Args:
        context: Context of rclpy.
        namespace: Namespace of the arm.
        robot: The robot, whose joints are commanded in its order.
        topic: Topic of the commands; empty for that of the documents, or of the simulator, that a
            node subscribes to.
    """

    def __init__(self, context: Context, namespace: str, robot: Robot, topic: str = "") -> None:
        super().__init__(context, namespace)
        self._robot = robot
        self._states = JointReader("joint_states", robot.joint_names)
        self._came, self._fault = 0.0, ""
        self.node.create_subscription(JointState, "joint_states", self._on_state, STATE_QOS)
        self._commands = [
            self.node.create_publisher(Float64MultiArray, name, OUTPUT_QOS)
            for name in ([topic] if topic else [HARDWARE_TOPIC, COMMAND_TOPIC])
        ]
        self._command = self._commands[0]

    def _on_state(self, msg: JointState) -> None:
        try:
            if self._states.read(msg):
                self._came = time.monotonic()
        except RobotDynamicsError as error:
            self._fault = str(error)

    def check(self) -> str:
        """Check that states come, that a node takes commands, and that no other one gives them.

        Returns:
            Topic of the commands.

        Raises:
            RobotDynamicsError: If not.
        """

        def taken() -> list[Publisher]:
            return [each for each in self._commands if each.get_subscription_count()]

        names = [each.topic_name for each in self._commands]
        self._until(lambda: self._states.complete, "no joint_states of all joints come")
        self._until(taken, f"no node subscribes to {' or '.join(names)}")
        self._spin(DISCOVERY_S)
        if len(taken()) > 1:
            raise ArgumentError(
                f"nodes subscribe to {' and '.join(names)}; select one with --command-topic"
            )
        [self._command] = taken()
        topic: str = self._command.topic_name
        if others := other_publishers_of(self.node, [topic]):
            raise RobotDynamicsError(
                f"{', '.join(others)} commands the arm on {topic}; end it before a sign test"
            )
        return topic

    def push(self, joint: str, effort: float) -> str:
        """Push a joint until something moves, then let go; return the verdict.

        Raises:
            RobotDynamicsError: If the arm moves by itself, or if its states stop.
        """
        k = self._robot.joint_names.index(joint)
        with self._letting_go():
            start = self._states.position.copy()
            if (moved := self._first_moved(start, np.zeros(len(start)), WATCHED_S)) is not None:
                raise RobotDynamicsError(
                    f"joint '{self._robot.joint_names[moved]}' moves without effort; close its "
                    "brake, or support the arm"
                )
            tau = np.zeros(len(start))
            tau[k] = effort
            moved = self._first_moved(start, tau, RISING_S)
            displacement = self._states.position - start
        if moved is None:
            return (
                f"'{joint}' did not move under {effort:g}; activate the controller, open the brake "
                "of the joint, or raise --effort"
            )
        if moved != k:
            raise RobotDynamicsError(
                f"WRONG ORDER: the effort of '{joint}' moved '{self._robot.joint_names[moved]}' by "
                f"{displacement[moved]:+.3g}; correct the parameter joints of the controller"
            )
        if displacement[k] * effort < 0.0:
            raise RobotDynamicsError(
                f"WRONG SIGN: {effort:+g} N m or N moved '{joint}' by {displacement[k]:+.3g}; "
                "correct the sign of its effort or its position before anything else"
            )
        return f"right: {effort:+g} N m or N moved '{joint}' by {displacement[k]:+.3g} rad or m"

    def _first_moved(self, start: Array, tau: Array, seconds: float) -> int | None:
        """Let efforts rise from zero to tau; return the first joint that moves, or None."""
        begin = time.monotonic()
        while (passed := time.monotonic() - begin) < seconds:
            self._command.publish(effort_msg(tau * (passed / seconds)))
            self._spin(PERIOD_S)
            if self._fault:
                raise RobotDynamicsError(self._fault)
            if time.monotonic() - self._came > STATES_TIMEOUT_S:
                raise RobotDynamicsError(f"no joint_states for {STATES_TIMEOUT_S:g} s; let go")
            displacement, speed = (
                self._states.position - start,
                np.nan_to_num(self._states.velocity),
            )
            share = np.maximum(np.abs(displacement) / MOVED, np.abs(speed) / LARGEST_SPEED)
            if share.max() >= 1.0:
                return int(np.argmax(share))
        return None

    @contextmanager
    def _letting_go(self) -> Iterator[None]:
        """Command no effort at the end, also after an error."""
        before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        try:
            yield
        finally:
            signal.signal(signal.SIGTERM, before)
            for _ in range(10):  # a forward_command_controller keeps the last one
                self._command.publish(effort_msg(np.zeros(self._robot.dof)))
                self._spin(PERIOD_S)
