"""Bytes straight into arrays, against the ordinary way: bytes as values, values to the reader."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("rclpy")

from hypothesis import given
from hypothesis import strategies as st

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes.ros.cdr import DirectReader, JointStateReader, JointStateWriter
from robot_dynamics.nodes.ros.joint_values import JointValues
from robot_dynamics.nodes.ros.messages import JointReader

ARM = ("shoulder", "elbow", "wrist")
SENDERS = (
    (ARM, ()),
    (("wrist", "shoulder", "elbow"), ()),  # of the same length as the one before
    (("finger", "elbow", "shoulder", "wrist"), ()),
    (("elbow", "wrist"), ("effort",)),
    (("thumb", "index"), ()),
)
NUMBERS = st.one_of(
    st.floats(-10.0, 10.0), st.sampled_from([np.nan, np.inf, -np.inf, 1e149, 1e160, -0.0, 5e-324])
)
STEPS = st.sampled_from([0, 1, 1_000_000, -1, -999_999_999, -(10**9), -(10**10), 10**12])


@st.composite
def traffic(draw):
    """Messages of several senders, whole, cut or with a changed byte."""
    messages, stamp = [], 10**18
    for _ in range(draw(st.integers(1, 12))):
        names, absent = draw(st.sampled_from(SENDERS))
        stamp = max(stamp + draw(STEPS), 0) if draw(st.integers(0, 5)) else 0
        rows = np.array([[draw(NUMBERS) for _ in names] for _ in range(3)])
        given_names = JointValues(names, stamp, rows, absent, draw(st.sampled_from("ab")))
        data = bytearray(JointStateWriter()(given_names))
        harm = draw(st.sampled_from(["none", "none", "none", "byte", "cut", "longer"]))
        if harm == "byte":
            data[draw(st.integers(0, len(data) - 1))] ^= draw(st.integers(1, 255))
        elif harm == "cut":
            data = data[: draw(st.integers(0, len(data) - 1))]
        elif harm == "longer":
            data += b"\x07" * draw(st.integers(1, 9))
        messages.append(bytes(data))
        stamp = stamp or 10**18
    return messages


def answer(read, *arguments):
    try:
        return read(*arguments)
    except RobotDynamicsError as error:
        return str(error)


def state_of(reader):
    return reader.values.tobytes(), reader.stamp, reader.complete, reader.missing


@given(traffic(), st.sampled_from([("position", "velocity"), ("position", "velocity", "effort")]))
def test_bytes_are_read_as_the_ordinary_way_reads_them(messages, required):
    direct, ordinary = (kind("t", ARM, required) for kind in (DirectReader, JointReader))
    values = JointStateReader("t")
    for i, data in enumerate(messages):
        if i == 6:
            direct.forget()
            ordinary.forget()
        for _ in range(3):  # the third one finds a plan
            direct_answer = answer(direct.read, data)
            assert direct_answer == answer(lambda data=data: ordinary.read(values(data)))
            assert state_of(direct) == state_of(ordinary)


def test_the_usual_message_makes_no_values():
    reader, write = DirectReader("t", ARM), JointStateWriter()

    def said(stamp, rows):
        return write(JointValues(ARM, stamp, rows))

    rng = np.random.default_rng(1)
    for stamp in (1, 2):
        assert reader.read(said(stamp, rng.normal(size=(3, 3))))
    reader._message = None
    rows = rng.normal(size=(3, 3))
    assert reader.read(said(3, rows))
    np.testing.assert_array_equal(reader.position, rows[0])
    np.testing.assert_array_equal(reader.effort, rows[2])
    assert reader.stamp == 3
