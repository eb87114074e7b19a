"""joint_states of drivers that publish positions and velocities apart, or no velocities."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from robot_dynamics import read_urdf
from robot_dynamics.errors import ArgumentError
from robot_dynamics.nodes.ros.messages import time_msg
from robot_dynamics.nodes.ros.state_reader import ALONE, StateReader
from robot_dynamics.robot import find_robot

ROBOT = read_urdf(find_robot("planar_2r"))
NAMES = ROBOT.joint_names
BOTH = ("position", "velocity")
MS = 1_000_000


def message(stamp, names=NAMES, **fields):
    msg = JointState(name=list(names), **{k: list(map(float, v)) for k, v in fields.items()})
    msg.header.stamp = time_msg(stamp)
    return msg


@pytest.fixture(params=["messages", "bytes"])
def form(request):
    return serialize_message if request.param == "bytes" else lambda msg: msg


def test_positions_and_velocities_apart_are_one_state_as_old_as_the_older_one(form):
    reader = StateReader(ROBOT, BOTH)
    for k in range(1, 50):
        t = 1000 * MS + k * MS
        assert not reader.read(form(message(t, position=[k, 2 * k], effort=[5, 6])))
        assert reader.read(form(message(t - 200_000, velocity=[3 * k, 4 * k])))
        assert reader.complete
        np.testing.assert_array_equal(reader.values, [[k, 2 * k], [3 * k, 4 * k], [5, 6]])
        assert reader.stamp == t - 200_000


def test_a_slower_part_sets_the_pace():
    reader = StateReader(ROBOT, BOTH)
    came = 0
    for k in range(1, 101):
        came += reader.read(message(k * MS, position=[k, k]))
        if k % 5 == 0:
            came += reader.read(message(k * MS, velocity=[0, 0]))
    assert came == 20
    assert reader.position[0] == 100.0


def test_each_joint_may_come_from_a_publisher_of_its_own():
    reader = StateReader(ROBOT, BOTH)
    for i, name in enumerate(NAMES):
        assert not reader.read(message(MS, [name], position=[i]))
        assert reader.read(message(MS, [name], velocity=[10 + i]))
    assert reader.complete
    np.testing.assert_array_equal(reader.values[:2], [[0, 1], [10, 11]])


@pytest.mark.parametrize("ends", ["position", "velocity"])
def test_a_part_that_ends_is_named_and_no_old_one_is_taken_for_new(ends):
    reader = StateReader(ROBOT, BOTH)
    goes_on = "velocity" if ends == "position" else "position"
    reader.read(message(MS, position=[1, 1]))
    assert reader.read(message(MS, velocity=[1, 1]))
    with pytest.raises(ArgumentError, match=f"^joint_states: no message has the {ends} of the"):
        for k in range(ALONE + 1):
            assert not reader.read(message(2 * MS + k, **{goes_on: [2, 2]}))
    assert reader.stamp == MS


def test_a_driver_without_velocities_is_told_the_remedy():
    reader = StateReader(ROBOT, BOTH)
    for k in range(ALONE):
        assert not reader.read(message(k * MS, position=[1, 1]))
    with pytest.raises(ArgumentError) as refusal:
        reader.read(message(ALONE * MS, position=[1, 1]))
    assert str(refusal.value) == (
        "joint_states: no message has the velocity of the joints; publish it in the same messages "
        "or in others, or set velocity_filter to estimate it"
    )
    assert not reader.complete


def test_a_reader_of_positions_takes_them_at_once_and_velocities_where_they_come():
    reader = StateReader(ROBOT, ("position",))
    assert reader.read(message(MS, position=[1, 2]))
    assert np.isnan(reader.velocity).all()
    assert not reader.read(message(MS, velocity=[3, 4]))
    assert reader.read(message(2 * MS, position=[1, 2]))
    np.testing.assert_array_equal(reader.velocity, [3, 4])


def test_a_part_that_is_not_finite_is_refused():
    reader = StateReader(ROBOT, BOTH)
    reader.read(message(MS, position=[1, 1]))
    with pytest.raises(ArgumentError, match=f"^joint_states: velocity of joint '{NAMES[1]}' is na"):
        reader.read(message(MS, velocity=[1, np.nan]))
    assert not reader.complete


def test_a_message_with_efforts_alone_is_refused():
    with pytest.raises(ArgumentError, match="position has 0 entries for 2 names"):
        StateReader(ROBOT, BOTH).read(message(MS, effort=[1, 1]))


def test_velocities_are_estimated_where_that_is_asked_for(form):
    reader = StateReader(ROBOT, BOTH, 30.0)
    assert reader.estimates == (
        "velocities are estimated by positions where joint_states have none, with a lag of 10.6 ms"
    )
    assert not reader.read(form(message(MS, position=[0, 0])))
    for k in range(2, 100):
        assert reader.read(form(message(k * MS, position=[1e-3 * (k - 1), -2e-3 * (k - 1)])))
        np.testing.assert_allclose(reader.velocity, [1.0, -2.0], rtol=1e-6)
        assert reader.stamp == k * MS
    assert reader.lag == pytest.approx(1.0 / (np.pi * 30.0))


def test_measured_velocities_are_not_replaced_and_lag_by_nothing():
    reader = StateReader(ROBOT, BOTH, 30.0)
    assert reader.read(message(MS, position=[0, 0], velocity=[5, 6]))
    np.testing.assert_array_equal(reader.velocity, [5, 6])
    assert reader.lag == 0.0


def test_an_estimate_needs_stamps():
    with pytest.raises(ArgumentError, match="by positions with stamps, but a message has none"):
        StateReader(ROBOT, BOTH, 30.0).read(message(0, position=[0, 0]))


def test_a_forgotten_reader_begins_anew():
    reader = StateReader(ROBOT, BOTH, 30.0)
    reader.read(message(MS, position=[0, 0]))
    reader.forget()
    assert not reader.read(message(2 * MS, position=[1, 1]))
    assert reader.lag == 0.0 or not reader.complete
