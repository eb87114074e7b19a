"""CDR: messages of the fast loop, read from the bytes of the middleware and written as bytes.

rclpy builds a Python object for every message and for every number in it. Here the numbers of a
message are a view into its bytes, if all other bytes are those of an earlier message. Any other
message is deserialized by rclpy. See benchmark/records/wire.md.

The Common Data Representation of DDS-XTypes 1.3, section 7.4.1 (XCDR version 1, plain,
little-endian): four bytes of encapsulation, then every field, aligned to its own size relative to
the end of these bytes. Text and sequences begin with their length, text ends with a zero. Senders
leave arbitrary values in the bytes that align the fields.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics.compiler.native.extraction import extractor
from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.units import NS_PER_S
from robot_dynamics.nodes.ros.joint_values import FIELDS, Efforts, JointValues

ENCAPSULATION = b"\x00\x01\x00\x00"
"""First bytes of plain little-endian CDR."""

STAMP, STAMP_AT = struct.Struct("<iI"), len(ENCAPSULATION)
"""A builtin_interfaces/Time, seconds and nanoseconds, and its offset in a message with a header."""

DOUBLE, FLOAT64 = 8, np.dtype("<f8")
"""Size of a float64 in bytes, and its type."""


class MessageLayout:
    """Layout of messages with known texts, integers and lengths, and any numbers.

    Args:
        stamped: Whether the message begins with a stamp, of any value.
        head: The strings, sequences of strings and unsigned integers that follow.
        given: Which of the sequences of float64 that follow are given; the others are empty.
        length: Length of those that are given.

    Attributes:
        blank: A message with every number zero.
        mask: 0xff for each byte that all messages share, else 0; as long.
    """

    def __init__(
        self,
        stamped: bool,
        head: Sequence[str | tuple[str, ...] | int],
        given: Sequence[bool],
        length: int,
    ) -> None:
        data, mask = bytearray(ENCAPSULATION), bytearray(b"\xff" * len(ENCAPSULATION))

        def put(value: bytes, size: int, known: int = 0xFF) -> int:
            padding = bytes(-(len(data) - len(ENCAPSULATION)) % size)
            data.extend(padding + value)
            mask.extend(padding + bytes([known]) * len(value))
            return len(data) - len(value)

        def put_integer(value: int) -> None:
            put(struct.pack("<I", value), 4)

        if stamped:
            put(bytes(STAMP.size), 4, known=0)
        for field in head:
            if isinstance(field, int):
                put_integer(field)
                continue
            if isinstance(field, tuple):
                put_integer(len(field))
            for text in field if isinstance(field, tuple) else (field,):
                encoded = text.encode() + b"\x00"
                put_integer(len(encoded))
                put(encoded, 1)
        first = 0
        for count in (length if each else 0 for each in given):
            put_integer(count)
            if count:  # an empty sequence is not aligned
                start = put(bytes(DOUBLE * count), DOUBLE, known=0)
                first = first or start
        # 8 bytes lie between sequences: a length and alignment
        self._shape, self._strides = (sum(given), length), (DOUBLE * (length + 1), DOUBLE)
        self._first = first  # offset of the first number; 0 if there is none
        self.blank = bytes(data)
        self.mask = bytes(mask)
        self._known, self._mask = (int.from_bytes(x, "little") for x in (data, mask))

    def rows(self, data: bytes | bytearray) -> Array | None:
        """Return the sequences of numbers of a message, as rows of a view into its bytes.

        Returns:
            Numbers, shape (sequences that are given, length); None if the message has another head
            or other lengths. More bytes may follow.
        """
        size = len(self.blank)
        head = int.from_bytes(data[:size], "little") & self._mask
        if len(data) < size or head != self._known:
            return None
        return np.ndarray(self._shape, FLOAT64, data, self._first, self._strides)

    def place(self, row: int, column: int) -> int:
        """Return the offset of a number of the rows."""
        return self._first + self._strides[0] * row + self._strides[1] * column


def joint_state_layout(
    names: tuple[str, ...], absent: tuple[str, ...], frame_id: str
) -> MessageLayout:
    """Return the layout of a sensor_msgs/JointState."""
    given = [field not in absent for field in FIELDS]
    return MessageLayout(True, (frame_id, names), given, len(names))


def efforts_layout(count: int, label: str = "") -> MessageLayout:
    """Return the layout of a std_msgs/Float64MultiArray, with a dimension if it has a label."""
    dimensions = (1, label, count, count) if label else (0,)
    return MessageLayout(False, (*dimensions, 0), [True], count)  # the last one is data_offset


@cache
def given_rows(absent: tuple[str, ...]) -> list[int]:
    """Return the rows of `JointValues` whose fields are present."""
    return [i for i, field in enumerate(FIELDS) if field not in absent]


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


class EffortsReader:
    """Reads the bytes of std_msgs/Float64MultiArray: its numbers, and the label of its dimension.

    Args:
        topic: Name of the topic, for messages of errors.
    """

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._layout, self._label = efforts_layout(0), ""

    def __call__(self, data: bytes) -> Efforts:
        """Return the efforts of one message.

        Raises:
            ArgumentError: If these are not the bytes of such a message.
        """
        if (rows := self._layout.rows(data)) is not None:
            return Efforts(self._label, rows.reshape(-1))
        msg = deserialized(self._topic, data, Float64MultiArray)
        dimensions = msg.layout.dim
        self._label = dimensions[0].label if len(dimensions) == 1 else ""
        self._layout = efforts_layout(len(msg.data), self._label)
        return Efforts(self._label, np.array(msg.data))


def _bytes_for_extraction(topic: str) -> Callable[[bytes], bytes]:
    """Return a reader of bytes as they are, once the code that extracts their numbers is there."""
    extractor()
    return bytes


READERS: Mapping[type, Callable[[str], Callable[[bytes], Any]]] = {
    JointState: _bytes_for_extraction,  # by `JointReader`
    Float64MultiArray: EffortsReader,
}
"""Readers of the bytes of a message, by its type; made from the name of the topic."""


class JointStateWriter:
    """Writes sensor_msgs/JointState."""

    def __init__(self) -> None:
        self._like: tuple[tuple[str, ...], tuple[str, ...], str] | None = None

    def __call__(self, values: JointValues) -> bytes:
        """Return the bytes of one message."""
        like = values.names, values.absent, values.frame_id
        if like != self._like:
            self._like, layout = like, joint_state_layout(*like)
            self._data = bytearray(layout.blank)
            rows = layout.rows(self._data)
            assert rows is not None
            self._rows = rows
        self._rows[...] = values.rows[given_rows(values.absent)] if values.absent else values.rows
        STAMP.pack_into(self._data, STAMP_AT, *divmod(values.stamp, NS_PER_S))
        return bytes(self._data)


class EffortsWriter:
    """Writes std_msgs/Float64MultiArray."""

    def __init__(self) -> None:
        self._like, self._head = (-1, ""), b""

    def __call__(self, efforts: Efforts) -> bytes:
        """Return the bytes of one message."""
        label, values = efforts
        like = len(values), label
        if like != self._like:
            blank = efforts_layout(*like).blank
            self._like, self._head = like, blank[: len(blank) - values.nbytes]
        return self._head + values.tobytes()


WRITERS: Mapping[type, Callable[[], Callable[[Any], bytes]]] = {
    JointState: JointStateWriter,
    Float64MultiArray: EffortsWriter,
}
"""Writers of the bytes of a message, by its type."""
