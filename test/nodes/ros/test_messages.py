"""Messages: matched by joint name, taken in parts, refused whole when a number is wrong."""

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from builtin_interfaces.msg import Time
from geometry_msgs.msg import InertiaStamped, WrenchStamped
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from joint_messages import joint_state_msg
from robot_dynamics.errors import ArgumentError, ShapeError, TrajectoryError
from robot_dynamics.foundation.units import NS_PER_S
from robot_dynamics.nodes.ros.joint_values import FIELDS
from robot_dynamics.nodes.ros.load_messages import body_from_msg, wrench_from_msg
from robot_dynamics.nodes.ros.messages import (
    STUCK,
    JointReader,
    StampCheck,
    duration_msg,
    nanoseconds,
    time_msg,
    trajectory_msg,
)
from robot_dynamics.trajectory.waypoints import waypoints_from_msg

ARM = ("shoulder", "elbow", "wrist")


def states(names, position, velocity=(), effort=(), stamp=0):
    return JointState(
        name=list(names),
        position=list(position),
        velocity=list(velocity),
        effort=list(effort),
        header=JointState().header.__class__(stamp=time_msg(stamp)),
    )


@given(st.permutations(ARM + ("other_robot", "gripper")))
def test_joints_are_matched_by_name_in_any_order_and_company(names):
    value = {name: float(k) for k, name in enumerate(("gripper", *ARM, "other_robot"))}
    reader = JointReader("joint_states", ARM)
    assert reader.read(states(names, [value[n] for n in names], [-value[n] for n in names]))
    np.testing.assert_array_equal(reader.position, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(reader.velocity, [-1.0, -2.0, -3.0])
    assert reader.complete


NUMBERS = st.sampled_from([st.floats(-9.0, 9.0), st.sampled_from([1.0, np.nan, np.inf, 1e160])])
SENDERS = st.lists(
    st.tuples(
        st.lists(st.sampled_from((*ARM, "gripper")), min_size=1, unique=True),
        st.lists(st.booleans(), min_size=3, max_size=3),
    ),
    min_size=1,
    max_size=3,
)


@given(
    st.data(), SENDERS, st.sampled_from([("position",), ("position", "velocity"), FIELDS]), NUMBERS
)
def test_bytes_are_read_as_the_messages_that_they_are(data, senders, required, numbers):
    """Of several senders by turns, from one message to the next, with what is refused."""
    readers = JointReader("joint_states", ARM, required), JointReader("joint_states", ARM, required)
    for k in range(12):
        names, given_fields = senders[k % len(senders)]
        rows = [
            data.draw(st.lists(numbers, min_size=len(names), max_size=len(names))) if field else []
            for field in given_fields
        ]
        msg = states(names, *rows, stamp=data.draw(st.sampled_from([0, 10**9 + k, 10**9 - k])))
        found = []
        for reader, form in zip(readers, (msg, serialize_message(msg)), strict=True):
            try:
                taken = reader.read(form)
            except ArgumentError as error:
                taken = str(error)
            found.append((taken, reader.stamp, reader.missing, reader.values.tobytes()))
        assert found[0] == found[1]


def test_parts_of_the_state_may_come_in_several_messages():
    reader = JointReader("joint_states", ARM)
    assert reader.read(states(["wrist"], [3.0]))
    assert (reader.complete, reader.missing) == (False, ("shoulder", "elbow"))
    assert reader.read(states(["elbow", "shoulder"], [2.0, 1.0]))
    assert (reader.complete, reader.missing) == (True, ())
    np.testing.assert_array_equal(reader.position, [1.0, 2.0, 3.0])


def test_a_joint_that_messages_cease_to_name_is_missing_until_it_is_named_again():
    reader = JointReader("joint_states", ARM)
    for _ in range(3):
        reader.read(states(ARM, [1.0, 2.0, 3.0]))
    for k in range(3):
        assert reader.complete is (k < 3)
        reader.read(states(ARM[:2], [1.0, 2.0]))
    assert not reader.complete and reader.missing == ("wrist",)
    reader.read(states(ARM[2:], [3.0]))
    assert reader.complete


@pytest.mark.parametrize("slower", [1, 5, 20])
def test_parts_that_come_at_different_rates_are_complete(slower):
    reader = JointReader("joint_states", ARM)
    reader.read(states(ARM, [1.0, 2.0, 3.0]))
    complete = []
    for k in range(10 * slower):
        if k % slower == 0:
            reader.read(states(ARM[2:], [3.0]))
        reader.read(states(ARM[:2], [1.0, 2.0]))
        complete.append(reader.complete)
    assert all(complete[2 * slower :])


def test_a_message_of_another_robot_is_not_ours():
    reader = JointReader("joint_states", ARM)
    assert not reader.read(states(["left_wheel"], [5.0]))
    assert not reader.complete


def test_velocity_and_effort_may_be_absent():
    reader = JointReader("joint_states", ARM)
    reader.read(states(ARM, [1.0, 2.0, 3.0]))
    assert np.isnan(reader.velocity).all() and np.isnan(reader.effort).all()


@pytest.mark.parametrize(
    ("message", "error"),
    [
        (
            states(ARM, [1.0, np.nan, 3.0]),
            "joint_states: position of joint 'elbow' is nan; the message is ignored",
        ),
        (
            states(ARM, [1.0, 2.0, -np.inf]),
            "joint_states: position of joint 'wrist' is -inf; the message is ignored",
        ),
        (
            states(ARM, [1.0, 2.0]),
            "joint_states: position has 2 entries for 3 names; give one per name",
        ),
        (states(ARM, []), "joint_states: position has 0 entries for 3 names; give one per name"),
        (
            states(ARM, [1.0, 2.0, 3.0], [1.0]),
            "joint_states: velocity has 1 entry for 3 names; give one per name or none",
        ),
        (
            states(["elbow", "elbow"], [1.0, 2.0]),
            "joint_states: joint 'elbow' stands twice; name each joint once",
        ),
    ],
)
def test_a_faulty_message_is_refused_whole_with_one_line(message, error):
    reader = JointReader("joint_states", ARM)
    reader.read(states(ARM, [7.0, 8.0, 9.0], [1.0, 1.0, 1.0], stamp=5))
    with pytest.raises(ArgumentError) as refusal:
        reader.read(message)
    assert str(refusal.value) == error
    np.testing.assert_array_equal(reader.position, [7.0, 8.0, 9.0])
    np.testing.assert_array_equal(reader.velocity, [1.0, 1.0, 1.0])
    assert reader.stamp == 5


@pytest.mark.parametrize(
    ("message", "error"),
    [
        (
            states([], [1.0, 2.0, 3.0]),
            "reference: position has 3 entries, but name is empty; the message is ignored; name "
            "the joint of every entry",
        ),
        (
            states([], [], effort=[1.0]),
            "reference: effort has 1 entry, but name is empty; the message is ignored; name "
            "the joint of every entry",
        ),
    ],
)
def test_entries_without_any_names_are_refused(message, error):
    reader = JointReader("reference", ARM)
    for _ in range(2):
        with pytest.raises(ArgumentError) as refusal:
            reader.read(message)
        assert str(refusal.value) == error


def test_an_empty_message_says_nothing():
    assert not JointReader("reference", ARM).read(JointState())


def test_a_wrong_number_of_another_robot_is_none_of_our_business():
    reader = JointReader("joint_states", ARM)
    assert reader.read(states((*ARM, "broken"), [1.0, 2.0, 3.0, np.nan]))


def test_fields_that_are_required_must_be_there():
    reader = JointReader("reference", ARM, ("position", "velocity", "effort"))
    with pytest.raises(ShapeError, match="velocity has 0 entries for 3 names; give one per name"):
        reader.read(states(ARM, [1.0, 2.0, 3.0]))


def test_a_wrench_is_force_over_moment_and_its_wrong_number_is_named():
    msg = WrenchStamped()
    msg.wrench.force.x, msg.wrench.torque.z = 1.0, 2.0
    np.testing.assert_array_equal(wrench_from_msg(msg), [1, 0, 0, 0, 0, 2])
    msg.wrench.torque.y = np.nan
    with pytest.raises(ArgumentError, match=r"^torque\.y is nan; every number must be finite$"):
        wrench_from_msg(msg)


def test_a_body_is_mass_centre_and_moments_and_its_wrong_number_is_named():
    msg = InertiaStamped()
    body = msg.inertia
    body.m, body.com.y, body.ixz, body.izz = 1.5, 0.1, 0.2, 0.3
    assert body_from_msg(msg) == (1.5, [0.0, 0.1, 0.0], [0.0, 0.0, 0.2, 0.0, 0.0, 0.3])
    body.ixy = -np.inf
    with pytest.raises(ArgumentError, match=r"^ixy is -inf; every number must be finite$"):
        body_from_msg(msg)
    body.m = np.nan
    with pytest.raises(ArgumentError, match=r"^m is nan; every number must be finite$"):
        body_from_msg(msg)
    body.m, body.ixy = -1.0, 0.0
    with pytest.raises(ArgumentError, match=r"^m is -1 kg; a mass must be zero or positive$"):
        body_from_msg(msg)


@given(st.integers(0, 2**31 * 10**9 - 1))
def test_times_survive_a_message(ns):
    assert nanoseconds(time_msg(ns)) == ns


@given(st.floats(0.0, 1e5))
def test_durations_survive_a_message_to_the_nanosecond(seconds):
    assert nanoseconds(duration_msg(seconds)) * 1e-9 == pytest.approx(seconds, abs=1e-9)


def test_joint_values_survive_a_message():
    q, qd, tau = np.array([1.0, 2.0]), np.array([3.0, 4.0]), np.array([5.0, 6.0])
    reader = JointReader("reference", ("a", "b"), ("position", "velocity", "effort"))
    reader.read(joint_state_msg(("a", "b"), q, qd, tau, Time(sec=7, nanosec=8)))
    np.testing.assert_array_equal([reader.position, reader.velocity, reader.effort], [q, qd, tau])
    assert reader.stamp == 7_000_000_008


def trajectory(names, *points):
    return JointTrajectory(
        joint_names=list(names),
        points=[
            JointTrajectoryPoint(time_from_start=duration_msg(time), positions=q, velocities=qd)
            for time, q, qd in points
        ],
    )


def test_a_trajectory_survives_the_way_to_waypoints_and_back():
    msg = trajectory(ARM, (0.5, [1.0, 2.0, 3.0], []), (1.25, [2.0, 3.0, 4.0], [0.0, 0.0, 0.0]))
    assert trajectory_msg(waypoints_from_msg(msg, ARM)) == msg


def test_a_trajectory_with_an_unknown_joint_is_refused():
    with pytest.raises(TrajectoryError, match=r"no joint 'elbo'.*did you mean 'elbow'"):
        waypoints_from_msg(trajectory(["elbo"], (1.0, [1.0], [])), ARM)


def test_a_message_that_came_out_of_order_is_refused_and_a_clock_that_was_set_is_not():
    reader = JointReader("joint_states", ["a"])

    def state(seconds, q, names=("a",)):
        msg = JointState(name=list(names), position=[q] * len(names))
        msg.header.stamp = time_msg(round(seconds * NS_PER_S))
        return msg

    reader.read(state(10.0, 1.0))
    with pytest.raises(ArgumentError, match=r"the stamp goes back by 0\.25 s"):
        reader.read(state(9.75, 2.0))
    assert reader.position[0] == 1.0
    reader.read(state(9.9, 3.0, names=("a", "b")))  # another publisher
    assert reader.position[0] == 3.0
    reader.read(state(10.0, 4.0))  # the same moment again
    reader.read(state(2.0, 5.0))  # the clock was set
    assert reader.position[0] == 5.0
    reader.read(state(0.0, 6.0))  # no stamp at all
    assert reader.position[0] == 6.0


def test_one_stamp_from_the_future_does_not_keep_out_the_messages_after_it():
    reader = JointReader("joint_states", ["a"])
    taken = []
    for k, seconds in enumerate((10.0, 10.9, 10.01, 10.02, 10.03, 10.04)):
        msg = JointState(name=["a"], position=[float(k)])
        msg.header.stamp = time_msg(round(seconds * NS_PER_S))
        with suppress(ArgumentError):
            taken.append(reader.read(msg))
    assert len(taken) == 4
    assert reader.position[0] == 5.0


def test_a_stamp_that_never_advances_is_no_time_and_is_reported_once():
    lines = []
    check = StampCheck("joint_states", lines.append)
    found = [check.usable(12_500_000_000) for _ in range(3 * STUCK)]
    assert found == [12_500_000_000] * STUCK + [0] * (2 * STUCK)
    assert lines == ["joint_states always have the stamp 12.5 s; they count from their arrival"]
    advanced = [check.usable(13_000_000_000), *(check.usable(13_000_000_000) for _ in range(99))]
    assert advanced == [13_000_000_000] * 100  # a clock that was stopped is a clock all the same
    assert len(lines) == 1
    unstamped = StampCheck("joint_states", lines.append)
    assert not any(unstamped.usable(0) for _ in range(100))
    assert len(lines) == 1
