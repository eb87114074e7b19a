"""Collector of one run in memory, for programs that compose nodes: demo, tests and benchmarks.

It is no executable: `recorder_node` writes files.
"""

from __future__ import annotations

from dataclasses import dataclass

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


class RunCollector(RobotNode[RunCollectorParameters]):
    """Collects `reference` and `joint_states` between `start` and `stop`."""

    NAME = "run_collector"
    PARAMETERS = RunCollectorParameters

    def configure(self) -> None:
        """Open the topics."""
        super().configure()
        self.joints = self.robot.joint_names
        self._limit = effort_limits(self.robot)
        self._states = JointReader("joint_states", self.joints, ("position", "velocity"))
        self._reference = JointReader("reference", self.joints, ("position", "velocity"))
        self._measured: list[Array] = []  # time, positions, velocities and efforts
        self._desired: list[Array] = []  # time, positions and velocities
        self._epoch = 0
        self._inputs = [
            self.create_loop_subscriber(
                JointState, "joint_states", self._on_joint_states, COLLECTOR_QOS
            ),
            self.create_loop_subscriber(JointState, "reference", self._on_reference, COLLECTOR_QOS),
        ]

    def start(self) -> None:
        """Drop the last run and collect from now on."""
        self.loop.remove(self.task)
        for subscriber in self._inputs:
            subscriber.discard()  # what came before the run
        self._measured.clear()
        self._desired.clear()
        self._epoch = self.get_clock().now().nanoseconds
        self.loop.add(self.task, self.parameters.rate, lambda: None, inputs=self._inputs)

    def stop(self) -> Log:
        """Stop collecting, and interpolate desired values at the times of the measured ones.

        Raises:
            RobotDynamicsError: If fewer than two messages of a topic were received.
        """
        self.loop.remove(self.task)
        measured, desired = np.array(self._measured), np.array(self._desired)
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

    def _on_joint_states(self, data: bytes) -> None:
        states = self._states
        if states.read(data) and states.complete:
            self._measured.append(np.append(self._seconds(states), states.values))

    def _on_reference(self, data: bytes) -> None:
        reference = self._reference
        if reference.read(data) and reference.complete:
            self._desired.append(np.append(self._seconds(reference), reference.values[:2]))

    def _seconds(self, reader: JointReader) -> float:
        return (reader.stamp - self._epoch) / NS_PER_S
