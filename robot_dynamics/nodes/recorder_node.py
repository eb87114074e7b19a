"""recorder_node: writes the topics of a robot and the efforts of its model into an MCAP file."""

from __future__ import annotations

import sys
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
from robot_dynamics.nodes.ros.joint_values import JointValues
from robot_dynamics.nodes.ros.load_messages import ToolLoad
from robot_dynamics.nodes.ros.message_bytes import JointStateReader, JointStateWriter, deserialized
from robot_dynamics.nodes.ros.messages import STATES, MeasuredMotion
from robot_dynamics.nodes.ros.node_parameters import parameter
from robot_dynamics.nodes.runtime.process import run
from robot_dynamics.nodes.runtime.robot_description import RobotParameters
from robot_dynamics.nodes.runtime.robot_node import RobotNode
from robot_dynamics.recordings.mcap_writer import McapWriter
from robot_dynamics.recordings.simulated_runs import (
    SLOW_PERIOD_S,
    TF_TOPIC,
    TF_TYPE,
    LinkTransforms,
)
from robot_dynamics.robot import urdf_text
from robot_dynamics.viewer.effort_causes import CAUSE_TOPICS, EffortSplitter
from robot_dynamics.viewer.snapshot import Snapshot, tool_frame

TOPICS: tuple[tuple[str, type], ...] = (
    ("joint_states", JointState),
    ("reference", JointState),
    ("effort_command", Float64MultiArray),
    ("effort_command_named", JointState),
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
        "Record the poses of links from joint_states on /tf, 20 times a second",
        read_only=True,
    )


class RecorderNode(RobotNode[RecorderParameters]):
    """Records from its activation until its cleanup."""

    NAME = "recorder_node"
    PARAMETERS = RecorderParameters

    def check(self, value: RecorderParameters) -> None:
        """See `RobotNode.check`."""
        if not value.file.endswith(".mcap"):
            raise ArgumentError(f"parameter 'file' is '{value.file}'; name the .mcap to write")

    def configure(self) -> None:
        """Create the file and open the topics."""
        super().configure()
        frame = tool_frame(self.robot)
        self._load = ToolLoad(self.robot, frame)
        self._splitter = EffortSplitter(self.robot, Dynamics(self.robot), frame)
        if self.parameters.efforts_by_cause:  # compiled before subscriptions fill their queues
            self._splitter.split(Snapshot(0.0, *np.zeros((4, self.robot.dof))))
        self._model_due = 0.0
        self._file = McapWriter(self.parameters.file)
        self._taken = [(self._subscribed(name, kind), kind) for name, kind in TOPICS]
        self._channels = {id(s): self._channel(s.topic_name, kind) for s, kind in self._taken}
        self._states = MeasuredMotion(self.robot.joint_names)
        self._write_state = JointStateWriter()
        self._state_reader = JointStateReader("joint_states")
        self._causes = [
            self._channel(self.resolve_topic_name(f"efforts/{name}"), JointState)
            for name in CAUSE_TOPICS
        ]
        self._links = LinkTransforms(self.robot)
        self._tf = self._file.channel(TF_TOPIC, TF_TYPE)
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
        for subscription, kind in self._taken:
            channel, handle = self._channels[id(subscription)], subscription.handle
            last: deque[bytes] = deque(maxlen=STATES)
            while (taken := handle.take_message(kind, True)) is not None:
                self._file.write(
                    channel, taken[1]["received_timestamp"] or time.time_ns(), taken[0]
                )
                last.append(taken[0])
            self._update_model(kind, subscription is self._taken[0][0], [*last])
        now = time.monotonic()
        if self._states.complete and now >= self._model_due:
            self._model_due = now + SLOW_PERIOD_S
            self._write_model()
        self._file.flush()

    def _update_model(self, kind: type, of_states: bool, received: Sequence[bytes]) -> None:
        """Read the state and the load from which efforts by cause are computed."""
        take = {InertiaStamped: self._load.take_payload, WrenchStamped: self._load.take_wrench}
        try:
            if of_states:
                for data in received:
                    self._states.read(self._state_reader(data))
            elif kind in take and received:
                take[kind](deserialized(kind.__name__, received[-1], kind))
        except RobotDynamicsError as error:
            self.throttled_log.warn("joint_states" if of_states else kind.__name__, error)

    def _serialized(self, values: JointValues) -> bytes:
        # rclpy alone would leave bytes behind the end of a message
        message = self._write_state(values)
        return message if isinstance(message, bytes) else bytes(serialize_message(message))

    def _write_model(self) -> None:
        """Write the poses of the links, and the efforts of the model."""
        if self.parameters.efforts_by_cause:
            self._write_causes()
        if self.parameters.transforms:
            links = self._links.message(self._states.stamp, self._states.position)
            self._file.write(self._tf, time.time_ns(), links)

    def _write_causes(self) -> None:
        states = self._states
        q, qd, qdd, load = states.position, states.qd, states.qdd, self._load
        now = Snapshot(0.0, q, qd, qdd, states.effort, payload=load.payload, wrench=load.wrench)
        causes = self._splitter.split(now).by_cause
        for channel, effort in zip(self._causes, causes, strict=True):
            values = JointValues.of_efforts(states.joint_names, states.stamp, effort)
            self._file.write(channel, time.time_ns(), self._serialized(values))


def main(args: list[str] | None = None) -> None:
    """Run the node."""
    sys.exit(run(RecorderNode, args=args))


if __name__ == "__main__":
    main()
