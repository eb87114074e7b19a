"""GraphClient: commands to running nodes, for machines without the `ros2` command."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from importlib import import_module
from typing import Any, TypeVar

from builtin_interfaces.msg import Duration, Time
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import InertiaStamped
from rcl_interfaces.srv import (
    GetParameters,
    ListParameters,
    SetParametersAtomically,
)
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.plain_yaml import parse_yaml
from robot_dynamics.nodes.ros.diagnostics import in_words as value_in_words
from robot_dynamics.nodes.ros.load_messages import payload_msg
from robot_dynamics.nodes.ros.messages import ANSWER_TOPIC, JointReader, trajectory_msg
from robot_dynamics.nodes.ros.node_parameters import hint
from robot_dynamics.nodes.ros.topics import (
    STATE_QOS,
    TRAJECTORY_QOS,
    publishers_of,
    subscribers_of,
)
from robot_dynamics.nodes.ros.transport import init_rclpy
from robot_dynamics.trajectory import Waypoints

T = TypeVar("T", bound="GraphClient")

PATIENCE_S = 5.0
"""Time limit for finding a node and for its answer to a trajectory, s."""

ANSWER_S = 15.0
"""Time limit for the answer of a service, s: on a busy machine a node may come late to it."""

DISCOVERY_S = 0.3
"""Time for discovery of our client by a service, s."""

ATTEMPTS = 3
"""Attempts of a request, as answers may be lost; requests are idempotent."""


class GraphClient:
    """A node for the duration of one command, built by `graph_client`."""

    def __init__(self, context: Context, namespace: str) -> None:
        self.node = Node("robot_dynamics_terminal", context=context, namespace=namespace)
        self._executor = SingleThreadedExecutor(context=context)
        self._executor.add_node(self.node)

    def close(self) -> None:
        """Leave the ROS graph."""
        self._executor.shutdown()
        self.node.destroy_node()

    def _until(self, done: Callable[[], Any], problem: str) -> None:
        self._spin(PATIENCE_S, done)
        if not done():
            domain = os.environ.get("ROS_DOMAIN_ID", "0")
            raise RobotDynamicsError(
                f"{problem} (ROS_DOMAIN_ID {domain}); start the nodes, or correct the name"
            )

    # -- topics -----------------------------------------------------------------------------------

    def topics(self) -> list[tuple[str, str]]:
        """Return names and types of all topics."""
        self._spin(1.0)  # time for discovery
        found = self.node.get_topic_names_and_types()
        return sorted((name, kinds[0]) for name, kinds in found)

    def nodes_on(self, *topics: str) -> list[str]:
        """Return the nodes that publish some topics or subscribe to them."""
        self._spin(1.0)  # time for discovery
        names = [self.node.resolve_topic_name(topic) for topic in topics]
        found = {*publishers_of(self.node, names)}
        return sorted(found.union(*(subscribers_of(self.node, name) for name in names)))

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

    def move(self, waypoints: Waypoints) -> str:
        """Send a motion; joints that it does not name keep their positions.

        Returns:
            What became of it, in words.

        Raises:
            RobotDynamicsError: If a node refuses it, with the reason, or does not answer.
        """
        answers: list[DiagnosticStatus] = []
        answer = self.node.create_subscription(
            DiagnosticStatus, ANSWER_TOPIC, answers.append, TRAJECTORY_QOS
        )
        for _ in range(ATTEMPTS):
            self.publish("joint_trajectory", trajectory_msg(waypoints))
            self._spin(PATIENCE_S / ATTEMPTS, lambda: answers)
            if answers and answers[0].level != DiagnosticStatus.OK:
                raise RobotDynamicsError(f"refused by {answers[0].name}: {answers[0].message}")
            if answers:
                joints = ", ".join(waypoints.joint_names)
                accepted = f"accepted by {answers[0].name}: {joints}, {waypoints.duration:g} s"
                return "; ".join(filter(None, (accepted, answers[0].message)))
            if not publishers_of(self.node, [answer.topic_name]):
                topic = self.node.resolve_topic_name("joint_trajectory")
                names = ", ".join(subscribers_of(self.node, topic)) or "a node"
                return f"sent to {names.lstrip('/')}, which does not answer"
        raise RobotDynamicsError("no answer from feedforward_node; see its log")

    def positions(self, joint_names: Sequence[str]) -> Array:
        """Return the measured positions of some joints, rad or m.

        Raises:
            RobotDynamicsError: If no joint_states name them.
        """
        states = JointReader("joint_states", joint_names)
        messages: list[JointState] = []

        def complete() -> bool:
            while messages:
                states.read(messages.pop(0))
            return states.complete

        self.node.create_subscription(JointState, "joint_states", messages.append, STATE_QOS)
        self._until(complete, f"no joint_states of {', '.join(joint_names)} come")
        return states.position.copy()

    def carry(self, mass: float, com: Sequence[float], frame: str) -> str:
        """Set the payload of all nodes that read it, or of none.

        Returns:
            What became of it, in words.

        Raises:
            RobotDynamicsError: If a node refuses it, with the reason.
        """
        publisher = self.node.create_publisher(InertiaStamped, "payload", TRAJECTORY_QOS)
        topic = publisher.topic_name
        self._until(publisher.get_subscription_count, f"no node subscribes to {topic}")
        self._until(lambda: subscribers_of(self.node, topic), "the names of the nodes are unknown")
        names = ["payload.mass", "payload.com", "payload.frame", "payload.inertia"]
        wanted = [mass, list(com), frame, [0.0] * 6]
        before: dict[str, list[Any]] = {}
        for node in subscribers_of(self.node, topic):
            request, values = GetParameters.Request(names=names), []
            with suppress(RobotDynamicsError):  # of a subscriber without parameters
                values = self._call(GetParameters, f"{node}/get_parameters", request).values
            if len(values) < len(names):
                continue  # it shows or records the payload
            if refusal := self._set_all(node, names, wanted):
                for changed, old in before.items():
                    self._set_all(changed, names, old)
                raise ArgumentError(f"refused by {node.lstrip('/')}: {refusal}")
            before[node] = [parameter_value_to_python(value) for value in values]
        publisher.publish(payload_msg(frame, mass, com))
        publisher.wait_for_all_acked()
        return f"accepted by {', '.join(node.lstrip('/') for node in before) or 'no node'}"

    def _set_all(self, node: str, names: Sequence[str], values: Sequence[Any]) -> str:
        """Set parameters atomically; return the refusal, empty if there is none."""
        request = SetParametersAtomically.Request(
            parameters=[
                Parameter(name, value=value).to_parameter_msg()
                for name, value in zip(names, values, strict=True)
            ]
        )
        name = f"{node}/set_parameters_atomically"
        result = self._call(SetParametersAtomically, name, request).result
        return "" if result.successful else str(result.reason)

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
        if refusal := self._set_all(node, [name], [value]):
            raise ArgumentError(f"{node}: {refusal}")

    def get(self, node: str, name: str) -> object:
        """Return the value of a parameter of a node.

        Raises:
            RobotDynamicsError: If there is no such node or parameter.
        """
        request = GetParameters.Request(names=[name])
        values = self._call(GetParameters, f"{node}/get_parameters", request).values
        found: object = parameter_value_to_python(values[0]) if values else None
        if found is None:
            listed = self._call(ListParameters, f"{node}/list_parameters", ListParameters.Request())
            close = hint(name, list(listed.result.names))
            raise ArgumentError(f"{node}: no parameter '{name}'" + (f"; {close}" if close else ""))
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
            self._spin(ANSWER_S / ATTEMPTS, future.done)
            if future.done():
                return future.result()
        raise RobotDynamicsError(f"no answer from {name}; see the log of its node")

    def _spin(self, seconds: float, done: Callable[[], object] = lambda: False) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end and not done():
            self._executor.spin_once(timeout_sec=min(0.05, max(end - time.monotonic(), 0.0)))


@contextmanager
def joined(make: Callable[[Context], T], domain: int | None = None) -> Iterator[T]:
    """Join the ROS graph for a command, by default in the domain ROS_DOMAIN_ID."""
    context = Context()
    init_rclpy(context=context, domain_id=domain)
    try:
        made = make(context)
        try:
            yield made
        finally:
            made.close()
    finally:
        context.try_shutdown()


def graph_client(
    namespace: str = "", domain: int | None = None
) -> AbstractContextManager[GraphClient]:
    """Join the ROS graph with a `GraphClient`; see `joined`."""
    return joined(lambda context: GraphClient(context, namespace), domain)


def in_words(msg: Any) -> str:
    """Return a message as text: a line per field, and joint values as a line per joint."""
    if not isinstance(msg, JointState) or not msg.name:
        text = "\n".join(_fields(msg))
        return "".join(c if c.isprintable() or c == "\n" else " " for c in text)
    rows = []
    for k, name in enumerate(msg.name):
        given = ((field, getattr(msg, field)) for field in ("position", "velocity", "effort"))
        values = (f"{field} {numbers[k]:.6g}" for field, numbers in given if len(numbers) > k)
        rows.append("  ".join([name, *values]))
    return "\n".join(rows)


def _fields(msg: Any, indent: str = "") -> Iterator[str]:
    """Yield the lines of the fields of a message."""
    for name in msg.get_fields_and_field_types():
        value = getattr(msg, name)
        if isinstance(value, (Time, Duration)):
            yield f"{indent}{name}: {value.sec}.{value.nanosec:09d} s"
        elif hasattr(value, "get_fields_and_field_types"):
            yield f"{indent}{name}:"
            yield from _fields(value, f"{indent}  ")
        elif isinstance(value, list) and value and hasattr(value[0], "get_fields_and_field_types"):
            for k, part in enumerate(value):
                yield f"{indent}{name} {k}:"
                yield from _fields(part, f"{indent}  ")
        else:
            yield f"{indent}{name}: {value_in_words(value)}"


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
