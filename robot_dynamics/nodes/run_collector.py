"""Collector of one run in memory, for programs that compose nodes: demo, tests and benchmarks.

It is no executable: `recorder_node` writes files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

from robot_dynamics.control import continuous_joints, effort_limits
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.units import NS_PER_S
from robot_dynamics.nodes.ros.messages import JointReader
from robot_dynamics.nodes.ros.node_parameters import parameter
from robot_dynamics.nodes.runtime.robot_node import LoopParameters, RobotNode
from robot_dynamics.simulation import Log

COLLECTOR_QOS = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)
"""Deep enough for all messages between two cycles."""


@dataclass(frozen=True)
class RunCollectorParameters(LoopParameters):
    """Parameters of a RunCollector."""

    rate: float = parameter(
        200.0, "How often messages are collected, Hz", low=1.0, high=10000.0, read_only=True
    )


class Rows:
    """Rows of numbers in a buffer that doubles when it is full.

    Args:
        width: Numbers per row.
    """

    def __init__(self, width: int) -> None:
        self._data = np.empty((4096, width))
        self._count = 0

    def append(self, *parts: Any) -> None:
        """Add one row, given in parts."""
        if self._count == len(self._data):
            self._data = np.concatenate((self._data, np.empty_like(self._data)))
        row, at = self._data[self._count], 0
        for part in parts:
            size = np.size(part)
            row[at : at + size] = part
            at += size
        self._count += 1

    def clear(self) -> None:
        """Drop all rows."""
        self._count = 0

    @property
    def array(self) -> Array:
        """All rows so far, a copy."""
        return self._data[: self._count].copy()


class RunCollector(RobotNode[RunCollectorParameters]):
    """Collects `reference` and `joint_states` between `start` and `stop`."""

    NAME = "run_collector"
    PARAMETERS = RunCollectorParameters

    def configure(self) -> None:
        """Open the topics."""
        super().configure()
        self.joints, n = self.robot.joint_names, self.robot.dof
        self._limit = effort_limits(self.robot)
        self._states = JointReader("joint_states", self.joints, ("position", "velocity"))
        self._reference = JointReader("reference", self.joints, ("position", "velocity"))
        self._measured, self._desired = Rows(1 + 3 * n), Rows(1 + 2 * n)
        self._epoch = 0
        self._collecting = False
        self._inputs = [
            self.create_loop_subscriber(
                JointState, "joint_states", self._on_joint_states, COLLECTOR_QOS
            ),
            self.create_loop_subscriber(JointState, "reference", self._on_reference, COLLECTOR_QOS),
        ]
        for subscriber in self._inputs:
            subscriber.keep(False)

    def start(self) -> None:
        """Drop the last run and collect from now on."""
        self._collecting = False
        self.loop.remove(self.task)
        for subscriber in self._inputs:
            subscriber.take()  # drop what came before the run
            subscriber.keep(True)
        self._measured.clear()
        self._desired.clear()
        self._epoch = self.get_clock().now().nanoseconds
        self._collecting = True
        self.loop.add(self.task, self.parameters.rate, lambda: None, inputs=self._inputs)

    def stop(self) -> Log:
        """Stop collecting, and interpolate desired values at the times of the measured ones.

        Raises:
            RobotDynamicsError: If fewer than two messages of a topic were received.
        """
        self._collecting = False
        self.loop.remove(self.task)
        for subscriber in self._inputs:
            subscriber.keep(False)
        measured, desired = self._measured.array, self._desired.array
        if len(measured) < 2 or len(desired) < 2:
            raise RobotDynamicsError(
                f"recorded {len(measured)} joint_states and {len(desired)} references; "
                "are simulator_node, feedforward_node and their topics connected?"
            )
        n = len(self.joints)
        covered = (measured[:, 0] >= desired[0, 0]) & (measured[:, 0] <= desired[-1, 0])
        measured = measured[covered]
        t, q, qd, tau = np.split(measured, (1, 1 + n, 1 + 2 * n), axis=1)
        on_time = [np.interp(t[:, 0], desired[:, 0], column) for column in desired[:, 1:].T]
        q_d, qd_d = np.split(np.array(on_time).T, 2, axis=1)
        return Log(
            joint_names=self.joints,
            t=t[:, 0],
            q=q,
            qd=qd,
            q_d=q_d,
            qd_d=qd_d,
            tau=tau,
            saturated=np.abs(tau) >= self._limit,
            continuous=continuous_joints(self.robot),
        )

    def _on_joint_states(self, msg: JointState) -> None:
        states = self._states
        if self._read(states, msg) and states.complete:
            self._measured.append(
                self._seconds(states), states.position, states.velocity, states.effort
            )

    def _on_reference(self, msg: JointState) -> None:
        reference = self._reference
        if self._read(reference, msg) and reference.complete:
            self._desired.append(self._seconds(reference), reference.position, reference.velocity)

    def _read(self, reader: JointReader, msg: JointState) -> bool:
        if not self._collecting:
            return False
        try:
            return reader.read(msg)
        except RobotDynamicsError as error:
            self.throttled_log.warn(reader.topic, error)
            return False

    def _seconds(self, reader: JointReader) -> float:
        return (reader.stamp - self._epoch) / NS_PER_S
