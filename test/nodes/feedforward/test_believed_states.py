"""Which states give feedforward_node the pose of the arm."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from sensor_msgs.msg import JointState

from robot_dynamics import read_urdf
from robot_dynamics.nodes.feedforward.believed_states import BelievedStates
from robot_dynamics.nodes.ros.messages import time_msg
from robot_dynamics.robot import find_robot

ROBOT = read_urdf(find_robot("planar_2r"))
POSE = np.array([0.8, -0.6])
PERIOD = 10_000_000  # ns


@pytest.fixture
def states():
    return BelievedStates(ROBOT)


def send(states, q, k):
    msg = JointState(name=list(ROBOT.joint_names), position=list(q))
    msg.header.stamp = time_msg(1_000_000_000 + round(k * PERIOD))
    states.read(msg)


def test_the_first_state_is_believed(states):
    send(states, POSE, 0)
    np.testing.assert_array_equal(states.q, POSE)


def test_zeros_of_another_publisher_in_between_are_not_believed(states):
    for k in range(100):
        send(states, POSE, k)
        if k % 10 == 0:
            send(states, [0.0, 0.0], k + 0.1)
        np.testing.assert_array_equal(states.q, POSE)


def test_zeros_that_came_first_give_way_to_states_that_fit_each_other(states):
    send(states, [0.0, 0.0], 0)
    for k in range(1, 8):
        send(states, POSE, k)
    np.testing.assert_array_equal(states.q, POSE)


def test_a_motion_within_the_velocity_limits_is_believed_at_once(states):
    fastest = ROBOT.limits.velocity
    for k in range(20):
        q = POSE - 1e-9 * k * PERIOD * fastest
        send(states, q, k)
        np.testing.assert_array_equal(states.q, q)


def test_two_publishers_by_turns_do_not_replace_the_first(states):
    for k in range(40):
        send(states, POSE if k % 2 == 0 else [0.0, 0.0], k)
    np.testing.assert_array_equal(states.q, POSE)
