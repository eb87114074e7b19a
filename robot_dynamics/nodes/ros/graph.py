"""Graph: which nodes of the ROS graph publish a topic, and which read it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rclpy.node import Node

UNKNOWN_NODE = "_NODE_NAME_UNKNOWN_"
"""What rmw calls the node of an endpoint that it has heard of before it has heard of the node."""


def publishers_of(node: Node, topics: Sequence[str]) -> list[str]:
    """Nodes that publish some topics, fully qualified, one entry per node and publisher of its own.

    A node that publishes several of the topics stands once; one that publishes the same topic
    twice stands twice.

    Args:
        node: Node that looks.
        topics: Names of the topics, resolved.
    """
    found: list[str] = []
    for topic in topics:
        names = _names(node.get_publishers_info_by_topic(topic))
        for name in set(names):
            found += [name] * (names.count(name) - found.count(name))
    return sorted(found)


def other_publishers_of(node: Node, topics: Sequence[str]) -> list[str]:
    """As `publishers_of`, without the node that looks itself; another of its name stays."""
    publishers, me = publishers_of(node, topics), node.get_fully_qualified_name()
    if me in publishers:
        publishers.remove(me)
    return publishers


def subscribers_of(node: Node, topic: str) -> list[str]:
    """Nodes that read a topic, by its resolved name; fully qualified."""
    return sorted(set(_names(node.get_subscriptions_info_by_topic(topic))))


def followers_of(node: Node, topic: str, answer: str) -> list[str]:
    """Nodes that read a topic and publish an answer to it: no recorder does that.

    Args:
        node: Node that looks.
        topic: Name of the topic that they read, resolved.
        answer: Name of the topic that they publish, resolved.
    """
    return sorted(set(subscribers_of(node, topic)).intersection(publishers_of(node, [answer])))


def _names(endpoints: Iterable[Any]) -> list[str]:
    """The nodes of endpoints, fully qualified; without those whose node is not introduced yet."""
    return [
        f"{info.node_namespace.rstrip('/')}/{info.node_name}"
        for info in endpoints
        if info.node_name != UNKNOWN_NODE
    ]
