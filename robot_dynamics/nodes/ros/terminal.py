"""What one types at running nodes, for machines without the `ros2` command."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import rclpy
import yaml
from geometry_msgs.msg import InertiaStamped
from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.nodes.ros.messages import trajectory_msg
from robot_dynamics.nodes.ros.qos import TRAJECTORY_QOS
from robot_dynamics.trajectory import Waypoints

PATIENCE_S = 5.0
"""Time within which a node must be found, or answer, s."""

INTRODUCTION_S = 0.3
"""Time in which the middleware introduces us to a node that answers, s."""

ATTEMPTS = 3
"""Times that a request is sent whose answer may be lost; to ask twice does no harm."""


class Terminal:
    """A node that lives as long as a command. Made by `terminal`."""

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
        """Names and types of all topics of the others."""
        end = time.monotonic() + 1.0  # until the middleware has heard of all
        while time.monotonic() < end:
            self._executor.spin_once(timeout_sec=0.1)
        found = self.node.get_topic_names_and_types()
        return sorted((name, kinds[0]) for name, kinds in found)

    def publish(self, topic: str, msg: Any) -> None:
        """Publish one message to whoever reads the topic.

        Raises:
            RobotDynamicsError: If nobody does.
        """
        publisher = self.node.create_publisher(type(msg), topic, TRAJECTORY_QOS)
        self._until(publisher.get_subscription_count, f"nobody reads {publisher.topic_name}")
        publisher.publish(msg)
        publisher.wait_for_all_acked()

    def move(self, waypoints: Waypoints) -> None:
        """Send a motion; joints that it does not name stay where they are."""
        self.publish("joint_trajectory", trajectory_msg(waypoints))

    def carry(self, mass: float, com: Sequence[float], frame: str) -> None:
        """Tell the nodes of a payload."""
        msg = InertiaStamped()
        msg.header.frame_id = frame
        msg.inertia.m = mass
        msg.inertia.com.x, msg.inertia.com.y, msg.inertia.com.z = map(float, com)
        self.publish("payload", msg)

    def echo(self, topic: str, count: int) -> Iterator[Any]:
        """Messages of a topic, as they come; without end where `count` is 0.

        Raises:
            RobotDynamicsError: If nobody publishes it.
        """
        name = self.node.resolve_topic_name(topic)
        kinds: dict[str, list[str]] = {}

        def known() -> bool:
            kinds.update(self.node.get_topic_names_and_types())
            return name in kinds

        self._until(known, f"nobody publishes {name}")
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
            RobotDynamicsError: If there is no such node, or it refuses.
        """
        parameter = Parameter(name, value=value).to_parameter_msg()
        request = SetParameters.Request(parameters=[parameter])
        result = self._call(SetParameters, f"{node}/set_parameters", request).results[0]
        if not result.successful:
            raise ArgumentError(f"{node}: {result.reason}")

    def get(self, node: str, name: str) -> object:
        """Value of a parameter of a node.

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
        """Call a service without arguments, or with true or false; its answer.

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
        self._until(client.service_is_ready, f"nobody offers {name}")
        self._spin(INTRODUCTION_S)  # or it might answer who it has not heard of
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
    """A message as text; joint values as a line for each joint."""
    if not isinstance(msg, JointState):
        return str(msg)
    rows = []
    for k, name in enumerate(msg.name):
        given = ((field, getattr(msg, field)) for field in ("position", "velocity", "effort"))
        values = (f"{field} {numbers[k]:.6g}" for field, numbers in given if len(numbers) > k)
        rows.append("  ".join([name, *values]))
    return "\n".join(rows)


def typed_value(text: str, name: str) -> Any:
    """The value that somebody typed for a parameter: true, 0.5, a word or a [list].

    Raises:
        ArgumentError: If it cannot be read.
    """
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        raise ArgumentError(
            f"{name}: '{text}' is no value; give true, 0.5, text or [1, 2]"
        ) from None
