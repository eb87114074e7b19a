"""Parameters of nodes, defined by one frozen dataclass.

Declaration, range checks, `ros2 param describe` and the documentation read its fields.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar, get_args, get_origin, get_type_hints

from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rclpy.node import Node
from rclpy.parameter import Parameter

from robot_dynamics.control.parameters import NODES, PARAMETERS
from robot_dynamics.errors import ArgumentError, RobotDynamicsError, nearest

P = TypeVar("P")

_SPEC = "parameter"
_TYPES = {
    bool: Parameter.Type.BOOL,
    int: Parameter.Type.INTEGER,
    float: Parameter.Type.DOUBLE,
    str: Parameter.Type.STRING,
    (bool,): Parameter.Type.BOOL_ARRAY,
    (int,): Parameter.Type.INTEGER_ARRAY,
    (float,): Parameter.Type.DOUBLE_ARRAY,
    (str,): Parameter.Type.STRING_ARRAY,
}
_LISTED = {
    "bool": bool,
    "double": float,
    "string": str,
    "double_array": tuple[float, ...],
    "string_array": tuple[str, ...],
}
"""Types by their names in the table."""

_OF_ROS = ("qos_overrides.", "use_sim_time", "start_type_description_service")
"""Prefixes of parameters of rclpy itself, in some versions."""

_MOST_SHOWN = 12

_WORDS = {bool: "true or false", int: "a whole number", float: "a finite number", str: "text"}


@dataclasses.dataclass(frozen=True)
class Spec:
    """Description and constraints of a parameter."""

    description: str
    low: float | None = None
    high: float | None = None
    one_of: tuple[str, ...] = ()
    length: int | None = None
    read_only: bool = False


def parameter(
    default: Any,
    description: str,
    *,
    low: float | None = None,
    high: float | None = None,
    one_of: Iterable[str] = (),
    length: int | None = None,
    read_only: bool = False,
) -> Any:
    """Return a dataclass field that is a parameter of a node.

    Args:
        default: Value where none is given; a tuple for an array.
        description: One line, with the unit of the quantity.
        low: Least value allowed, of every entry of an array.
        high: Greatest value allowed.
        one_of: Texts allowed.
        length: Number of entries of an array, if it is fixed.
        read_only: True if the value cannot change once the node runs.
    """
    spec = Spec(description, low, high, tuple(one_of), length, read_only)
    return dataclasses.field(default=default, metadata={_SPEC: spec})


def listed(name: str) -> Any:
    """Return a dataclass field that is a parameter of the table `control.parameters`.

    A default that depends on the robot is NaN, which `Declared` takes from its `defaults`, or an
    empty list.
    """
    one = PARAMETERS[name]
    default = one.default
    if default is None:
        default = math.nan if one.type == "double" else ()
    return parameter(
        default,
        one.description,
        low=one.low,
        high=one.high,
        one_of=one.choices,
        length=one.length if default else None,
        read_only="nodes" in one.fixed,
    )


def listed_group(group: str, *names: str) -> Any:
    """Return a frozen dataclass of a group of that table, such as "gains".

    Args:
        group: First word of the names.
        names: Its parameters; by default all that nodes have.
    """
    own = {
        one.name.removeprefix(f"{group}."): one
        for one in PARAMETERS.values()
        if one.name.startswith(f"{group}.") and NODES in one.users
    }
    fields = [(name, _LISTED[own[name].type], listed(own[name].name)) for name in names or own]
    return dataclasses.make_dataclass(f"{group.title()}Parameters", fields, frozen=True)


@dataclasses.dataclass(frozen=True)
class Described:
    """One parameter: name, type (a 1-tuple of it for an array), default and spec."""

    name: str
    kind: Any
    default: Any
    spec: Spec

    @property
    def descriptor(self) -> ParameterDescriptor:
        """Descriptor for `ros2 param describe`."""
        spec = self.spec
        ranges: dict[str, Any] = {}
        if spec.low is not None or spec.high is not None:
            low = -math.inf if spec.low is None else spec.low
            high = math.inf if spec.high is None else spec.high
            if _scalar(self.kind) is float:
                ranges["floating_point_range"] = [
                    FloatingPointRange(from_value=float(low), to_value=float(high), step=0.0)
                ]
            elif math.isfinite(low) and math.isfinite(high):
                ranges["integer_range"] = [
                    IntegerRange(from_value=int(low), to_value=int(high), step=1)
                ]
        return ParameterDescriptor(
            name=self.name,
            type=_TYPES[self.kind].value,
            description=spec.description,
            additional_constraints=f"one of: {', '.join(spec.one_of)}" if spec.one_of else "",
            read_only=spec.read_only,
            # rclpy refuses `rate: 500` for a number with a fraction and calls [] an array of bytes
            dynamic_typing=True,
            **ranges,
        )

    def checked(self, value: Any) -> Any:
        """Return a value converted for the dataclass.

        Raises:
            ArgumentError: If type or range are wrong; names the allowed values.
        """
        scalar, array = _scalar(self.kind), isinstance(self.kind, tuple)
        given = list(value) if array and _is_sequence(value) else [value]
        if (array and not _is_sequence(value)) or not all(_fits(v, scalar) for v in given):
            raise self._refusal(value)
        spec = self.spec
        if array and spec.length is not None and len(given) != spec.length:
            raise self._refusal(value)
        if spec.one_of and any(v not in spec.one_of for v in given):
            raise self._refusal(value)
        if scalar in (int, float):
            low = -math.inf if spec.low is None else spec.low
            high = math.inf if spec.high is None else spec.high
            if not all(math.isfinite(v) and low <= v <= high for v in given):
                raise self._refusal(value)
        result = tuple(scalar(v) for v in given)
        return result if array else result[0]

    def _refusal(self, value: Any) -> ArgumentError:
        if isinstance(value, str):
            value = f"'{value}'"
        elif _is_sequence(value):  # rclpy has arrays of its own
            value = list(value)
        return ArgumentError(
            f"parameter '{self.name}' is {value}; give {self.allowed} ({self.spec.description})"
        )

    @property
    def allowed(self) -> str:
        """The allowed values in words."""
        spec, scalar = self.spec, _scalar(self.kind)
        words = _WORDS[scalar]
        if spec.one_of:
            words = "one of " + ", ".join(spec.one_of)
        elif spec.low is not None and spec.high is not None:
            words += f" from {spec.low:g} to {spec.high:g}"
        elif spec.low is not None:
            words += f" of at least {spec.low:g}"
        elif spec.high is not None:
            words += f" of at most {spec.high:g}"
        if not isinstance(self.kind, tuple):
            return words
        many = "" if spec.length is None else f" of {spec.length}"
        return f"a list{many}, each {words}"


def describe(kind: type, prefix: str = "") -> list[Described]:
    """Return all parameters of a dataclass, in order.

    Args:
        kind: Dataclass whose fields are made by `parameter`.
        prefix: Group that the parameters stand in, such as 'gains.elbow'.
    """
    hints = get_type_hints(kind)
    group = f"{prefix}." if prefix else ""
    return [
        Described(
            group + field.name, _kind(hints[field.name]), field.default, field.metadata[_SPEC]
        )
        for field in dataclasses.fields(kind)
    ]


class Declared(Generic[P]):
    """The parameters of a node or of one of its groups, always a complete, valid set.

    A refused change has no effect. `value` is replaced as a whole, so that a loop in another
    thread never sees a partial change.

    Args:
        node: Node to declare the parameters on.
        kind: Dataclass whose fields are made by `parameter`.
        prefix: Group that the parameters stand in, such as 'gains.elbow'.
        defaults: Value that unset parameters take; an instance of `kind`.
        check: Refuses a set of values by raising a RobotDynamicsError.
        changed: Called with the new values after a change.

    Raises:
        ArgumentError: If a value given at start does not fit.
    """

    def __init__(
        self,
        node: Node,
        kind: type[P],
        prefix: str = "",
        *,
        defaults: P | None = None,
        check: Callable[[P], None] = lambda value: None,
        changed: Callable[[P], None] = lambda value: None,
    ) -> None:
        self._fields = {
            item.name: (field.name, item)
            for item, field in zip(
                describe(kind, prefix),
                dataclasses.fields(kind),  # type: ignore[arg-type]
                strict=True,
            )
        }
        self._check = check
        self._changed = changed
        self._defaults = {
            field_name: item.default if defaults is None else getattr(defaults, field_name)
            for field_name, item in self._fields.values()
        }
        given = {
            field_name: item.checked(_declare(node, item, self._defaults[field_name]))
            for field_name, item in self._fields.values()
        }
        self.value: P = kind(**given)
        check(self.value)
        self._node = node
        node.add_on_set_parameters_callback(self._validate)
        if hasattr(node, "add_post_set_parameters_callback"):
            node.add_post_set_parameters_callback(self._apply)
            self._apply_early = False
        else:  # Humble: the last word is this callback's
            self._apply_early = True

    def close(self) -> None:
        """Stop following the parameters; values other than defaults stay for the next one."""
        self._node.remove_on_set_parameters_callback(self._validate)
        if not self._apply_early:
            self._node.remove_post_set_parameters_callback(self._apply)
        for name, (field_name, item) in self._fields.items():
            is_default = getattr(self.value, field_name) == self._defaults[field_name]
            if is_default and not item.spec.read_only:  # another robot has other defaults
                self._node.undeclare_parameter(name)

    def _with(self, changes: Sequence[Parameter]) -> P:
        """The current values with some replaced."""
        new = {}
        for change in changes:
            if change.name in self._fields:
                field_name, item = self._fields[change.name]
                new[field_name] = item.checked(change.value)
        value = dataclasses.replace(self.value, **new) if new else self.value  # type: ignore[type-var]
        return self.value if value == self.value else value

    def _validate(self, changes: Sequence[Parameter]) -> SetParametersResult:
        try:
            value = self._with(changes)
            if value is not self.value:
                self._check(value)
        except RobotDynamicsError as error:
            return SetParametersResult(successful=False, reason=str(error))
        if self._apply_early:
            self._apply(changes)
        return SetParametersResult(successful=True)

    def _apply(self, changes: Sequence[Parameter]) -> None:
        value = self._with(changes)
        if value is not self.value:
            self.value = value
            self._changed(value)


def unknown_parameters(node: Node) -> str:
    """One line about parameters that were given at start but that the node does not have.

    Ask once all groups are declared.

    Returns:
        The line, with the nearest name that the node has for each, or the names that there are in
        its group; empty if there are none.
    """
    known = list(node.get_parameters_by_prefix(""))
    unknown = [
        name
        for name in sorted(node._parameter_overrides)  # rclpy has no public way to ask
        if not node.has_parameter(name) and not name.startswith(_OF_ROS)
    ]
    if not unknown:
        return ""
    named = []
    for name in unknown:
        close = hint(name, known)
        named.append(f"'{name}'" + (f" ({close})" if close else ""))
    return f"{node.get_name()} ignores parameters that it does not have: {', '.join(named)}"


def hint(name: str, known: Sequence[str]) -> str:
    """Return a hint at the nearest name, part by part: `gains.elbo.p` gives `gains.elbow.p`."""
    meant: list[str] = []
    for part in name.split("."):
        there = _parts_after(meant, known)
        close = part if part in there else nearest(part, there)
        if close is None:
            break
        meant.append(close)
    likely = ".".join(meant)
    if likely in known:
        return f"did you mean '{likely}'?" if likely != name else ""
    if not meant:
        return ""
    there = _parts_after(meant, known)
    more = f", ... {len(there)} in all" if len(there) > _MOST_SHOWN else ""
    return f"{likely} has {', '.join(there[:_MOST_SHOWN])}{more}"


def _parts_after(start: list[str], known: Sequence[str]) -> list[str]:
    """Return the next parts of all names that start with these parts."""
    split = [name.split(".") for name in known]
    n = len(start)
    return list(dict.fromkeys(parts[n] for parts in split if parts[:n] == start and parts[n:]))


def _declare(node: Node, item: Described, default: Any) -> Any:
    """Declare one parameter; return its value from a file or the command line, or the default."""
    if node.has_parameter(item.name):
        return node.get_parameter(item.name).value
    given = list(default) if isinstance(default, tuple) else default
    # Declared twice: first without constraints, as a refusal of rclpy does not name the allowed
    # values, then with the descriptor
    value = node.declare_parameter(item.name, given, ParameterDescriptor(dynamic_typing=True)).value
    node.undeclare_parameter(item.name)
    checked = item.checked(value)
    given = list(checked) if isinstance(checked, tuple) else checked
    node.declare_parameter(item.name, given, item.descriptor, ignore_override=True)
    return checked


def _kind(hint: Any) -> Any:
    """Return the type of a field: float, or (float,) for tuple[float, ...]."""
    if get_origin(hint) is tuple:
        return (get_args(hint)[0],)
    return hint


def _scalar(kind: Any) -> Any:
    return kind[0] if isinstance(kind, tuple) else kind


def _is_sequence(value: Any) -> bool:
    return not isinstance(value, (str, bytes)) and isinstance(value, Iterable)


def _fits(value: Any, kind: type) -> bool:
    """Return whether a value fits a parameter type; an integer fits float."""
    if isinstance(value, bool) or kind is bool:
        return isinstance(value, bool) and kind is bool
    if kind is float:
        return isinstance(value, (int, float))
    return isinstance(value, kind)
