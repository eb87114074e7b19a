"""Complaints: a fault a thousand times a second is told once."""

import time

import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from robot_dynamics.nodes.runtime import complaints as module
from robot_dynamics.nodes.runtime.complaints import LINES_PER_SECOND, Complaints


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


def test_a_fault_that_goes_on_is_told_again_with_how_often_it_came(complaints, told, monkeypatch):
    monkeypatch.setattr(module, "AGAIN", 1.0)
    for _ in range(5):
        complaints.say("joint_states", "bad")
    time.sleep(1.1)
    complaints.say("joint_states", "bad")
    assert told == ["bad", "bad (4 more since the last such line)"]


def test_another_fault_does_not_count_as_the_ones_before(complaints, told):
    for _ in range(5):
        complaints.say("joint_states", "first")
    complaints.say("joint_states", "second")
    complaints.say("joint_states", "third")
    assert told == ["first", "second (4 other faults not shown)", "third"]


def test_after_a_storm_both_kinds_of_silent_faults_are_counted(complaints, told, monkeypatch):
    monkeypatch.setattr(module, "AGAIN", 0.5)
    for k in range(LINES_PER_SECOND + 3):
        complaints.say("joint_trajectory", f"fault of joint_{k}")
    last = told[-1]
    for _ in range(2):
        complaints.say("joint_trajectory", last)
    time.sleep(1.1)  # a line may be told again
    complaints.say("joint_trajectory", last)
    assert told[-1] == f"{last} (2 more since the last such line, 3 other faults not shown)"


@pytest.mark.parametrize(
    "line",
    [
        "the stamp goes back by {} s; the message came out of order",
        "refused: point {}: time_from_start is not later",
    ],
)
def test_faults_that_differ_in_numbers_only_are_one(complaints, told, monkeypatch, line):
    monkeypatch.setattr(module, "AGAIN", 0.5)
    for number in ("0.012", "1e-05", "3", "-2.5e+03"):
        complaints.say("joint_states", line.format(number))
    time.sleep(0.6)
    complaints.say("joint_states", line.format("0.5"))
    assert told == [
        line.format("0.012"),
        line.format("0.5") + " (3 more since the last such line)",
    ]
    assert complaints.count["joint_states"] == 5


def test_names_with_numbers_make_different_faults(complaints, told):
    for name in ("joint_1", "joint_2", "j1", "j2", "2nd", "3rd"):
        complaints.say("joint_states", f"position of '{name}' is nan")
    assert len(told) == 6


def test_topics_do_not_silence_each_other(complaints, told):
    complaints.say("joint_states", "bad")
    complaints.say("reference", "bad")
    assert told == ["bad", "bad"]


def test_a_storm_of_different_faults_is_cut_short(complaints, told):
    for k in range(1000):
        complaints.say("joint_trajectory", f"fault of joint_{k}")
    # The storm may straddle the border of a second on a slow machine
    assert LINES_PER_SECOND <= len(told) < 500
