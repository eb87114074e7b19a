"""ConflictingPublishers: other nodes that publish the states of the same joints.

Whoever reads two robots of the same joints gets the states of both by turns. But a topic is also
shared by nodes of other joints, such as a gripper and the arm that carries it, and for 20 s the
middleware lists publishers whose process was killed. So while there is another publisher, its
messages are looked at, until every one is known to be of other joints.
"""

from __future__ import annotations

from collections.abc import Sequence

from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState

from robot_dynamics.nodes.ros.graph import other_publishers_of
from robot_dynamics.nodes.ros.messages import nanoseconds
from robot_dynamics.nodes.runtime.exchange import Inlet
from robot_dynamics.nodes.runtime.loop import LoopCallbackGroup

SAMPLE_QOS = QoSProfile(depth=200, reliability=ReliabilityPolicy.BEST_EFFORT)
"""As many messages are looked at each time: at 1 kHz of our own a fifth of a second."""


class ConflictingPublishers:
    """Says which nodes publish the same joints as we do, as far as their messages tell.

    Args:
        node: Our node.
        topic: What it publishes JointState on, resolved.
        joints: The names in its messages.

    Attributes:
        listens: Whether the stamps of our own messages are worth noting.
        found: The nodes, fully qualified, once one of them has published a state of our joints.
    """

    def __init__(self, node: Node, topic: str, joints: Sequence[str]) -> None:
        self.listens = False
        self.found: tuple[str, ...] = ()
        self._node, self._topic, self._joints = node, topic, frozenset(joints)
        self._publishers: list[str] = []
        self._of_others: set[tuple[str, ...]] = set()  # lists of names without one of ours
        self._group = LoopCallbackGroup()  # no executor is to spend its time on messages of our own
        self._messages: Subscription | None = None
        self._own: set[int] | None = None  # stamps of ours that have not come back, while we listen
        self._foreign = False  # whether a message of our joints was not ours

    def note_own(self, stamp: int) -> None:
        """Note the stamp of a message, ns, that our node is about to publish; from any thread."""
        if (own := self._own) is not None:
            if len(own) > SAMPLE_QOS.depth:
                own.clear()
            own.add(stamp)

    def look(self) -> None:
        """Look again, now and then; warns on the log of nodes that were not there before."""
        publishers = other_publishers_of(self._node, [self._topic])
        if publishers != self._publishers:
            self._publishers, self.found = publishers, ()
            self._of_others.clear()
            self._listen(bool(publishers))
        elif self._messages is not None:
            Inlet(self._messages).take()
            before, self.found = self.found, ()
            if len(self._of_others) >= len(publishers):
                self._listen(False)
            if not self._foreign:
                return
            me = self._node.get_fully_qualified_name()
            self.found = tuple(f"another {name}" if name == me else name for name in publishers)
            if not before:
                self._node.get_logger().warning(self.line)

    @property
    def line(self) -> str:
        """What is wrong, and what to do."""
        return (
            f"{', '.join(self.found)} publishes {self._topic} too; if it moves the same joints, "
            "stop one of us, or give each robot a namespace"
        )

    def _listen(self, on: bool) -> None:
        self._own, self._foreign = set() if on else None, False
        self.listens = on
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
