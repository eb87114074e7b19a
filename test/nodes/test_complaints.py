"""Complaints: a fault a thousand times a second is told once."""

import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from robot_dynamics.nodes.complaints import LINES_PER_SECOND, Complaints


@pytest.fixture
def told():
    return []


@pytest.fixture
def complaints(told):
    return Complaints(told.append)


def test_the_same_fault_is_told_once(complaints, told):
    for _ in range(1000):
        complaints.say("joint_states", "position of 'elbow' is nan")
    assert told == ["position of 'elbow' is nan"]
    assert complaints.count["joint_states"] == 1000


def test_another_fault_is_told_with_the_number_of_silent_ones(complaints, told):
    for _ in range(5):
        complaints.say("joint_states", "first")
    complaints.say("joint_states", "second")
    assert told == ["first", "second (4 more since the last such line)"]


def test_topics_do_not_silence_each_other(complaints, told):
    complaints.say("joint_states", "bad")
    complaints.say("reference", "bad")
    assert told == ["bad", "bad"]


def test_a_storm_of_different_faults_is_cut_short(complaints, told):
    for k in range(1000):
        complaints.say("joint_trajectory", f"fault {k}")
    # The storm may straddle the border of a second on a slow machine
    assert LINES_PER_SECOND <= len(told) < 500
