"""ConflictingPublishers: other nodes that publish states of the same joints.

Subscribers of joint_states would get the states of two publishers by turns. But nodes of other
joints, such as a gripper and its arm, may share a topic, and the middleware lists a killed
publisher for 20 s. So the messages of other publishers are read until all are known to name other
joints.
"""

from __future__ import annotations

from collections.abc import Sequence

from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState

from robot_dynamics.nodes.ros.messages import nanoseconds
from robot_dynamics.nodes.ros.topics import other_publishers_of
from robot_dynamics.nodes.runtime.loop_topics import LoopCallbackGroup, LoopSubscriber

SAMPLE_QOS = QoSProfile(depth=200, reliability=ReliabilityPolicy.BEST_EFFORT)
"""Depth of the samples: a fifth of a second of our own messages at 1 kHz."""


class ConflictingPublishers:
    """Finds nodes whose messages name the joints of this node.

    Args:
        node: This node.
        topic: Its topic of JointState, resolved.
        joints: Names in its messages.

    Attributes:
        sampling: Whether to call `note_own` for every message of this node.
        found: Fully qualified names of the other publishers, once one of them has published a
            state of the same joints.
    """

    def __init__(self, node: Node, topic: str, joints: Sequence[str]) -> None:
        self.sampling = False
        self.found: tuple[str, ...] = ()
        self._node, self._topic, self._joints = node, topic, frozenset(joints)
        self._publishers: list[str] = []
        self._of_others: set[tuple[str, ...]] = set()  # lists of other joints
        self._group = LoopCallbackGroup()  # keeps our own messages out of the executor
        self._messages: Subscription | None = None
        self._own: set[int] | None = None  # stamps of own messages still to come back
        self._foreign = False  # whether another node published our joints

    def note_own(self, stamp: int) -> None:
        """Note the stamp of an own message, ns, before it is published; from any thread."""
        if (own := self._own) is not None:
            if len(own) > SAMPLE_QOS.depth:
                own.clear()
            own.add(stamp)

    def update(self) -> None:
        """Read new messages and update `found`; log a warning when it is no longer empty."""
        publishers = other_publishers_of(self._node, [self._topic])
        if publishers != self._publishers:
            self._publishers, self.found = publishers, ()
            self._of_others.clear()
            self._sample(bool(publishers))
        elif self._messages is not None:
            LoopSubscriber(self._messages).take()
            before, self.found = self.found, ()
            if len(self._of_others) >= len(publishers):
                self._sample(False)
            if not self._foreign:
                return
            me = self._node.get_fully_qualified_name()
            self.found = tuple(f"another {name}" if name == me else name for name in publishers)
            if not before:
                self._node.get_logger().warning(self.line)

    @property
    def line(self) -> str:
        """Fault and remedy."""
        return (
            f"{', '.join(self.found)} publishes {self._topic} too; if it moves the same joints, "
            "stop one of the nodes, or give each robot a namespace"
        )

    def _sample(self, on: bool) -> None:
        self._own, self._foreign = set() if on else None, False
        self.sampling = on
        if self._messages is not None and not on:
            self._node.destroy_subscription(self._messages)
            self._messages = None
        elif self._messages is None and on:
            self._messages = self._node.create_subscription(
                JointState, self._topic, self._on_message, SAMPLE_QOS, callback_group=self._group
            )

    def _on_message(self, msg: JointState) -> None:
        if self._joints.isdisjoint(msg.name):
            self._of_others.add(tuple(msg.name))
            return
        stamp = nanoseconds(msg.header.stamp)
        if self._own is None or stamp not in self._own:
            self._foreign = True
        else:
            self._own.discard(stamp)
