"""Rehearsal: the motions and faults of the first day, and what an observer measures of them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

import numpy as np
from rclpy.context import Context
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics.control.rest import Rest
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.units import NS_PER_S
from robot_dynamics.nodes.composition import own_domain
from robot_dynamics.nodes.observed_motion import STARVED_S, ObservedMotion
from robot_dynamics.nodes.ros.graph_client import GraphClient, joined
from robot_dynamics.nodes.ros.messages import JointReader
from robot_dynamics.nodes.ros.topics import STATE_QOS
from robot_dynamics.nodes.ros.transport import REACH
from robot_dynamics.nodes.runtime.machine import longest_wait, waiting_times
from robot_dynamics.robot import Robot
from robot_dynamics.trajectory import Waypoints

START_S = 60.0
"""Time limit for the nodes to compile and to find each other, s."""

STANDS = 1e-3
"""Largest velocity of a reference that stands, rad/s or m/s."""

LARGEST_DRIFT = 0.05
"""Largest distance between the beginning and the end of a step that ends at rest, rad or m."""

STOP_S = 1.0
"""Duration of the motion that stops the arm where it is, s."""

LATE_S = 10.0
"""Longest wait for the end of a motion after its time, s."""

SILENT_S = 0.5
"""Time without references after which no motion is desired, s."""

WATCHED_S = 3.0
"""Time for which the arm is watched after each step, s."""


@dataclass(frozen=True)
class RehearsalStep:
    """A step of a rehearsal.

    Args:
        name: What was done.
        speed: Largest speed of a joint, rad/s or m/s.
        error: Largest tracking error of a joint, rad or m.
        drift: Largest motion of a joint over the last seconds, rad or m.
        silence: Longest time between two commands, s.
        waited: Longest time for which a node waited for a processor in all, s.
        fault: Why the step failed; empty if it did not.
    """

    name: str
    speed: float
    error: float
    drift: float
    silence: float
    waited: float
    fault: str


class Observer(GraphClient):
    """A node that measures how an arm moves.

    Args:
        context: Context of rclpy.
        robot: The robot.
        pids: Returns the processes of the nodes.

    Attributes:
        domain: ROS domain.
        commanded: Whether a command has come.
    """

    def __init__(self, context: Context, robot: Robot, pids: Callable[[], Sequence[int]]) -> None:
        super().__init__(context, "")
        self.domain = context.get_domain_id()
        self.commanded = False
        self._pids, self._motion = pids, ObservedMotion(robot)
        names = robot.joint_names
        self._state = JointReader("joint_states", names, ("position", "velocity"))
        self._desired = JointReader("reference", names, ("position", "velocity"))
        self._rest = Rest()
        node = self.node
        node.create_subscription(JointState, "joint_states", self._on_state, STATE_QOS)
        node.create_subscription(JointState, "reference", self._on_reference, STATE_QOS)
        node.create_subscription(Float64MultiArray, "effort_command", self._on_command, STATE_QOS)
        self._last_reference = -np.inf

    def _on_state(self, msg: JointState) -> None:
        if not (self._state.read(msg) and self._state.complete):
            return
        self._rest.feed(self._state.stamp / NS_PER_S, self._state.position)
        state = self._state
        self._motion.add_state(state.stamp, state.position, state.velocity)

    def _on_reference(self, msg: JointState) -> None:
        desired = self._desired
        if desired.read(msg) and desired.complete:
            self._motion.add_reference(desired.stamp, desired.position, desired.velocity)
        self._last_reference = time.monotonic()

    def _on_command(self, _: Float64MultiArray) -> None:
        self._motion.add_command(time.monotonic())
        self.commanded = True

    @property
    def q(self) -> Array:
        """Return the measured positions, shape (n,), rad or m."""
        return np.array(self._state.position)

    def wait(self, done: Callable[[], object], what: str) -> None:
        """Wait for an event.

        Raises:
            RobotDynamicsError: If it takes too long.
        """
        self._spin(START_S, done)
        if not done():
            raise RobotDynamicsError(f"rehearsal: no {what} within {START_S:.0f} s; see the log")

    def _led_to(self, end: Array | None) -> bool:
        """Return whether motion is at rest, and the desired one at its end if that is given."""
        there = end is None or np.abs(self._desired.position - end).max() < LARGEST_DRIFT
        return self.rested() and bool(there)

    def rested(self) -> bool:
        """Return whether the measured motion is at rest, and the desired one while there is one."""
        silent = time.monotonic() - self._last_reference > SILENT_S
        return self._rest.lasts and bool(silent or np.abs(self._desired.velocity).max() < STANDS)

    def step(
        self, name: str, act: Callable[[], None], *, ends_at: Array | None = None, seconds: float
    ) -> RehearsalStep:
        """Do something, watch the arm, and judge how it ended.

        Args:
            name: What is done.
            act: Does it.
            ends_at: Where the arm is to end, shape (n,), rad or m; by default anywhere at rest.
            seconds: Time for which the arm moves; on a busy machine it may begin later, s.
        """
        waited = waiting_times(self._pids())
        self._motion.begin(time.monotonic())
        act()
        self._spin(seconds)
        self._spin(LATE_S, lambda: self._led_to(ends_at))
        before = self.q
        self._spin(WATCHED_S)
        drift = float(np.abs(self.q - before).max())
        now, motion = time.monotonic(), self._motion
        starved = longest_wait(waited, waiting_times(self._pids()))
        if not self.rested():
            fault = "the arm does not come to rest"
        elif drift > LARGEST_DRIFT:
            fault = "the arm drifts"
        elif ends_at is not None and np.abs(self.q - ends_at).max() > LARGEST_DRIFT:
            fault = "the arm does not arrive"
        else:
            fault = motion.fault(now)
        if fault and starved > STARVED_S:
            slow = f"the machine is too slow: a node waited {starved:.2f} s for a processor"
            fault = f"{fault}; {slow}"
        return RehearsalStep(
            name, motion.speed, motion.error, drift, motion.silence(now), starved, fault
        )

    def pause(self, seconds: float) -> None:
        """Measure the arm for a while."""
        self._spin(seconds)

    def stop(self) -> None:
        """Send the motion that stops the arm where it is."""
        here = self.q[None]
        self.move(Waypoints(self._state.joint_names, np.array([STOP_S]), here))


def observer(robot: Robot, pids: Callable[[], Sequence[int]]) -> AbstractContextManager[Observer]:
    """Join a ROS domain of this process, on this machine only."""
    os.environ.setdefault(REACH, "LOCALHOST")
    return joined(lambda context: Observer(context, robot, pids), own_domain())
