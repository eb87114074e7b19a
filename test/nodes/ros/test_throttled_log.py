"""ThrottledLog: a fault a thousand times a second is lines once."""

from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from robot_dynamics.nodes.ros import diagnostics as module
from robot_dynamics.nodes.ros.diagnostics import (
    MAX_LINES_PER_S,
    REPEAT_AFTER_S,
    ThrottledLog,
)


@pytest.fixture
def lines():
    return []


@pytest.fixture
def clock(monkeypatch):
    """Time that passes only where a test says so, s."""
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(module, "monotonic", lambda: clock.now)
    return clock


@pytest.fixture
def throttled_log(lines, clock):
    return ThrottledLog(lines.append)


def test_the_same_fault_is_logged_once(throttled_log, lines):
    for _ in range(1000):
        throttled_log.warn("joint_states", "position of 'elbow' is nan")
    assert lines == ["position of 'elbow' is nan"]
    assert throttled_log.count["joint_states"] == 1000


def test_a_persistent_fault_is_logged_again_with_its_count(throttled_log, lines, clock):
    for _ in range(5):
        throttled_log.warn("joint_states", "bad")
    clock.now += REPEAT_AFTER_S
    throttled_log.warn("joint_states", "bad")
    assert lines == ["bad", "bad (4 more since the last such line)"]


def test_a_fault_silences_no_other_one_and_each_counts_its_own(throttled_log, lines, clock):
    for _ in range(5):
        throttled_log.warn("joint_states", "first")
        throttled_log.warn("joint_states", "second")
    assert lines == ["first", "second"]
    clock.now += REPEAT_AFTER_S
    throttled_log.warn("joint_states", "second")
    throttled_log.warn("joint_states", "third")
    assert lines[2:] == ["second (4 more since the last such line)", "third"]
    assert throttled_log.last("joint_states") == "third"


def test_the_last_fault_is_known_whether_it_was_logged_or_not(throttled_log):
    for fault in ("first", "second", "first"):
        throttled_log.warn("payload", fault)
    assert throttled_log.last("payload") == "first"


def test_after_a_storm_both_kinds_of_silent_faults_are_counted(throttled_log, lines, clock):
    for k in range(MAX_LINES_PER_S + 3):
        throttled_log.warn("joint_trajectory", f"fault of joint_{k}")
    last = lines[-1]
    for _ in range(2):
        throttled_log.warn("joint_trajectory", last)
    clock.now += REPEAT_AFTER_S  # a line may be lines again
    throttled_log.warn("joint_trajectory", last)
    assert lines[-1] == f"{last} (2 more since the last such line, 3 other faults not shown)"


@pytest.mark.parametrize(
    "line",
    [
        "the stamp goes back by {} s; the message came out of order",
        "refused: point {}: time_from_start is not later",
    ],
)
def test_faults_that_differ_in_numbers_only_are_one(throttled_log, lines, clock, line):
    for number in ("0.012", "1e-05", "3", "-2.5e+03"):
        throttled_log.warn("joint_states", line.format(number))
    clock.now += REPEAT_AFTER_S
    throttled_log.warn("joint_states", line.format("0.5"))
    assert lines == [
        line.format("0.012"),
        line.format("0.5") + " (3 more since the last such line)",
    ]
    assert throttled_log.count["joint_states"] == 5


def test_names_with_numbers_make_different_faults(throttled_log, lines):
    for name in ("joint_1", "joint_2", "j1", "j2", "2nd", "3rd"):
        throttled_log.warn("joint_states", f"position of '{name}' is nan")
    assert len(lines) == 6


def test_topics_do_not_silence_each_other(throttled_log, lines):
    throttled_log.warn("joint_states", "bad")
    throttled_log.warn("reference", "bad")
    assert lines == ["bad", "bad"]


def test_a_storm_of_different_faults_is_cut_short(throttled_log, lines):
    for k in range(1000):
        throttled_log.warn("joint_trajectory", f"fault of joint_{k}")
    # The storm may straddle the border of a second on a slow machine
    assert MAX_LINES_PER_S <= len(lines) < 500
