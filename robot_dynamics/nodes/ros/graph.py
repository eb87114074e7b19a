"""Graph: which nodes of the ROS graph publish a topic."""

from __future__ import annotations

from collections.abc import Sequence

from rclpy.node import Node


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
        names = [
            f"{info.node_namespace.rstrip('/')}/{info.node_name}"
            for info in node.get_publishers_info_by_topic(topic)
        ]
        for name in set(names):
            found += [name] * (names.count(name) - found.count(name))
    return sorted(found)


def other_publishers_of(node: Node, topics: Sequence[str]) -> list[str]:
    """As `publishers_of`, without the node that looks itself; another of its name stays."""
    publishers, me = publishers_of(node, topics), node.get_fully_qualified_name()
    if me in publishers:
        publishers.remove(me)
    return publishers
