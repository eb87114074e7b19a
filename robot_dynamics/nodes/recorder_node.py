"""recorder_node: writes the topics of a robot and the efforts of its model into an MCAP file."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import InertiaStamped, WrenchStamped
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import serialize_message
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.nodes.ros.cdr import deserialized
from robot_dynamics.nodes.ros.load_messages import ToolLoad
from robot_dynamics.nodes.ros.messages import STATES, JointReader, MeasuredMotion
from robot_dynamics.nodes.ros.node_parameters import parameter
from robot_dynamics.nodes.runtime.robot_description import RobotParameters
from robot_dynamics.nodes.runtime.robot_node import RobotNode
from robot_dynamics.recordings.mcap_writer import McapWriter
from robot_dynamics.robot import urdf_text
from robot_dynamics.viewer.simulated_runs import SLOW_PERIOD_S, ModelTopics
from robot_dynamics.viewer.snapshot import Snapshot, tool_frame

TOPICS: tuple[tuple[str, type], ...] = (
    ("joint_states", JointState),
    ("reference", JointState),
    ("effort_command", Float64MultiArray),
    ("joint_command", JointState),
    ("joint_trajectory", JointTrajectory),
    ("joint_trajectory_with_effort", JointTrajectory),
    ("payload", InertiaStamped),
    ("wrench", WrenchStamped),
    ("/diagnostics", DiagnosticArray),
)
"""Topics that are recorded unchanged, beside robot_description."""

ALL_QOS = QoSProfile(depth=2000, reliability=ReliabilityPolicy.BEST_EFFORT)
"""Deep enough for a second of states at 2 kHz, and compatible with every publisher."""


@dataclass(frozen=True)
class RecorderParameters(RobotParameters):
    """Parameters of recorder_node."""

    file: str = parameter("", "MCAP file to write; must not exist yet", read_only=True)
    rate: float = parameter(
        100.0,
        "Rate at which messages are written into the file, Hz; a process that is killed loses "
        "those since the last write",
        low=2.0,
        high=1000.0,
        read_only=True,
    )
    efforts_by_cause: bool = parameter(
        True,
        "Record the efforts of the model by cause on efforts/*, 20 times a second",
        read_only=True,
    )
    transforms: bool = parameter(
        True,
        "Record the poses of links on /tf, and markers, from joint_states, 20 times a second",
        read_only=True,
    )

    def check(self) -> None:
        """See `RobotParameters.check`."""
        if not self.file.endswith(".mcap"):
            raise ArgumentError(f"parameter 'file' is '{self.file}'; name the .mcap to write")


class RecorderNode(RobotNode[RecorderParameters]):
    """Records from its activation until its cleanup."""

    NAME = "recorder_node"
    PARAMETERS = RecorderParameters

    def configure(self) -> None:
        """Create the file and open the topics."""
        super().configure()
        self._load = ToolLoad(self.robot, tool_frame(self.robot))
        dynamics = Dynamics(self.robot)
        dynamics.inverse(*np.zeros((3, self.robot.dof)))  # compiled before queues fill
        self._model_due = 0.0
        self._file = McapWriter(self.parameters.file)
        self._model = ModelTopics(self._file, dynamics, self.resolve_topic_name)
        self._taken = [(name, self._subscribed(name, kind), kind) for name, kind in TOPICS]
        self._channels = {name: self._channel(s.topic_name, kind) for name, s, kind in self._taken}
        self._states = MeasuredMotion(self.robot.joint_names)
        self._desired = JointReader("reference", self.robot.joint_names)
        self._motions = {"joint_states": self._states, "reference": self._desired}
        self._write_description()
        self.get_logger().info(f"recording to {self._file.path}")

    def _write_description(self) -> None:
        source = self._description.source
        text = source if source.lstrip().startswith("<") else urdf_text(source)
        channel = self._channel(self.resolve_topic_name("robot_description"), String)
        self._file.write(channel, time.time_ns(), serialize_message(String(data=text)))

    def _subscribed(self, topic: str, kind: type) -> Subscription:
        return self.create_subscription(
            kind, topic, lambda _: None, ALL_QOS, callback_group=self._fast, raw=True
        )

    def _channel(self, topic: str, kind: Any) -> int:
        package = kind.__module__.partition(".")[0]
        return self._file.channel(topic, f"{package}/msg/{kind.__name__}")

    def activate(self) -> None:
        """See `ManagedNode.activate`."""
        self.start_task(self._collect)

    def cleanup(self) -> None:
        """Close the file; see `ManagedNode.cleanup`."""
        self._file.close()
        super().cleanup()

    def _collect(self) -> None:
        """Write the messages since the last cycle."""
        for name, subscription, kind in self._taken:
            channel, handle = self._channels[name], subscription.handle
            last: deque[bytes] = deque(maxlen=STATES)
            while (taken := handle.take_message(kind, True)) is not None:
                self._file.write(
                    channel, taken[1]["received_timestamp"] or time.time_ns(), taken[0]
                )
                last.append(taken[0])
            self._update_model(name, kind, [*last])
        now = time.monotonic()
        if self._states.complete and now >= self._model_due:
            self._model_due = now + SLOW_PERIOD_S
            self._write_model()
        self._file.flush()

    def _update_model(self, name: str, kind: type, received: Sequence[bytes]) -> None:
        """Read state, reference and load, from which efforts by cause and markers are computed."""
        take = {"payload": self._load.take_payload, "wrench": self._load.take_wrench}
        try:
            if name in self._motions:
                for data in received:
                    self._motions[name].read(data)
            elif name in take and received:
                take[name](deserialized(name, received[-1], kind))
        except RobotDynamicsError as error:
            self.throttled_log.warn(name, error)

    def _write_model(self) -> None:
        """Write the poses of the links, markers, and the efforts of the model."""
        states, desired, load = self._states, self._desired, self._load
        q_d = desired.position if desired.complete else None
        now = Snapshot(
            0.0,
            states.position,
            states.qd,
            states.qdd,
            states.effort,
            q_d,
            load.payload,
            wrench=load.wrench,
        )
        if self.parameters.efforts_by_cause:
            self._model.write_causes(now, states.stamp, time.time_ns())
        if self.parameters.transforms:
            self._model.write_places(now, states.stamp, time.time_ns())
