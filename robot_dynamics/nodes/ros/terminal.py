"""Terminal: commands to running nodes, for machines without the `ros2` command."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import rclpy
from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.foundation.user_files import parse_yaml
from robot_dynamics.nodes.ros.load_messages import payload_msg
from robot_dynamics.nodes.ros.messages import trajectory_msg
from robot_dynamics.nodes.ros.topics import TRAJECTORY_QOS
from robot_dynamics.trajectory import Waypoints

PATIENCE_S = 5.0
"""Time limit for finding a node and for its answer, s."""

DISCOVERY_S = 0.3
"""Time for discovery of our client by a service, s."""

ATTEMPTS = 3
"""Attempts of a request, as answers may be lost; requests are idempotent."""


class Terminal:
    """A node for the duration of one command, built by `terminal`."""

    def __init__(self, context: Context, namespace: str) -> None:
        self.node = Node("robot_dynamics_terminal", context=context, namespace=namespace)
        self._executor = SingleThreadedExecutor(context=context)
        self._executor.add_node(self.node)

    def close(self) -> None:
        """Leave the ROS graph."""
        self._executor.shutdown()
        self.node.destroy_node()

    def _until(self, done: Callable[[], Any], problem: str) -> None:
        end = time.monotonic() + PATIENCE_S
        while not done():
            if time.monotonic() > end:
                domain = os.environ.get("ROS_DOMAIN_ID", "0")
                raise RobotDynamicsError(
                    f"{problem} (ROS_DOMAIN_ID {domain}); start the nodes, or correct the name"
                )
            self._executor.spin_once(timeout_sec=0.05)

    # -- topics -----------------------------------------------------------------------------------

    def topics(self) -> list[tuple[str, str]]:
        """Return names and types of all topics."""
        end = time.monotonic() + 1.0  # time for discovery
        while time.monotonic() < end:
            self._executor.spin_once(timeout_sec=0.1)
        found = self.node.get_topic_names_and_types()
        return sorted((name, kinds[0]) for name, kinds in found)

    def publish(self, topic: str, msg: Any) -> None:
        """Publish one message.

        Raises:
            RobotDynamicsError: If no node subscribes to the topic.
        """
        publisher = self.node.create_publisher(type(msg), topic, TRAJECTORY_QOS)
        self._until(
            publisher.get_subscription_count, f"no node subscribes to {publisher.topic_name}"
        )
        publisher.publish(msg)
        publisher.wait_for_all_acked()

    def move(self, waypoints: Waypoints) -> None:
        """Send a motion; joints that it does not name keep their positions."""
        self.publish("joint_trajectory", trajectory_msg(waypoints))

    def carry(self, mass: float, com: Sequence[float], frame: str) -> None:
        """Send a payload to the nodes."""
        self.publish("payload", payload_msg(frame, mass, com))

    def echo(self, topic: str, count: int) -> Iterator[Any]:
        """Yield the messages of a topic as they arrive, `count` of them; 0 for no limit.

        Raises:
            RobotDynamicsError: If no node publishes the topic.
        """
        name = self.node.resolve_topic_name(topic)
        kinds: dict[str, list[str]] = {}

        def known() -> bool:
            kinds.update(self.node.get_topic_names_and_types())
            return name in kinds

        self._until(known, f"no node publishes {name}")
        package, _, kind = kinds[name][0].split("/")
        messages: list[Any] = []
        qos = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
        message_type = getattr(import_module(f"{package}.msg"), kind)
        self.node.create_subscription(message_type, name, messages.append, qos)
        shown = 0
        while not count or shown < count:
            self._until(lambda: messages, f"no message on {name}")
            yield messages.pop()
            messages.clear()
            shown += 1

    # -- parameters and services ------------------------------------------------------------------

    def set(self, node: str, name: str, value: object) -> None:
        """Set a parameter of a node.

        Raises:
            RobotDynamicsError: If there is no such node, or it refuses the value.
        """
        parameter = Parameter(name, value=value).to_parameter_msg()
        request = SetParameters.Request(parameters=[parameter])
        result = self._call(SetParameters, f"{node}/set_parameters", request).results[0]
        if not result.successful:
            raise ArgumentError(f"{node}: {result.reason}")

    def get(self, node: str, name: str) -> object:
        """Return the value of a parameter of a node.

        Raises:
            RobotDynamicsError: If there is no such node or parameter.
        """
        request = GetParameters.Request(names=[name])
        values = self._call(GetParameters, f"{node}/get_parameters", request).values
        found: object = parameter_value_to_python(values[0]) if values else None
        if found is None:
            raise ArgumentError(f"{node}: has no parameter '{name}'")
        return found

    def call(self, service: str, data: bool | None) -> str:
        """Call a service without arguments, or with a boolean; return its answer.

        Raises:
            RobotDynamicsError: If there is no such service, or it fails.
        """
        kind, request = Trigger, Trigger.Request()
        if data is not None:
            kind, request = SetBool, SetBool.Request(data=data)
        response = self._call(kind, service, request)
        if not response.success:
            raise RobotDynamicsError(f"{service}: {response.message}")
        return str(response.message)

    def _call(self, kind: Any, service: str, request: Any) -> Any:
        client = self.node.create_client(kind, service)
        name = self.node.resolve_service_name(service)
        self._until(client.service_is_ready, f"no node offers {name}")
        self._spin(DISCOVERY_S)  # or the service may answer before it has discovered the client
        for _ in range(ATTEMPTS):
            future = client.call_async(request)
            self._spin(PATIENCE_S / ATTEMPTS, future.done)
            if future.done():
                return future.result()
        raise RobotDynamicsError(f"no answer from {name}; see the log of its node")

    def _spin(self, seconds: float, done: Callable[[], bool] = lambda: False) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end and not done():
            self._executor.spin_once(timeout_sec=0.05)


@contextmanager
def terminal(namespace: str = "") -> Iterator[Terminal]:
    """Join the ROS graph for a command."""
    context = Context()
    rclpy.init(context=context)
    try:
        made = Terminal(context, namespace)
        try:
            yield made
        finally:
            made.close()
    finally:
        context.try_shutdown()


def in_words(msg: Any) -> str:
    """Return a message as text; joint values as one line per joint."""
    if not isinstance(msg, JointState):
        return str(msg)
    rows = []
    for k, name in enumerate(msg.name):
        given = ((field, getattr(msg, field)) for field in ("position", "velocity", "effort"))
        values = (f"{field} {numbers[k]:.6g}" for field, numbers in given if len(numbers) > k)
        rows.append("  ".join([name, *values]))
    return "\n".join(rows)


def typed_value(text: str, name: str) -> Any:
    """Return the value of a typed parameter: true, 0.5, a word or a [list].

    Raises:
        ArgumentError: If it cannot be read.
    """
    try:
        return parse_yaml(text, name, ArgumentError, "a value")
    except ArgumentError:
        raise ArgumentError(
            f"{name}: '{text}' is not a value; give true, 0.5, text or [1, 2]"
        ) from None
