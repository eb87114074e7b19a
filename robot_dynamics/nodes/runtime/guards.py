"""Guards: no message, parameter, request or timer ends a node.

An unforeseen error in a callback is logged in one line with its reason, and its input is ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from traceback import extract_tb
from typing import Any

from rcl_interfaces.msg import Parameter, SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter as NodeParameter
from rosgraph_msgs.msg import Clock

from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.nodes.ros.cdr import deserialized
from robot_dynamics.nodes.ros.diagnostics import one_line
from robot_dynamics.nodes.ros.node_parameters import hint

Refuse = Callable[[str, Exception], object]
"""Logs the error of an input, by the name of its topic, service or timer."""


def reason_of(place: str, error: Exception) -> str:
    """Return one line: the message of an error of the package, or place and kind of another."""
    if isinstance(error, RobotDynamicsError):
        return one_line(error)
    frames = extract_tb(error.__traceback__)
    at = f" at {frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno}" if frames else ""
    kind = type(error).__name__
    return one_line(f"{place}: ignored because of an unforeseen {kind}{at}: {error}")


def guarded_subscription(
    topic: str, kind: type, callback: Callable[[Any], object], refuse: Refuse
) -> Callable[[bytes], None]:
    """Return the callback of a raw subscription that deserializes messages and refuses errors."""

    def receive(data: bytes) -> None:
        try:
            msg = deserialized(topic, data, kind)
            if kind is Clock and msg.clock.sec < 0:
                raise ArgumentError(
                    f"{topic}: {msg.clock.sec} s is negative; the message is ignored"
                )
            callback(msg)
        except Exception as error:
            refuse(topic, error)

    return receive


def guarded_service(
    node: Node, name: str, callback: Callable[[Any, Any], Any], refuse: Refuse
) -> Callable[[Any, Any], Any]:
    """Return the callback of a service that answers every request.

    Parameters that the node does not have, or whose type is unknown, are refused by name.
    """

    def answer(request: Any, response: Any) -> Any:
        given = getattr(request, "parameters", [])
        faults = [parameter_fault(node, item) for item in given]
        wrong = [fault for fault in faults if fault]
        if wrong and hasattr(response, "result"):  # all or none
            response.result = SetParametersResult(successful=False, reason=wrong[0])
            return response
        if wrong:
            request.parameters = [
                item for item, fault in zip(given, faults, strict=True) if not fault
            ]
        try:
            callback(request, response)
        except Exception as error:
            refuse(name, error)
            _fail(response, reason_of(name, error), len(request.parameters) if given else 0)
        if wrong:
            others = iter(response.results)
            response.results = [
                SetParametersResult(successful=False, reason=fault) if fault else next(others)
                for fault in faults
            ]
        return response

    return answer


def _fail(response: Any, reason: str, count: int) -> None:
    """Answer that a request failed; `count` is its number of parameters."""
    result = SetParametersResult(successful=False, reason=reason)
    if hasattr(response, "results"):
        response.results = [*response.results, *[result] * (count - len(response.results))]
    elif hasattr(response, "result"):
        response.result = result
    elif hasattr(response, "success"):
        response.success = False
        if hasattr(response, "message"):
            response.message = reason


def parameter_fault(node: Node, item: Parameter) -> str:
    """Return why a node cannot have a parameter of this name or type; empty if it can."""
    name, kinds = item.name, {kind.value for kind in NodeParameter.Type}
    if not node.has_parameter(name):
        known: Sequence[str] = list(node.get_parameters_by_prefix(""))
        close = hint(name, known) if name else "give its name"
        return one_line(f"no parameter '{name}'" + (f"; {close}" if close else ""))
    if item.value.type not in kinds:
        return f"parameter '{name}': its type {item.value.type} is unknown; give one of 0 to 9"
    return ""
