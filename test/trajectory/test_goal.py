"""Verdicts on goals: running, reached and failed."""

import dataclasses
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot_dynamics.errors import ArgumentError
from robot_dynamics.trajectory import State
from robot_dynamics.trajectory.goal import (
    Goal,
    Goals,
    GoalSample,
    Tolerance,
    Tolerances,
    Verdict,
    judge,
)

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


def test_a_wrong_speed_on_the_way_ends_the_goal_that_asks_for_it():
    strict = tolerances().with_goal(NAMES, {"elbow": Tolerance(velocity=0.2)}, {})
    assert judge(NAMES, -0.5, STILL, off(9.0, 0.2), strict).verdict is Verdict.RUNNING
    progress = judge(NAMES, -0.5, STILL, off(0.0, -0.3), strict)
    assert progress.verdict is Verdict.PATH_TOLERANCE_VIOLATED
    assert progress.reason == (
        "joint 'elbow' is 0.3 too fast or too slow, more than the 0.2 allowed"
    )


def test_arriving_and_standing_still_is_success():
    assert judge(NAMES, 0.0, off(0.01, -0.02), STILL, tolerances()).verdict is Verdict.SUCCESSFUL


def test_a_joint_that_still_moves_has_not_arrived():
    progress = judge(NAMES, 0.5, off(0.0, 0.0), off(0.0, 0.1), tolerances())
    assert progress.verdict is Verdict.RUNNING


def test_an_unmeasured_speed_is_not_checked():
    progress = judge(NAMES, 0.5, off(0.0, 0.0), off(np.nan, np.nan), tolerances())
    assert progress.verdict is Verdict.SUCCESSFUL


def test_not_arriving_in_time_ends_the_goal_and_names_the_joint():
    progress = judge(NAMES, 1.5, off(0.0, 0.03), STILL, tolerances())
    assert progress.verdict is Verdict.GOAL_TOLERANCE_VIOLATED
    assert progress.reason == (
        "joint 'elbow' is 0.03 off its goal, more than the 0.02 allowed, 1.5 s after the end"
    )
    progress = judge(NAMES, 1.5, off(0.0, 0.0), off(0.2, 0.0), tolerances())
    assert progress.reason == (
        "joint 'shoulder' is 0.2 from standing still, more than the 0.05 allowed, "
        "1.5 s after the end"
    )


def test_a_goal_time_of_zero_waits_for_ever():
    progress = judge(NAMES, 1e6, off(1.0, 1.0), STILL, tolerances(time=0.0))
    assert progress.verdict is Verdict.RUNNING


def test_in_a_goal_zero_keeps_the_default_and_a_negative_number_means_none():
    changed = tolerances().with_goal(
        NAMES,
        {"shoulder": Tolerance(-1.0), "elbow": Tolerance(0.3, 0.4)},
        {"shoulder": Tolerance(0.0, 0.2), "elbow": Tolerance(-1.0, -1.0)},
        -1.0,
    )
    assert changed.path.tolist() == [np.inf, 0.3]
    assert changed.path_velocity.tolist() == [np.inf, 0.4]
    assert changed.goal.tolist() == [0.01, np.inf]
    assert changed.stopped_velocity.tolist() == [0.2, np.inf]
    assert changed.goal_time == np.inf


def test_a_goal_leaves_the_defaults_as_they_are():
    defaults = tolerances()
    defaults.with_goal(NAMES, {"elbow": Tolerance(0.3)}, {"elbow": Tolerance(0.3)}, 5.0)
    assert defaults.path.tolist() == [0.1, np.inf]
    assert defaults.goal.tolist() == [0.01, 0.02]
    assert defaults.goal_time == 1.0


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
        tolerances().with_goal(NAMES, {"knee": Tolerance(0.1)}, {})
    assert str(refusal.value) == "path tolerance: no joint 'knee' among shoulder, elbow"


def test_a_tolerance_that_is_not_a_number_is_refused():
    with pytest.raises(ArgumentError) as refusal:
        tolerances().with_goal(NAMES, {}, {"elbow": Tolerance(velocity=np.nan)})
    assert str(refusal.value) == "tolerance goal velocity of 'elbow' is NaN; give a number"


def test_result_codes_are_those_of_the_action():
    # As control_msgs/action/FollowJointTrajectory prints them
    assert {v.name: v.error_code for v in Verdict if v is not Verdict.RUNNING} == {
        "SUCCESSFUL": 0,
        "CANCELED": 0,  # the status says it; no code does
        "INVALID_GOAL": -1,
        "PATH_TOLERANCE_VIOLATED": -4,
        "GOAL_TOLERANCE_VIOLATED": -5,
    }


# -- the goal that is worked on -----------------------------------------------------------


MOTION, OTHER = object(), object()
BEGIN, END = 10.0, 12.0


def goal(**changes):
    made = Goal(MOTION, BEGIN, BEGIN, END, (0.5, 2.0), tolerances())
    return dataclasses.replace(made, **changes)


def moment(now, error=STILL, motion=MOTION, measurements=None, speed=STILL):
    """Desired at zero; by default a new measurement comes with every moment."""
    count = round(now * 1000.0) if measurements is None else measurements
    return GoalSample(now, motion, State(STILL, STILL, STILL), STILL, -error, -speed, error, count)


@pytest.fixture
def goals():
    goals = Goals(NAMES)
    goals.accept(goal())
    return goals


def test_a_goal_runs_until_its_end_and_then_has_succeeded(goals):
    for now in (9.99, 10.0, 11.0, 11.999):
        assert goals.judge(moment(now, motion=MOTION if now >= BEGIN else OTHER)) is None
        assert goals.collect() is None
    done = goals.active
    goals.judge(moment(12.0))
    assert goals.judge(moment(12.001)).verdict is Verdict.SUCCESSFUL
    assert goals.collect() is done
    assert goals.active is None


def test_a_decision_is_reported_once(goals):
    assert goals.judge(moment(11.0, off(0.2, 0.0))).verdict is Verdict.PATH_TOLERANCE_VIOLATED
    assert goals.judge(moment(11.001, off(0.3, 0.0))) is None
    assert goals.collect().progress.reason.startswith("joint 'shoulder' is 0.2 off its path")
    assert goals.collect() is None


def test_nothing_is_judged_without_a_goal():
    goals = Goals(NAMES)
    assert goals.judge(moment(11.0, off(9.0, 9.0))) is None
    assert not goals.end(Verdict.CANCELED, "no goal")


def test_a_new_goal_takes_the_place_of_the_one_before(goals):
    before, after = goals.active, goal()
    assert goals.accept(after) is before
    assert before.progress == (Verdict.INVALID_GOAL, "a new goal has taken its place")
    assert goals.active is after and not after.decided


def test_what_was_decided_first_counts(goals):
    goals.end(Verdict.CANCELED, "by its client")
    assert goals.judge(moment(11.0, off(9.0, 9.0))) is None
    assert not goals.end(Verdict.INVALID_GOAL, "the clock jumped back")
    assert goals.accept(goal()).progress == (Verdict.CANCELED, "by its client")


def test_a_goal_whose_motion_is_replaced_fails(goals):
    goals.judge(moment(11.0))
    progress = goals.judge(moment(11.001, motion=OTHER))
    assert progress == (Verdict.INVALID_GOAL, "another motion has taken its place")


def test_a_goal_whose_motion_never_takes_over_fails(goals):
    assert goals.judge(moment(9.999, motion=OTHER)) is None
    assert goals.judge(moment(10.0, motion=OTHER)).verdict is Verdict.INVALID_GOAL


def test_the_motion_before_is_not_judged_for_a_goal_that_is_still_to_begin(goals):
    assert goals.judge(moment(9.999, off(9.0, 9.0), motion=OTHER)) is None


def test_a_state_from_before_the_end_does_not_show_that_it_has_arrived(goals):
    for now in (11.9, 12.0, 12.5, 13.0):
        assert goals.judge(moment(now, measurements=7)) is None
    progress = goals.judge(moment(13.1, measurements=7))
    assert progress == (Verdict.GOAL_TOLERANCE_VIOLATED, "no joint_states for 1.1 s after the end")


def test_a_goal_succeeds_late_but_in_time(goals):
    for now in (12.0, 12.3, 12.9):
        assert goals.judge(moment(now, off(0.0, 0.03))) is None
    assert goals.judge(moment(13.0, off(0.0, 0.01))).verdict is Verdict.SUCCESSFUL


@pytest.mark.parametrize("made", [0.0, 0.03])
def test_a_goal_within_its_tolerance_from_the_start_fails_if_no_joint_has_moved(made):
    # No controller follows, but the arm is within the tolerances of its goal
    goals = Goals(NAMES)
    goals.accept(goal(tolerances=tolerances(goal=(0.1, 0.1))))
    for now, share in ((10.0, 0.0), (11.0, 0.5), (12.0, 1.0), (12.1, 1.0)):
        q_d, q = off(0.05 * share, 0.0), off(made * share, 0.0)
        one = moment(now)._replace(desired=State(q_d, STILL, STILL), position=q)
        progress = goals.judge(one._replace(position_error=q_d - q))
    if made:
        assert progress.verdict is Verdict.SUCCESSFUL
        return
    assert progress == (
        Verdict.GOAL_TOLERANCE_VIOLATED,
        "no joint has moved by more than 0 over a distance of 0.05; is the receiver of the efforts "
        "active?",
    )


def test_points_are_counted_as_they_are_headed_for():
    # A point counts as passed at its own time, as in joint_trajectory_controller
    headed = [goal(start=10.5).point(now) for now in (10.0, 10.5, 10.99, 11.0, 12.0, 12.5, 99.0)]
    assert headed == [0, 0, 0, 1, 1, 2, 2]


@given(
    errors=st.lists(st.floats(-0.2, 0.2), min_size=1, max_size=40),
    cancelled=st.integers(0, 60),
)
def test_every_goal_ends_once_however_it_goes(errors, cancelled):
    goals = Goals(NAMES)
    goals.accept(goal())
    ends = 0
    for k in range(60):
        now = BEGIN + 0.1 * k
        if k == cancelled:
            ends += goals.end(Verdict.CANCELED, "by its client")
        ends += goals.judge(moment(now, off(errors[k % len(errors)], 0.0))) is not None
    assert ends == 1  # the goal time of a second is over before the last moment
    assert goals.collect().decided


def test_a_goal_decided_from_two_threads_at_once_still_ends_once():
    for _ in range(200):
        goals = Goals(NAMES)
        goals.accept(goal())
        start = threading.Barrier(2)

        def cancel(goals=goals, start=start):
            start.wait()
            goals.end(Verdict.CANCELED, "by its client")

        thread = threading.Thread(target=cancel)
        thread.start()
        start.wait()
        goals.judge(moment(11.0, off(9.0, 9.0)))
        thread.join()
        assert goals.collect().progress.verdict in (
            Verdict.CANCELED,
            Verdict.PATH_TOLERANCE_VIOLATED,
        )
        assert goals.collect() is None
