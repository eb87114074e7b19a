"""Brakes, soft limits and fades."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot_dynamics.control import SoftLimits
from robot_dynamics.control.controller import all_finite
from robot_dynamics.control.fields import Facts, Layout
from robot_dynamics.control.status import Status
from robot_dynamics.control.transitions import Fade
from robot_dynamics.control.watches import WATCHES, watch_brakes
from robot_dynamics.trajectory.motions import rest_to_rest

# -- brakes ---------------------------------------------------------------------------------


def looks(moves, limit, tau, seconds=0.2):
    """What is found of closed brakes every millisecond; joints move by `moves` between looks."""
    layout = Layout(WATCHES, 2)
    state = {name: layout.of(layout.initial(), name) for name in layout}
    now = {"status": float(Status.TRACKING), "seen": 1.0, "dt": 1e-3, "effort": np.array(limit)}
    q, found = np.zeros(2), []
    for k in range(round(1e3 * seconds)):
        q = q + np.array(moves)
        efforts = np.zeros(2) if k == 0 else np.array(tau)
        state.update(watch_brakes(Facts(state, now, {"q": q, "total": efforts, "entered": k == 0})))
        found.append(int(state["brake_joint"]) if state["brake_closed"] else None)
    return found


def test_a_joint_pushed_with_half_of_its_limit_that_does_not_move_is_braked():
    found = looks([1e-3, 0.0], [10.0, 10.0], [9.0, -6.0])
    assert found[:50] == [None] * 50
    assert found[53] == 1  # after the 50 ms that a free joint may take


def test_where_no_joint_moves_at_all_a_tenth_of_a_limit_tells_that_nobody_uses_the_efforts():
    found = looks([0.0, 0.0], [10.0, 10.0], [0.5, -1.5], seconds=0.3)
    assert found[:200] == [None] * 200  # arms with friction are slow to begin
    assert found[203] == 1
    assert set(looks([0.0, 0.0], [10.0, 10.0], [0.5, -0.9], seconds=0.5)) == {None}


@pytest.mark.parametrize(
    ("moves", "limit", "tau"),
    [
        ([1e-3, 0.0], [10.0, 10.0], [9.0, 4.0]),
        ([1e-3, 0.0], [10.0, np.inf], [9.0, 1e6]),
        ([1e-3, -1e-5], [10.0, 10.0], [9.0, -9.0]),
    ],
)
def test_a_joint_that_moves_or_is_not_pushed_or_has_no_limit_is_not_braked(moves, limit, tau):
    assert set(looks(moves, limit, tau)) == {None}


# -- soft limits ----------------------------------------------------------------------------


@pytest.fixture
def soft(arm):
    return SoftLimits.of(arm.robot, np.array([8.0, 3.0]), margin=0.1)


def test_away_from_the_edges_soft_limits_do_nothing(soft):
    assert not soft.effort(np.array([1.89, 77.0]), np.array([2.9, -3.9])).any()


def test_the_spring_reaches_the_effort_limit_at_the_hard_stop(soft):
    np.testing.assert_allclose(soft.effort(np.array([2.0, 0.0]), np.zeros(2)), [-40.0, 0.0])
    np.testing.assert_allclose(soft.effort(np.array([-2.0, 0.0]), np.zeros(2)), [40.0, 0.0])


def test_the_damper_brakes_what_moves_outward_and_lets_go_what_moves_inward(soft):
    q = np.array([1.95, 0.0])
    still = soft.effort(q, np.zeros(2))[0]
    assert soft.effort(q, np.array([1.0, 0.0]))[0] == pytest.approx(still - 8.0)
    assert soft.effort(q, np.array([-1.0, 0.0]))[0] == pytest.approx(still)


def test_a_joint_that_is_too_fast_is_braked_anywhere(soft):
    tau = soft.effort(np.zeros(2), np.array([3.5, -5.0]))
    np.testing.assert_allclose(tau, [-8.0 * 0.5, 3.0 * 1.0])


@given(st.floats(-3.0, 3.0), st.floats(-6.0, 6.0))
def test_soft_limits_push_inward_and_brake_but_never_drive_outward(arm, q, qd):
    soft = SoftLimits.of(arm.robot, np.array([8.0, 3.0]), margin=0.1)
    tau = soft.effort(np.array([q, 0.0]), np.array([qd, 0.0]))[0]
    inward = -np.sign(q) if abs(q) > 1.9 else 0.0
    braking = -np.sign(qd) if abs(qd) > 3.0 else 0.0
    assert tau == 0.0 or np.sign(tau) in (inward, braking)


# -- tracking and numbers -------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_one_number_that_is_none_is_noticed_anywhere(wrong):
    good = np.zeros(3)
    assert all_finite(good, good)
    with np.errstate(over="ignore"):
        assert all_finite(np.array([1e200, -1e300]))
    assert not all_finite(good, np.array([0.0, wrong, 0.0]))


# -- fades ----------------------------------------------------------------------------------


def test_a_fade_begins_with_the_whole_gap_and_ends_without_it():
    fade = Fade(2, 0.5)
    assert fade.value(3.0).tolist() == [0.0, 0.0]
    fade.begin(np.array([4.0, -2.0]), now=3.0)
    assert fade.value(3.0).tolist() == [4.0, -2.0]
    np.testing.assert_allclose(fade.value(3.25), [2.0, -1.0])
    assert fade.value(3.5).tolist() == [0.0, 0.0]
    assert fade.value(3.2).tolist() == [0.0, 0.0]  # and is forgotten


def test_a_fade_of_no_time_and_a_clock_that_jumps_back_leave_nothing():
    fade = Fade(1, 0.0)
    fade.begin(np.ones(1), now=0.0)
    assert fade.value(0.0).tolist() == [0.0]
    fade = Fade(1, 0.5)
    fade.begin(np.ones(1), now=10.0)
    assert fade.value(2.0).tolist() == [0.0]


def test_the_rise_has_no_slope_or_curvature_at_its_ends():
    h = 1e-4
    for end in (0.0, 1.0):
        before, at, after = (rest_to_rest(end + k * h)[0] for k in (-1, 0, 1))
        assert at == end
        # Second difference of 10 u^3 over h^2: 10 h
        assert abs(after - 2 * at + before) / h**2 < 20 * h
        assert abs(after - before) / (2 * h) < 20 * h**2
