"""Whether a goal is under way, reached or lost."""

import numpy as np
import pytest

from robot_dynamics.errors import ArgumentError
from robot_dynamics.trajectory.goal import Tolerances, Verdict, judge

NAMES = ("shoulder", "elbow")
STILL = np.zeros(2)


def tolerances(path=(0.1, 0.0), goal=(0.01, 0.02), stopped=(0.05, 0.05), time=1.0):
    return Tolerances.from_parameters(path, goal, stopped, time)


def off(shoulder, elbow):
    return np.array([shoulder, elbow])


def test_a_goal_within_its_path_tolerance_goes_on():
    progress = judge(NAMES, -0.5, off(0.1, 99.0), STILL, tolerances())
    assert progress.verdict is Verdict.RUNNING  # zero for the elbow: not checked


def test_leaving_the_path_ends_the_goal_and_names_the_joint():
    progress = judge(NAMES, -0.5, off(-0.15, 0.0), STILL, tolerances())
    assert progress.verdict is Verdict.PATH_TOLERANCE_VIOLATED
    assert progress.reason == "joint 'shoulder' is 0.15 off its path, more than the 0.1 allowed"


def test_arriving_and_standing_still_is_success():
    assert judge(NAMES, 0.0, off(0.01, -0.02), STILL, tolerances()).verdict is Verdict.SUCCESSFUL


def test_a_joint_that_still_moves_has_not_arrived():
    progress = judge(NAMES, 0.5, off(0.0, 0.0), off(0.0, 0.1), tolerances())
    assert progress.verdict is Verdict.RUNNING


def test_not_arriving_in_time_ends_the_goal_and_names_the_joint():
    progress = judge(NAMES, 1.5, off(0.0, 0.03), STILL, tolerances())
    assert progress.verdict is Verdict.GOAL_TOLERANCE_VIOLATED
    assert progress.reason == (
        "joint 'elbow' is 0.03 off its goal, more than the 0.02 allowed, 1.5 s after the end"
    )
    progress = judge(NAMES, 1.5, off(0.0, 0.0), off(0.2, 0.0), tolerances())
    assert progress.reason == "joint 'shoulder' still moves at 0.2, 1.5 s after the end"


def test_a_goal_time_of_zero_waits_for_ever():
    progress = judge(NAMES, 1e6, off(1.0, 1.0), STILL, tolerances(time=0.0))
    assert progress.verdict is Verdict.RUNNING


def test_in_a_goal_zero_keeps_the_default_and_a_negative_number_means_none():
    changed = tolerances().with_goal(
        NAMES, {"shoulder": -1.0, "elbow": 0.3}, {"shoulder": 0.0, "elbow": -1.0}, -1.0
    )
    assert changed.path.tolist() == [np.inf, 0.3]
    assert changed.goal.tolist() == [0.01, np.inf]
    assert changed.goal_time == np.inf


def test_without_tolerances_every_goal_succeeds_at_its_end():
    none = Tolerances.none(2)
    assert judge(NAMES, -0.1, off(9.0, 9.0), off(9.0, 9.0), none).verdict is Verdict.RUNNING
    assert judge(NAMES, 0.0, off(9.0, 9.0), off(9.0, 9.0), none).verdict is Verdict.SUCCESSFUL


def test_a_negative_default_is_refused():
    with pytest.raises(ArgumentError) as refusal:
        tolerances(path=(0.1, -0.1))
    assert str(refusal.value) == (
        "tolerance path is (0.1, -0.1); give zero (not checked) or a positive number"
    )


def test_a_tolerance_for_an_unknown_joint_is_refused():
    with pytest.raises(ArgumentError) as refusal:
        tolerances().with_goal(NAMES, {"knee": 0.1}, {})
    assert str(refusal.value) == "path tolerance: no joint 'knee' among shoulder, elbow"
