"""ReferenceRefusals: reasons for which controllers do not follow the reference.

A subscription says little: an inactive controller keeps its own, and recorders subscribe as well.
So controller_node publishes its reason on a latched topic.
"""

from __future__ import annotations

from diagnostic_msgs.msg import KeyValue

from robot_dynamics.errors import TrajectoryError
from robot_dynamics.nodes.feedforward.feedforward_parameters import FeedforwardParameters
from robot_dynamics.nodes.ros.messages import UNFOLLOWED_TOPIC
from robot_dynamics.nodes.ros.topics import ANNOUNCEMENT_QOS, UNKNOWN_NODE
from robot_dynamics.nodes.runtime.robot_node import RobotNode


class ReferenceRefusals:
    """Collects the reasons of the controllers; all in the executor's thread.

    Args:
        node: The node that publishes the reference.

    Attributes:
        refusal: Reason for which the reference moves no joint; empty if it does, as far as is
            known. Read by any thread.
    """

    def __init__(self, node: RobotNode[FeedforwardParameters]) -> None:
        self.refusal = ""
        self._node, self._reasons = node, dict[str, str]()
        self._topic = node.create_subscription(
            KeyValue, UNFOLLOWED_TOPIC, self._on_reason, ANNOUNCEMENT_QOS
        ).topic_name

    def check(self) -> None:
        """Check that the reference is followed.

        Raises:
            TrajectoryError: If a present controller refuses it.
        """
        self.refusal = self._first_reason()
        if self.refusal:
            raise TrajectoryError(f"the reference is not followed: {self.refusal}")

    def _on_reason(self, msg: KeyValue) -> None:
        self._reasons[msg.key] = msg.value
        self.refusal = self._first_reason()

    def _first_reason(self) -> str:
        """Return the first reason of a present node; empty if there is none.

        A joint_trajectory_controller (hold_with_effort) needs no reference.
        """
        found = [(name, reason) for name, reason in self._reasons.items() if reason]
        if not found or self._node.parameters.hold_with_effort:
            return ""
        infos = self._node.get_publishers_info_by_topic(self._topic)
        present = {info.node_name for info in infos}
        for name, reason in found:
            if name in present or UNKNOWN_NODE in present:
                return f"{name}: {reason}"
        return ""
