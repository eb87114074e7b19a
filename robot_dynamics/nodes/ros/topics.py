"""Topics: their quality of service, and the nodes that publish and subscribe to them.

Publishers offer much and subscribers ask little, so that every peer matches.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

DESCRIPTION_QOS = QoSProfile(
    depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
)
"""robot_description, latched as by robot_state_publisher."""

ANNOUNCEMENT_QOS = QoSProfile(
    depth=10, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
)
"""Latched messages of several nodes."""

OUTPUT_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
"""Outputs at a high rate: only the last one counts."""

STATE_QOS = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
"""Input joint_states: hardware may offer best effort only, and send them in parts."""

COMMAND_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
"""Input references and commands: only the last one counts."""

LOCKSTEP_QOS = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
"""Input commands in lockstep: each one counts."""

TRAJECTORY_QOS = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
"""Trajectories and loads: none may be lost."""


UNKNOWN_NODE = "_NODE_NAME_UNKNOWN_"
"""Name that rmw gives to the node of an endpoint before it has discovered the node."""


def publishers_of(node: Node, topics: Sequence[str]) -> list[str]:
    """Return the fully qualified names of the nodes that publish some topics.

    A node that publishes several of the topics appears once; one that publishes the same topic
    twice appears twice.

    Args:
        node: Node that asks.
        topics: Names of the topics, resolved.
    """
    found: list[str] = []
    for topic in topics:
        names = _names(node.get_publishers_info_by_topic(topic))
        for name in set(names):
            found += [name] * (names.count(name) - found.count(name))
    return sorted(found)


def other_publishers_of(node: Node, topics: Sequence[str]) -> list[str]:
    """Return `publishers_of` without the node that asks; another node of its name stays."""
    publishers, me = publishers_of(node, topics), node.get_fully_qualified_name()
    if me in publishers:
        publishers.remove(me)
    return publishers


def subscribers_of(node: Node, topic: str) -> list[str]:
    """Return the fully qualified names of the nodes that subscribe to a resolved topic."""
    return sorted(set(_names(node.get_subscriptions_info_by_topic(topic))))


def undiscovered(node: Node, topic: str) -> bool:
    """Return whether an endpoint of a resolved topic belongs to a node of unknown name."""
    publishers = node.get_publishers_info_by_topic(topic)
    endpoints = [*publishers, *node.get_subscriptions_info_by_topic(topic)]
    return any(info.node_name == UNKNOWN_NODE for info in endpoints)


def followers_of(node: Node, topic: str, answer: str) -> list[str]:
    """Return the nodes that subscribe to a topic and publish an answer; this excludes recorders.

    Args:
        node: Node that asks.
        topic: Topic that they subscribe to, resolved.
        answer: Topic that they publish, resolved.
    """
    return sorted(set(subscribers_of(node, topic)).intersection(publishers_of(node, [answer])))


def _names(endpoints: Iterable[Any]) -> list[str]:
    """Return the fully qualified nodes of endpoints, without undiscovered ones."""
    return [
        f"{info.node_namespace.rstrip('/')}/{info.node_name}"
        for info in endpoints
        if info.node_name != UNKNOWN_NODE
    ]
