"""A node of this process that hears what the others say, in a thread of its own."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from robot_dynamics.nodes.ros.transport import init_rclpy


@contextmanager
def spinning_node(name: str, domain: int) -> Iterator[Node]:
    """A node that an executor spins as long as the block lasts.

    Args:
        name: Name of the node.
        domain: ROS domain.
    """
    context = rclpy.Context()
    init_rclpy(context=context, domain_id=domain)
    node = rclpy.create_node(name, context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    ended = threading.Event()

    def spin() -> None:
        while not ended.is_set():
            executor.spin_once(timeout_sec=0.1)

    thread = threading.Thread(target=spin, daemon=True)
    thread.start()
    try:
        yield node
    finally:
        ended.set()
        thread.join()
        executor.shutdown()
        node.destroy_node()
        context.try_shutdown()


@contextmanager
def diagnostics(domain: int) -> Iterator[dict[str, list[dict[str, float]]]]:
    """Numbers that nodes report of themselves, by node, as long as the block lasts."""
    heard: dict[str, list[dict[str, float]]] = defaultdict(list)

    def keep(msg: DiagnosticArray) -> None:
        for status in msg.status:
            heard[status.name].append(_numbers(status.values))

    with spinning_node("benchmark", domain) as node:
        node.create_subscription(DiagnosticArray, "/diagnostics", keep, 10)
        yield heard


def _numbers(entries: list[DiagnosticArray]) -> dict[str, float]:
    values = {}
    for entry in entries:
        try:
            values[entry.key] = float(entry.value)
        except ValueError:
            continue
    return values
