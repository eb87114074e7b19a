"""ObserverNode: base class of nodes that show a measured robot beside its reference."""

from __future__ import annotations

from time import monotonic
from typing import TypeVar

import numpy as np
from geometry_msgs.msg import InertiaStamped, WrenchStamped
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

from robot_dynamics.foundation.units import NS_PER_S
from robot_dynamics.nodes.ros.load_messages import ToolLoad
from robot_dynamics.nodes.ros.messages import STATES, JointReader, MeasuredMotion
from robot_dynamics.nodes.ros.topics import COMMAND_QOS, TRAJECTORY_QOS
from robot_dynamics.nodes.runtime.robot_description import RobotParameters
from robot_dynamics.nodes.runtime.robot_node import RobotNode
from robot_dynamics.robot import Robot
from robot_dynamics.viewer.snapshot import Snapshot, tool_frame

P = TypeVar("P", bound=RobotParameters)

STATES_QOS = QoSProfile(depth=STATES, reliability=ReliabilityPolicy.BEST_EFFORT)

SILENCE_S = 1.0
"""Time without joint_states after which the robot counts as not running, s."""


class ObserverNode(RobotNode[P]):
    """Reads the motion of a robot, its reference and its load; commands nothing."""

    def configure(self) -> None:
        """See `RobotNode.configure`: create the inputs too."""
        super().configure()
        self._states = MeasuredMotion(self.robot.joint_names)
        self._desired = JointReader("reference", self.robot.joint_names)
        self._load = ToolLoad(self.robot, tool_frame(self.robot))
        self._epoch, self._received_at = 0, -np.inf
        self._inputs = [
            self.create_loop_subscriber(JointState, "joint_states", self._on_state, STATES_QOS),
            self.create_loop_subscriber(JointState, "reference", self._desired.read, COMMAND_QOS),
            self.create_loop_subscriber(WrenchStamped, "wrench", self._on_wrench, COMMAND_QOS),
        ]
        self.create_subscription(InertiaStamped, "payload", self._on_payload, TRAJECTORY_QOS)

    def update_robot(self, robot: Robot) -> None:
        """See `RobotNode.update_robot`."""
        self._load = ToolLoad(robot, tool_frame(robot))

    def _on_state(self, data: bytes) -> None:
        if self._states.read(data):
            self._received_at = monotonic()

    def _on_payload(self, msg: InertiaStamped) -> None:
        self._load.take_payload(msg)

    def _on_wrench(self, msg: WrenchStamped) -> None:
        self._load.take_wrench(msg)

    @property
    def driven(self) -> bool:
        """Return whether joint_states arrive."""
        return self._states.complete and monotonic() - self._received_at < SILENCE_S

    def _measured(self) -> Snapshot:
        """Return the measured state of the robot."""
        states, desired = self._states, self._desired
        self._epoch = self._epoch or states.stamp
        return Snapshot(
            (states.stamp - self._epoch) / NS_PER_S,
            states.position.copy(),
            states.qd,
            states.qdd,
            states.effort.copy(),
            desired.position.copy() if desired.complete else None,
            self._load.payload,
            wrench=self._load.wrench,
        )
