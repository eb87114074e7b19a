"""ConflictingPublishers: several nodes that publish states of the same joints.

Subscribers of joint_states would get the states of both by turns. But nodes of other joints, such
as a gripper and its arm, may share a topic, and the middleware lists a killed publisher for 20 s.
So messages are read until as many publishers as are listed name different joints: the numbers that
a publisher gives to its messages only grow, and those of two publishers go back by turns.
"""

from __future__ import annotations

from collections.abc import Sequence

from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState

from robot_dynamics.nodes.ros.topics import publishers_of
from robot_dynamics.nodes.runtime.loop_topics import LoopCallbackGroup

SAMPLE_QOS = QoSProfile(depth=200, reliability=ReliabilityPolicy.BEST_EFFORT)
"""Depth of the samples: a fifth of a second of messages at 1 kHz."""

TURNS = 2
"""Times that the numbers of messages go back, of two publishers; once it is a node that starts
again."""


class ConflictingPublishers:
    """Finds nodes whose messages name the same joints.

    It needs the numbers of messages, which Fast DDS gives; without them it finds none.

    Args:
        node: Node that publishes or receives the states.
        topic: Topic of JointState, resolved.
        joints: Names of its joints.

    Attributes:
        found: Fully qualified names of the publishers of the topic, once two of them have published
            states of the same joints.
    """

    def __init__(self, node: Node, topic: str, joints: Sequence[str]) -> None:
        self.found: list[str] = []
        self._node, self._topic, self._joints = node, topic, frozenset(joints)
        self._publishers: list[str] = []
        self._lists: set[tuple[str, ...]] = set()  # of joints, in the messages
        self._group = LoopCallbackGroup()  # keeps the messages out of the executor
        self._messages: Subscription | None = None

    def update(self) -> None:
        """Read new messages and update `found`; log a warning when it is no longer empty."""
        publishers = publishers_of(self._node, [self._topic])
        if publishers != self._publishers:
            self._publishers, self.found = publishers, []
            self._number = self._turns = 0
            self._lists.clear()
        unsure = max(len(self._lists), 1) < len(publishers) and not self.found
        if self._messages is not None and not unsure:
            self._node.destroy_subscription(self._messages)
            self._messages = None
        elif self._messages is None and unsure:
            self._messages = self._node.create_subscription(
                JointState, self._topic, print, SAMPLE_QOS, callback_group=self._group
            )
        if self._messages is not None:
            self._read(self._messages)
            if self._turns >= TURNS:
                self.found = publishers
                self._node.get_logger().warning(self.line)

    @property
    def line(self) -> str:
        """Fault and remedy."""
        return (
            f"{', '.join(self.found)} publish {self._topic}, two of them the same joints; stop all "
            "but one of these, or give each robot a namespace"
        )

    def _read(self, messages: Subscription) -> None:
        while (taken := messages.handle.take_message(JointState, False)) is not None:
            message, info = taken
            number = info["publication_sequence_number"]
            self._lists.add(tuple(message.name))
            if number is not None and not self._joints.isdisjoint(message.name):
                self._turns += number <= self._number
                self._number = number
