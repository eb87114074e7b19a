"""Arm findings: which nodes command the running arms, which stand by, and what holds them then."""

from __future__ import annotations

import os
from functools import partial
from time import monotonic

from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from std_msgs.msg import String

from robot_dynamics.nodes.machine import Finding
from robot_dynamics.nodes.ros.messages import LEASE, read_lease
from robot_dynamics.nodes.ros.topics import (
    ANNOUNCEMENT_QOS,
    alone,
    keepers_of,
    publishers_of,
    stands_by,
    subscribers_of,
    undiscovered,
)
from robot_dynamics.nodes.ros.transport import init_rclpy

DISCOVERY_S, LONGEST_DISCOVERY_S = 3.5, 8.0
"""Time for the discovery of running nodes, longer than the 3 s between two announcements of a
participant, and the longest time to wait until every node that publishes commands has announced its
lease, s."""

Leases = dict[str, bool]
"""Nodes by name that announced a lease, and whether they hold it."""


def arm_findings() -> list[Finding]:
    """Return a finding for every topic of commands under a lease on this ROS domain."""
    context = Context()
    init_rclpy(context=context, args=[])
    try:
        node = Node(f"doctor_{os.getpid()}", context=context, enable_rosout=False)
        leases = _leases(node)
        return [_finding(node, topic, found) for topic, found in sorted(leases.items())]
    finally:
        context.try_shutdown()


def _leases(node: Node) -> dict[str, Leases]:
    """Return the present leases by topic of the commands."""
    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(node)
    found: dict[str, Leases] = {}
    begin = monotonic()
    while (age := monotonic() - begin) < LONGEST_DISCOVERY_S:
        if age > DISCOVERY_S and all(_complete(node, *item) for item in found.items()):
            break
        for topic, kinds in node.get_topic_names_and_types():
            commands = topic.removesuffix(f"/{LEASE}")
            if commands == topic or commands in found or kinds != ["std_msgs/msg/String"]:
                continue
            note = partial(_note, found.setdefault(commands, {}))
            node.create_subscription(String, topic, note, ANNOUNCEMENT_QOS)
        executor.spin_once(timeout_sec=0.05)
    executor.shutdown()
    return found


def _note(leases: Leases, msg: String) -> None:
    """Note the last announcement of a node."""
    name, holds = read_lease("".join(filter(str.isprintable, msg.data)))
    leases[name] = holds


def _silent(node: Node, topic: str, leases: Leases) -> list[str]:
    """Return the names of nodes that publish commands and have not announced a lease."""
    publishers = publishers_of(node, [topic, f"{topic}/{LEASE}"])
    return sorted({name.rpartition("/")[2] for name in publishers}.difference(leases))


def _complete(node: Node, topic: str, leases: Leases) -> bool:
    """Return whether all nodes at a topic of commands are known."""
    topics = [topic, f"{topic}/{LEASE}"]
    return not (_silent(node, topic, leases) or any(undiscovered(node, name) for name in topics))


def _finding(node: Node, topic: str, leases: Leases) -> Finding:
    """Return which node commands a topic, which stands by, and what is left without both."""
    names = [name.rpartition("/")[2] for name in subscribers_of(node, topic)]
    silent = ", ".join(_silent(node, topic, leases))
    holders = sorted(name for name, holds in leases.items() if holds)
    text, remedies = "no node commands", ["start controller_node, or call its resume"]
    if holders:
        spare = [name for name in names if stands_by(name) and name not in holders]
        text = f"{', '.join(holders)} commands; stands by: {', '.join(spare) or 'nothing'}"
        keepers, remedies = keepers_of(names), []
        if keepers and not spare:
            remedies = [f"{alone(keepers)}; start a controller that stands by (docs/hardware.md)"]
    if silent:
        text += f"; no answer from {silent}"
        remedies.append(
            f"{silent} publishes {topic} without a lease: ask again, and stop it if it stays silent"
        )
    return Finding(topic, text, "; ".join(remedies))
