"""Messages as bytes, against rclpy.serialization: what it writes, and what it reads."""

from __future__ import annotations

import struct

import numpy as np
import pytest

pytest.importorskip("rclpy")

from hypothesis import given
from hypothesis import strategies as st
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension, MultiArrayLayout

from robot_dynamics.errors import ArgumentError
from robot_dynamics.nodes.ros.cdr import (
    ENCAPSULATION,
    EffortsReader,
    EffortsWriter,
    JointStateWriter,
    efforts_layout,
)
from robot_dynamics.nodes.ros.joint_values import FIELDS, Efforts, JointValues
from robot_dynamics.nodes.ros.messages import JointReader, nanoseconds, time_msg

NAMES = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=9), max_size=8
)
NUMBER = st.floats(width=64)
STAMP = st.integers(0, 2**31 * 10**9 - 1)


@st.composite
def joint_states(draw):
    """Any JointState: fields for every name, for none, or of lengths that do not fit."""
    names = draw(NAMES)
    lengths = st.sampled_from([len(names), len(names), 0, len(names) + 1])
    values = {
        field: draw(st.lists(NUMBER, min_size=n, max_size=n))
        for field, n in zip(FIELDS, draw(st.tuples(lengths, lengths, lengths)), strict=True)
    }
    msg = JointState(name=names, **values)
    msg.header.stamp = time_msg(draw(STAMP))
    msg.header.frame_id = draw(
        st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=9)
    )
    return msg


def said(msg):
    """All that a message says, numbers as bytes, so that NaN is equal to itself."""
    return (
        list(msg.name),
        nanoseconds(msg.header.stamp),
        msg.header.frame_id,
        *(np.array(getattr(msg, field)).tobytes() for field in FIELDS),
    )


def by_hand(msg, order):
    """A JointState as a sender of that byte order writes it, and which bytes say anything."""
    data, says = bytearray([0, order == "little", 0, 0]), bytearray(b"\xff" * 4)

    def put(size, value):
        padding = -(len(data) - 4) % size
        data.extend(bytes(padding) + value)
        says.extend(bytes(padding) + b"\xff" * len(value))

    def whole(value):
        put(4, value.to_bytes(4, order))

    def text(value):
        encoded = value.encode() + b"\0"
        whole(len(encoded))
        put(1, encoded)

    whole(msg.header.stamp.sec)
    whole(msg.header.stamp.nanosec)
    text(msg.header.frame_id)
    whole(len(msg.name))
    for name in msg.name:
        text(name)
    for field in FIELDS:
        whole(len(getattr(msg, field)))
        for number in getattr(msg, field):
            put(8, struct.pack("<d" if order == "little" else ">d", number))
    return bytes(data), bytes(says)


def fits(msg):
    return {len(getattr(msg, field)) for field in FIELDS} <= {0, len(msg.name)}


def values_of(msg):
    n = len(msg.name)
    rows = np.array([getattr(msg, field) or [np.nan] * n for field in FIELDS]).reshape(3, n)
    absent = tuple(field for field in FIELDS if not getattr(msg, field))
    return JointValues(
        tuple(msg.name), nanoseconds(msg.header.stamp), rows, absent, msg.header.frame_id
    )


def outcome(reader, form):
    """Read a message; return the answer or refusal, and all that the reader knows then."""
    try:
        answer = reader.read(form)
    except ArgumentError as error:
        answer = str(error)
    return answer, reader.stamp, reader.missing, reader.values.tobytes()


@given(st.lists(joint_states(), min_size=1, max_size=3))
def test_every_joint_state_is_read_from_bytes_as_rclpy_reads_it_also_after_others(messages):
    ours = {name for msg in messages for name in msg.name}
    readers = JointReader("joint_states", ours), JointReader("joint_states", ours)
    for msg in [m for m in messages for _ in range(3)]:
        by_bytes, by_rclpy = map(outcome, readers, (serialize_message(msg), msg))
        assert by_bytes == by_rclpy


@given(joint_states().filter(fits))
def test_what_is_written_is_what_rclpy_writes_but_for_bytes_that_say_nothing(msg):
    written, theirs = JointStateWriter()(values_of(msg)), serialize_message(msg)
    assert said(deserialize_message(written, JointState)) == said(msg)
    expected, says = by_hand(msg, "little")
    assert written == expected
    ours, given, says = (np.frombuffer(x, np.uint8, len(expected)) for x in (written, theirs, says))
    np.testing.assert_array_equal(ours & says, given & says)


@given(st.lists(joint_states().filter(fits), min_size=2, max_size=4))
def test_one_writer_writes_messages_of_different_shapes_by_turns(messages):
    writer = JointStateWriter()
    for msg in messages * 2:
        assert said(deserialize_message(writer(values_of(msg)), JointState)) == said(msg)


def efforts_msg(label, efforts):
    """The message of rclpy, with one dimension if there is a label."""
    n = len(efforts)
    dimensions = [MultiArrayDimension(label=label, size=n, stride=n)] if label else []
    return Float64MultiArray(layout=MultiArrayLayout(dim=dimensions), data=efforts)


LABEL = st.sampled_from(["", "joints: a, b", "actuators: a, b", "Gelenke: Ärmel"])


@given(st.lists(st.tuples(LABEL, st.lists(NUMBER, max_size=9)), min_size=1, max_size=3))
def test_efforts_are_written_and_read_as_by_rclpy(messages):
    reader, writer = EffortsReader("effort_command"), EffortsWriter()
    for label, efforts in messages * 2:
        given, msg = np.array(efforts, dtype=float), efforts_msg(label, efforts)
        data, theirs = writer(Efforts(label, given)), serialize_message(msg)
        assert deserialize_message(data, Float64MultiArray).layout == msg.layout
        assert deserialize_message(data, Float64MultiArray).data.tobytes() == given.tobytes()
        for read in (reader(theirs), reader(data), reader(theirs)):
            assert (read.label, read.values.tobytes()) == (label, given.tobytes())
        assert efforts_layout(len(given), label).rows(theirs) is not None


def test_efforts_of_several_dimensions_have_no_label():
    dimensions = [MultiArrayDimension(label=label, size=1, stride=1) for label in "ab"]
    msg = Float64MultiArray(layout=MultiArrayLayout(dim=dimensions), data=[1.0, 2.0])
    reader = EffortsReader("effort_command")
    for _ in range(2):
        read = reader(serialize_message(msg))
        assert (read.label, read.values.tolist()) == ("", [1.0, 2.0])


def test_a_big_endian_message_is_read_by_rclpy():
    msg = JointState(name=["a", "elbow"], position=[1.0, 2.0], velocity=[3.0, 4.0])
    msg.header.stamp = time_msg(5_000_000_006)
    reader = JointReader("joint_states", msg.name)
    theirs, _ = by_hand(msg, "big")
    for data in (theirs, serialize_message(msg), theirs):
        reader.position[:] = 0.0
        assert reader.read(data)
        np.testing.assert_array_equal(reader.position, [1.0, 2.0])
        assert reader.stamp == 5_000_000_006


MESSAGE = JointState(
    name=["shoulder", "elbow", "wrist"], position=[1.0, 2.0, 3.0], velocity=[4.0, 5.0, 6.0]
)
"""A message that is cut and changed."""


@given(st.data())
def test_bytes_that_were_cut_or_changed_are_read_as_by_rclpy_or_refused(data):
    readers = JointReader("joint_states", MESSAGE.name), JointReader("joint_states", MESSAGE.name)
    whole = JointStateWriter()(values_of(MESSAGE))
    for _ in range(2):
        assert outcome(readers[0], whole) == outcome(readers[1], MESSAGE)
    changed = data.draw(mutations(whole))
    try:
        theirs = deserialize_message(changed, JointState)
    except Exception:
        with pytest.raises(ArgumentError, match=r"bytes are not a .*; the message is ignored; "):
            readers[0].read(changed)
    else:
        assert outcome(readers[0], changed) == outcome(readers[1], theirs)
    assert outcome(readers[0], whole) == outcome(readers[1], MESSAGE)


@given(st.data())
def test_efforts_that_were_cut_or_changed_are_read_as_by_rclpy_or_refused(data):
    reader = EffortsReader("effort_command")
    whole = EffortsWriter()(Efforts(data.draw(LABEL), np.array([1.0, 2.0, 3.0])))
    reader(whole)
    changed = data.draw(mutations(whole))
    try:
        theirs = deserialize_message(changed, Float64MultiArray)
    except Exception:
        with pytest.raises(ArgumentError, match=r"bytes are not a .*; the message is ignored; "):
            reader(changed)
    else:
        assert reader(changed).values.tobytes() == np.array(theirs.data).tobytes()
    np.testing.assert_array_equal(reader(whole).values, [1.0, 2.0, 3.0])


def mutations(whole):
    """Bytes cut off, added, and changed one by one."""
    place = st.integers(0, len(whole) - 1)
    return st.builds(
        lambda cut, added, changes: _changed(whole[:cut] + added, changes),
        st.one_of(st.just(len(whole)), place),
        st.binary(max_size=9),
        st.lists(st.tuples(place, st.integers(0, 255)), max_size=4),
    )


def _changed(data, changes):
    result = bytearray(data)
    for place, value in changes:
        if place < len(result):
            result[place] = value
    return bytes(result)


def test_a_layout_tells_its_messages_from_all_others():
    layout = efforts_layout(2)
    data = layout.blank
    assert data.startswith(ENCAPSULATION) and len(data) == 4 + 16 + 2 * 8
    assert all(layout.rows(x) is not None for x in (data, data + b"more"))
    for i in range(16):  # all before what aligns the numbers
        assert layout.rows(data[:i] + b"\x07" + data[i + 1 :]) is None
    for i in range(16, len(data)):
        assert layout.rows(data[:i] + b"\x07" + data[i + 1 :]) is not None
    assert layout.rows(data[:-1]) is None
