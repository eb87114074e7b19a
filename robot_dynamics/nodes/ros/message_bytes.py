"""Messages of the fast loop as serialized bytes, read and written in place.

rclpy builds a Python object for every message and for every number in it. Here texts and lengths
are compared with those of the last message, and numbers are a view into the bytes. Any other
message is deserialized by rclpy; the next one is compared with it. The usual joint_states message
is compared, checked and copied into arrays by one native call. See docs/wire.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Header

from robot_dynamics.compiler.native.entry.extraction import address_of, extractor, plan_of
from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.nodes.ros.cdr import Layout
from robot_dynamics.nodes.ros.joint_values import FIELDS, JointValues, Sender
from robot_dynamics.nodes.ros.messages import JointReader, effort_msg, time_msg

MOST_LAYOUTS = 64
"""Most layouts of one topic to keep; more are a fault."""


def joint_state_layout(names: tuple[str, ...], absent: tuple[str, ...], frame_id: str) -> Layout:
    """Return the layout of a sensor_msgs/JointState."""
    layout = Layout().stamp().text(frame_id).texts(names)
    for field in FIELDS:
        layout.numbers(0 if field in absent else len(names))
    return layout


def efforts_layout(count: int) -> Layout:
    """Return the layout of a std_msgs/Float64MultiArray without dimensions."""
    return Layout().whole(0).whole(0).numbers(count)


@cache
def given_rows(absent: tuple[str, ...]) -> tuple[int, ...]:
    """Return the rows of `JointValues` whose fields are present."""
    return tuple(i for i, field in enumerate(FIELDS) if field not in absent)


class JointStateReader:
    """Reads the bytes of sensor_msgs/JointState.

    Args:
        topic: Name of the topic, for messages of errors.
    """

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._known: dict[int, tuple[Layout, JointValues]] = {}  # by length: several may publish

    def __call__(self, data: bytes) -> JointValues | JointState:
        """Return the values of one message; the message itself if its lengths differ.

        Raises:
            ArgumentError: If these are not the bytes of such a message.
        """
        known = self._known.get(len(data))
        if known is None or not known[0].fits(data):
            return self._read_ordinarily(data)
        layout, like = known
        rows = layout.rows(data)
        if like.absent:
            given, rows = rows, like.rows.copy()
            for i, row in zip(given_rows(like.absent), given, strict=True):
                rows[i] = row
        return JointValues(like.names, layout.read_stamp(data), rows, like.absent, like.frame_id)

    def layout(self, data: bytes) -> Layout:
        """Return the layout of a message whose values were read."""
        return self._known[len(data)][0]

    def _read_ordinarily(self, data: bytes) -> JointState:
        msg = deserialized(self._topic, data, JointState)
        names = tuple(msg.name)
        lengths = {field: len(getattr(msg, field)) for field in FIELDS}
        storable = len(data) in self._known or len(self._known) < MOST_LAYOUTS
        if storable and set(lengths.values()) <= {0, len(names)}:
            absent = tuple(field for field in FIELDS if not lengths[field])
            layout = joint_state_layout(names, absent, msg.header.frame_id)
            if layout.fits(data):
                rows = np.full((3, len(names)), np.nan)
                like = JointValues(names, 0, rows, absent, msg.header.frame_id)
                self._known[len(data)] = layout, like
        return msg


class EffortsReader:
    """Reads the bytes of std_msgs/Float64MultiArray; only its numbers count.

    Args:
        topic: Name of the topic, for messages of errors.
    """

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._layout = efforts_layout(0)

    def __call__(self, data: bytes) -> Array:
        """Return the numbers of one message, shape (n,).

        Raises:
            ArgumentError: If these are not the bytes of such a message.
        """
        if self._layout.fits(data):
            return self._layout.rows(data).reshape(-1)
        msg = deserialized(self._topic, data, Float64MultiArray)
        self._layout = efforts_layout(len(msg.data))
        return np.array(msg.data)


def deserialized(topic: str, data: bytes, kind: type) -> Any:
    """Return the ordinary message.

    Raises:
        ArgumentError: If the middleware cannot read it.
    """
    try:
        return deserialize_message(data, kind)
    except (RuntimeError, UnicodeDecodeError, MemoryError) as error:  # of rmw, the first
        raise ArgumentError(
            f"{topic}: {len(data)} bytes are not a {kind.__name__}; the message is ignored; build "
            "its sender against the same version of the message"
        ) from error


READERS: Mapping[type, Callable[[str], Callable[[bytes], Any]]] = {
    JointState: JointStateReader,
    Float64MultiArray: EffortsReader,
}
"""Readers of the bytes of a message, by its type; made from the name of the topic."""


class JointStateWriter:
    """Writes sensor_msgs/JointState."""

    def __init__(self) -> None:
        self._like: tuple[tuple[str, ...], tuple[str, ...], str] | None = None

    def __call__(self, values: JointValues) -> bytes | JointState:
        """Return the bytes of one message; the message if the middleware uses other bytes."""
        return self.bytes_of(values) if writes_cdr() else joint_values_msg(values)

    def bytes_of(self, values: JointValues) -> bytes:
        """Return the bytes of one message as CDR."""
        like = values.names, values.absent, values.frame_id
        if like != self._like:
            self._like = like
            self._layout = joint_state_layout(*like)
            self._data = self._layout.blank()
            self._rows = self._layout.rows(self._data)
            self._given = given_rows(values.absent)
        if values.absent:
            for row, i in zip(self._rows, self._given, strict=True):
                row[:] = values.rows[i]
        else:
            self._rows[...] = values.rows
        self._layout.write_stamp(self._data, values.stamp)
        return bytes(self._data)


class EffortsWriter:
    """Writes std_msgs/Float64MultiArray."""

    def __init__(self) -> None:
        self._cdr = writes_cdr()
        self._shape, self._head = (-1,), b""

    def __call__(self, efforts: Array) -> bytes | Float64MultiArray:
        """Return the bytes of one message; the message if the middleware uses other bytes."""
        if not self._cdr:
            return effort_msg(efforts)
        if efforts.shape != self._shape:
            whole = efforts_layout(len(efforts)).blank()
            self._shape, self._head = efforts.shape, bytes(whole[: len(whole) - efforts.nbytes])
        return self._head + efforts.tobytes()


WRITERS: Mapping[type, Callable[[], Callable[[Any], Any]]] = {
    JointState: JointStateWriter,
    Float64MultiArray: EffortsWriter,
}
"""Writers of the bytes of a message, by its type."""


def joint_values_msg(values: JointValues) -> JointState:
    """Return joint values as the ordinary message."""
    header = Header(stamp=time_msg(values.stamp), frame_id=values.frame_id)
    given = {
        field: row.tolist()
        for field, row in zip(FIELDS, values.rows, strict=True)
        if field not in values.absent
    }
    return JointState(header=header, name=list(values.names), **given)


@cache
def writes_cdr() -> bool:
    """Return whether the middleware at hand reads these bytes; tried once."""
    rows = np.array([[1.0, 2.0], [0.0, 0.0], [3.0, 4.0]])
    values = JointValues(("a", "joint"), 1_000_000_002, rows, ("velocity",), "base")
    data = JointStateWriter().bytes_of(values)
    try:
        return bool(deserialize_message(data, JointState) == joint_values_msg(values))
    except RuntimeError:  # of rmw
        return False


Plan = tuple[bytes, Sender, Array]
"""Plan for the messages of a sender, see `plan_of`; the sender; the array that it writes."""


class DirectReader(JointReader):
    """Reads bytes of sensor_msgs/JointState straight into its arrays; see `JointReader`.

    A message like the last one of its sender is read by one native call; `JointReader` reads all
    others and finds their faults.
    """

    def __init__(
        self, topic: str, joint_names: Sequence[str], required: Sequence[str] = ("position",)
    ) -> None:
        self._message = JointStateReader(topic)
        self._extract = extractor()
        self._plans: dict[int, Plan] = {}  # by length of the message
        self._plan: Plan | None = None  # that of the last one
        super().__init__(topic, joint_names, required)

    def forget(self) -> None:
        """See `JointReader.forget`."""
        self._plans.clear()  # they name the addresses of arrays
        self._plan = None
        super().forget()

    def read(self, msg: bytes | JointState | JointValues) -> bool:
        """See `JointReader.read`.

        Raises:
            ArgumentError: Also if bytes are not those of such a message.
        """
        if type(msg) is not bytes:
            return super().read(msg)
        plan = self._plan
        if plan is None or self._extract is None:  # the latter with the former
            return self._read_unlike(msg)
        stamp = self._extract(msg, plan[0], plan[1].stamp)
        if stamp is None:
            return self._read_unlike(msg)
        self.stamp = plan[1].stamp = stamp
        return True

    def _read_unlike(self, data: bytes) -> bool:
        """Read a message unlike the last one: of another sender, or faulty."""
        plan = self._plans.get(len(data))
        if plan is not None and plan is not self._plan:
            self._plan = plan
            return self.read(data)
        values = self._message(data)
        ours = super().read(values)
        if ours and self._extract and isinstance(values, JointValues) and not values.absent:
            self._plan = self._plan_for(data), self._last, self.values
            self._plans[len(data)] = self._plan
        return ours

    def _plan_for(self, data: bytes) -> bytes:
        """Return the plan for messages like this one, which gives all fields."""
        layout, names = self._message.layout(data), self._last.names
        columns = [self._column.get(name) for name in names]
        copies = [
            (layout.place(row, i), address_of(self.values[row, column:]))
            for row in range(len(self.values))
            for i, column in enumerate(columns)
            if column is not None
        ]
        required = len(self._required) * len(copies) // len(self.values)
        return plan_of(len(data), *layout.known, layout.stamp_at, copies, required)
