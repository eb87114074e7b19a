"""Agreement of the models of two nodes: gravity and payload, compared on a latched topic.

feedforward_node adds gravity to the efforts of the reference, and controller_node watches, holds
and judges the arm by its own. If they are not set alike, the arm sags, and nothing else shows why.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue

from robot_dynamics.nodes.ros.topics import ANNOUNCEMENT_QOS, DESCRIPTION_QOS, publishers_of
from robot_dynamics.nodes.runtime.online_model import OnlineModel
from robot_dynamics.nodes.runtime.robot_node import RobotNode

MODEL_TOPIC = "reference/model"
"""Gravity and payload in the efforts of the reference."""

CHECK_PERIOD_S = 1.0
"""Period of publishing and comparing, s: a difference that lasts for two checks is reported, as a
new payload reaches the nodes one after the other."""


class ModelAnnouncement:
    """Publishes gravity and payload of a node, again when they change.

    Args:
        node: The node.
        model: Its model.
    """

    def __init__(self, node: RobotNode[Any], model: OnlineModel) -> None:
        self._node, self._model = node, model
        self._out = node.create_publisher(DiagnosticStatus, MODEL_TOPIC, DESCRIPTION_QOS)
        self._announced: Mapping[str, str] | None = None
        node.call_every(CHECK_PERIOD_S, self._announce)

    def _announce(self) -> None:
        terms = self._model.terms()
        if terms != self._announced:
            self._announced = terms
            values = [KeyValue(key=key, value=value) for key, value in terms.items()]
            name = self._node.get_fully_qualified_name()
            self._out.publish(DiagnosticStatus(name=name, message="model", values=values))


class ModelAgreement:
    """Compares the announced models with that of a node; logs a difference once.

    Args:
        node: The node.
        model: Its model.

    Attributes:
        difference: Terms that differ, and the remedy; empty if none does.
    """

    def __init__(self, node: RobotNode[Any], model: OnlineModel) -> None:
        self.difference = ""
        self._node, self._model, self._before = node, model, ""
        self._theirs: dict[str, dict[str, str]] = {}
        self._topic = node.create_subscription(
            DiagnosticStatus, MODEL_TOPIC, self._on_model, ANNOUNCEMENT_QOS
        ).topic_name
        node.call_every(CHECK_PERIOD_S, self._compare)

    def _on_model(self, msg: DiagnosticStatus) -> None:
        self._theirs[msg.name] = {entry.key: entry.value for entry in msg.values}

    def _compare(self) -> None:
        before, self._before = self._before, self._found()
        lasting = self._before if self._before == before else ""
        if lasting and lasting != self.difference:
            self._node.get_logger().warning(lasting)
        elif self.difference and not self._before:
            self._node.get_logger().info("gravity and payload agree with those of the reference")
        if lasting or not self._before:
            self.difference = lasting

    def _found(self) -> str:
        """Return the first difference from a present node in words; empty without one."""
        ours, me = self._model.terms(), self._node.get_fully_qualified_name()
        present = publishers_of(self._node, [self._topic]) if self._theirs else ()
        for name in present:
            theirs = self._theirs.get(name, {})
            for key in theirs.keys() & ours.keys():
                if theirs[key] != ours[key]:
                    return (
                        f"{key} differs: {name} has {theirs[key]}, {me} has {ours[key]}; the arm "
                        "sags or rises by it; set both nodes alike"
                    )
        return ""
