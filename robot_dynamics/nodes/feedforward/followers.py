"""Followers: who is to move the arm by the reference, and why that one does not do so now.

A subscription says little: that of a controller which is not active stays, and whoever records
listens as well. So controller_node tells, and keeps telling whoever comes later.
"""

from __future__ import annotations

from diagnostic_msgs.msg import KeyValue

from robot_dynamics.errors import TrajectoryError
from robot_dynamics.nodes.feedforward.feedforward_parameters import FeedforwardParameters
from robot_dynamics.nodes.ros.graph import UNKNOWN_NODE
from robot_dynamics.nodes.ros.messages import UNFOLLOWED_TOPIC
from robot_dynamics.nodes.ros.qos import ANNOUNCEMENT_QOS
from robot_dynamics.nodes.runtime.robot_node import RobotNode


class Followers:
    """Hears from the nodes that follow the reference; all in the executor's thread.

    Args:
        node: The node that publishes the reference.

    Attributes:
        refusal: Why the reference moves no joint; empty if it does, as far as is known. Read by
            any thread.
    """

    def __init__(self, node: RobotNode[FeedforwardParameters]) -> None:
        self.refusal = ""
        self._node, self._reasons = node, dict[str, str]()
        self._topic = node.create_subscription(
            KeyValue, UNFOLLOWED_TOPIC, self._on_told, ANNOUNCEMENT_QOS
        ).topic_name

    def check(self) -> None:
        """See that the reference is followed.

        Raises:
            TrajectoryError: If somebody is there to follow it, and says why not now.
        """
        self._choose()
        if self.refusal:
            raise TrajectoryError(f"the reference is not followed: {self.refusal}")

    def _on_told(self, msg: KeyValue) -> None:
        self._reasons[msg.key] = msg.value
        self._choose()

    def _choose(self) -> None:
        """Take the first reason of a node that is still there, unless another one follows anyway.

        That is a joint_trajectory_controller, which needs no reference.
        """
        found = [(who, why) for who, why in self._reasons.items() if why]
        if found and not self._node.parameters.hold_with_effort:
            infos = self._node.get_publishers_info_by_topic(self._topic)
            there = {info.node_name for info in infos}
            for who, why in found:
                if who in there or UNKNOWN_NODE in there:
                    self.refusal = f"{who}: {why}"
                    return
        self.refusal = ""
