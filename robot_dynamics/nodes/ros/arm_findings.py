"""Arm findings: which nodes command the running arms, which stand by, and what holds them then."""

from __future__ import annotations

import os
from time import monotonic

from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from std_msgs.msg import String

from robot_dynamics.nodes.machine import Finding
from robot_dynamics.nodes.ros.messages import LEASE
from robot_dynamics.nodes.ros.topics import (
    DESCRIPTION_QOS,
    alone,
    keepers_of,
    stands_by,
    subscribers_of,
)
from robot_dynamics.nodes.ros.transport import init_rclpy

DISCOVERY_S = 1.5
"""Time for the discovery of running nodes and their leases, s."""


def arm_findings() -> list[Finding]:
    """Return a finding for every topic of commands under a lease on this ROS domain."""
    context = Context()
    init_rclpy(context=context, args=[])
    try:
        node = Node(f"doctor_{os.getpid()}", context=context, enable_rosout=False)
        leases = _leases(node)
        return [_finding(node, topic, names) for topic, names in sorted(leases.items())]
    finally:
        context.try_shutdown()


def _leases(node: Node) -> dict[str, list[str]]:
    """Return the present leases by topic of the commands."""
    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(node)
    found: dict[str, list[str]] = {}
    end = monotonic() + DISCOVERY_S
    while monotonic() < end:
        for topic, kinds in node.get_topic_names_and_types():
            commands = topic.removesuffix(f"/{LEASE}")
            if commands == topic or commands in found or kinds != ["std_msgs/msg/String"]:
                continue
            names = found.setdefault(commands, [])
            node.create_subscription(
                String, topic, lambda msg, names=names: names.append(msg.data), DESCRIPTION_QOS
            )
        executor.spin_once(timeout_sec=0.05)
    executor.shutdown()
    return {topic: sorted(filter(None, names)) for topic, names in found.items()}


def _finding(node: Node, topic: str, leases: list[str]) -> Finding:
    """Return which node commands a topic, which stands by, and what is left without both."""
    names = [name.rpartition("/")[2] for name in subscribers_of(node, topic)]
    # A lease is the name of a node, with a prefix and a unique suffix
    holders = [lease.partition(" ")[0].rpartition(":")[2] for lease in leases]
    holders = ["".join(filter(str.isprintable, name)) for name in holders]
    if not holders:
        return Finding(topic, "no node commands", "start controller_node, or call its resume")
    spare = [name for name in names if stands_by(name) and name not in holders]
    text = f"{', '.join(holders)} commands; stands by: {', '.join(spare) or 'nothing'}"
    keepers = keepers_of(names)
    if spare or not keepers:
        return Finding(topic, text)
    remedy = f"{alone(keepers)}; start a controller that stands by (docs/hardware.md)"
    return Finding(topic, text, remedy)
