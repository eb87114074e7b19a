"""Named commands read from bytes, against the messages that rclpy makes of the same bytes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from sensor_msgs.msg import JointState

from robot_dynamics import read_urdf
from robot_dynamics.control import Actuators
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes.ros.joint_values import JointValues
from robot_dynamics.nodes.ros.message_bytes import (
    JointStateReader,
    JointStateWriter,
    deserialized,
)
from robot_dynamics.nodes.simulator.effort_commands import Commands, Pairing
from robot_dynamics.robot import find_robot

ROBOT = read_urdf(find_robot("planar_2r"))
JOINTS = ROBOT.joint_names
TURNED = np.array([1, 0])
SENDERS = (
    (JOINTS, ("position", "velocity")),
    (JOINTS[::-1], ("position", "velocity")),  # of the same length as the one before
    (("finger", *JOINTS), ("velocity",)),
    (JOINTS, ()),
    (JOINTS, ("effort",)),
    (JOINTS[:1], ("position", "velocity")),
    ((*JOINTS, JOINTS[0]), ()),
)
NUMBERS = st.one_of(
    st.floats(-10.0, 10.0), st.sampled_from([np.nan, np.inf, -np.inf, 1e149, 1e160, -0.0, 5e-324])
)
NOW, ALLOWED = 10**18, 10**8


@st.composite
def commands_as_bytes(draw):
    """Commands of several senders, whole, cut or with a changed byte."""
    messages = []
    for _ in range(draw(st.integers(1, 10))):
        names, absent = draw(st.sampled_from(SENDERS))
        stamp = draw(st.sampled_from([0, NOW, NOW, NOW - 1, NOW - 10**10, NOW + 10**10]))
        rows = np.array([[draw(NUMBERS) for _ in names] for _ in range(3)])
        data = bytearray(JointStateWriter().bytes_of(JointValues(names, stamp, rows, absent)))
        harm = draw(st.sampled_from(["none", "none", "none", "byte", "cut", "longer"]))
        if harm == "byte":
            data[draw(st.integers(0, len(data) - 1))] ^= draw(st.integers(1, 255))
        elif harm == "cut":
            data = data[: draw(st.integers(0, len(data) - 1))]
        elif harm == "longer":
            data += b"\x07" * draw(st.integers(1, 9))
        messages.append(bytes(data))
    return messages


def pairing():
    made = Pairing()
    made.published = NOW
    return made


def counting(pairing):
    def counts(stamp):
        pairing.check(stamp, NOW, ALLOWED)
        return True

    return counts


def told(commands, message, counts):
    """What becomes of a command, and of those before."""
    try:
        said = commands.read_named(message(), 1.0, counts)
    except RobotDynamicsError as error:
        said = str(error)
    return said, commands.tau.tobytes(), commands.at, commands.form


@given(commands_as_bytes())
def test_bytes_are_read_as_the_messages_of_rclpy_are(messages):
    topic = "effort_command_named"
    ours, theirs = Commands(ROBOT, TURNED), Commands(ROBOT, TURNED)
    values = JointStateReader(topic)
    for_ours, for_theirs = counting(pairing()), counting(pairing())
    for data in messages:
        for _ in range(2):  # the second one is of a known layout
            found = told(ours, lambda data=data: values(data), for_ours)
            expected = told(
                theirs, lambda data=data: deserialized(topic, data, JointState), for_theirs
            )
            assert found == expected


def said(names, *efforts):
    return JointValues.of_efforts(names, NOW, np.array(efforts))


def test_a_command_that_does_not_count_changes_nothing():
    commands = Commands(ROBOT, TURNED)
    for _ in range(3):
        assert commands.read_named(said(JOINTS, 1.0, 2.0), 1.0)
    assert not commands.read_named(said(JOINTS, 5.0, 6.0), 2.0, lambda stamp: stamp != NOW)
    assert (commands.tau.tolist(), commands.at) == ([1.0, 2.0], 1.0)


def test_commands_of_other_actuators_are_read_by_their_names_at_once():
    commands = Commands(ROBOT, np.array([0, 1]))
    for _ in range(3):
        commands.read_named(said(JOINTS, 1.0, 2.0), 1.0)
    commands.use(Actuators(("motor_1", "motor_2"), JOINTS, np.diag([10.0, 1.0])))
    for _ in range(3):
        commands.read_named(said(("motor_1", "motor_2"), 1.0, 2.0), 2.0)
        assert commands.tau.tolist() == [10.0, 2.0]
    with pytest.raises(RobotDynamicsError, match="motor_1"):
        commands.read_named(said(JOINTS, 1.0, 2.0), 3.0)
