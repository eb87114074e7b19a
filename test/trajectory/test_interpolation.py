"""Interpolation of waypoints by the given fields."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.interpolate import CubicHermiteSpline, make_interp_spline

from curves import steps
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.trajectory import State, Waypoints, interpolate

# Coefficients divide by the segment time up to five times: 0.1^-2 for accelerations of numbers
# near 10, and what the banded solve of the spline adds; worst of the seeds below 3e-11
ROUND_OFF = 1e-9


def waypoints(seed, m=5, n=2, velocities=False, accelerations=False, first=0.0):
    rng = np.random.default_rng(seed)
    times = first + np.concatenate(([0.0], np.cumsum(rng.uniform(0.1, 1.0, m - 1))))
    q, qd, qdd = rng.uniform(-2.0, 2.0, (3, m, n))
    return Waypoints(
        tuple(f"joint{i}" for i in range(n)),
        times,
        q,
        qd if velocities else None,
        qdd if accelerations else None,
    )


@given(st.integers(0, 500), st.booleans(), st.booleans())
def test_every_field_that_is_given_is_met(seed, velocities, accelerations):
    w = waypoints(seed, velocities=velocities, accelerations=velocities and accelerations)
    state = interpolate(w).sample(w.times)
    for value, wanted in zip(state, (w.positions, w.velocities, w.accelerations), strict=True):
        if wanted is not None:
            np.testing.assert_allclose(value, wanted, rtol=0.0, atol=ROUND_OFF)


def test_positions_alone_give_the_spline_of_least_jerk_at_rest_at_both_ends():
    w = waypoints(1)
    at_rest = [(1, np.zeros(2)), (2, np.zeros(2))]
    oracle = make_interp_spline(w.times, w.positions, k=5, bc_type=(at_rest, at_rest))
    t = np.linspace(0.0, w.duration, 101)
    state = interpolate(w).sample(t)
    for order, value in enumerate(state):
        np.testing.assert_allclose(value, oracle(t, order), rtol=0.0, atol=ROUND_OFF)


@given(st.integers(0, 500))
def test_positions_alone_give_continuous_acceleration_and_jerk(seed):
    trajectory = interpolate(waypoints(seed))
    for order in (1, 2, 3):
        assert steps(trajectory, order) < ROUND_OFF * 100**order


def squared_jerk(trajectory):
    """Integral of the squared third derivative of a single joint, exactly."""
    total = 0.0
    for c, h in zip(trajectory.coefficients[:, 0], np.diff(trajectory.breaks), strict=True):
        total += (np.polynomial.Polynomial(c).deriv(3) ** 2).integ()(h)
    return total


@given(st.integers(0, 500), st.integers(1, 3), st.sampled_from(["qd", "qdd"]), st.floats(-1, 1))
def test_other_velocities_or_accelerations_on_the_way_cost_more_jerk(seed, k, which, change):
    assume(abs(change) > 1e-3)
    w = waypoints(seed, n=1)
    best = interpolate(w)
    state = best.sample(w.times)
    getattr(state, which)[k] += change
    other = interpolate(Waypoints(w.joint_names, w.times, w.positions, state.qd, state.qdd))
    assert squared_jerk(other) > squared_jerk(best)


def test_velocities_make_cubics():
    w = waypoints(4, velocities=True)
    oracle = CubicHermiteSpline(w.times, w.positions, w.velocities)
    t = np.linspace(0.0, w.duration, 101)[:-1]
    for order, value in enumerate(interpolate(w).sample(t)):
        np.testing.assert_allclose(value, oracle(t, order), rtol=0.0, atol=ROUND_OFF)


@given(st.integers(0, 500), st.floats(0.05, 3.0))
def test_a_quintic_given_by_its_ends_is_found_again(seed, T):
    c = np.random.default_rng(seed).uniform(-1.0, 1.0, 6)
    p = np.polynomial.Polynomial(c)
    ends = np.array([0.0, T])
    w = Waypoints(
        ("a",), ends, p(ends)[:, None], p.deriv(1)(ends)[:, None], p.deriv(2)(ends)[:, None]
    )
    found = interpolate(w)
    for t in np.linspace(0.0, T, 11):
        assert abs(found.sample(float(t)).q[0] - p(t)) < ROUND_OFF


def test_each_segment_is_drawn_by_the_fields_that_both_of_its_ends_give():
    nan = np.nan
    w = Waypoints(
        ("a",),
        [0.0, 1.0, 2.0, 3.0, 4.0],
        [[0.0], [1.0], [0.0], [2.0], [1.0]],
        [[0.0], [0.5], [-0.5], [nan], [0.0]],
        [[nan], [1.0], [2.0], [nan], [nan]],
    )
    trajectory = interpolate(w)
    degree = [np.flatnonzero(np.abs(c[0]) > 1e-9).max() for c in trajectory.coefficients]
    assert degree[0] == 3  # the first point gives no acceleration
    assert trajectory.sample(1.0 + 1e-12).qdd[0] == pytest.approx(1.0)
    assert trajectory.sample(2.0).qdd[0] == pytest.approx(2.0)
    # From 2 s on positions are all there is, and acceleration stays continuous
    for t in (2.0, 3.0):
        before, after = trajectory.sample(t - 1e-9), trajectory.sample(t + 1e-9)
        np.testing.assert_allclose(before.qdd, after.qdd, atol=1e-6)


@given(st.integers(0, 500), st.booleans(), st.booleans())
def test_a_first_point_later_on_is_reached_from_the_start_without_any_jump(
    seed, velocities, accelerations
):
    w = waypoints(
        seed, velocities=velocities, accelerations=velocities and accelerations, first=0.3
    )
    start = State(*np.random.default_rng(seed + 1).uniform(-1.0, 1.0, (3, 2)))
    trajectory = interpolate(w, start=start)
    assert trajectory.start == 0.0
    for value, wanted in zip(trajectory.sample(0.0), start, strict=True):
        np.testing.assert_allclose(value, wanted, rtol=0.0, atol=ROUND_OFF)
    at_first_point = slice(0, 1)
    for order in (0, 1, 2):
        assert steps(trajectory, order, at_first_point) < ROUND_OFF * 100**order


def test_joints_without_waypoints_stay_where_they_are():
    w = Waypoints(("elbow",), [1.0, 2.0], [[1.0], [2.0]])
    start = State(np.array([0.3, 0.1, -0.7]), np.zeros(3), np.zeros(3))
    trajectory = interpolate(w, start=start, joint_names=("shoulder", "elbow", "wrist"))
    state = trajectory.sample(np.linspace(0.0, 2.0, 21))
    assert np.all(state.q[:, [0, 2]] == [0.3, -0.7])
    assert not state.qd[:, [0, 2]].any()
    assert state.q[-1, 1] == pytest.approx(2.0)


def test_columns_are_matched_by_name():
    w = Waypoints(("b", "a"), [0.0, 1.0], [[0.0, 0.0], [2.0, 1.0]])
    end = interpolate(w, joint_names=("a", "b")).sample(1.0)
    np.testing.assert_allclose(end.q, [1.0, 2.0])


@given(st.integers(-5, 5), st.floats(-3.0, 3.0), st.floats(-3.0, 3.0))
def test_a_continuous_joint_is_shifted_by_the_nearest_multiple_of_2_pi(turns, a, b):
    assume(abs(abs(b - a) - np.pi) > 1e-6)  # both ways round are equally near
    full = 2.0 * np.pi
    w = Waypoints(("a",), [1.0, 2.0], [[b + full * turns], [b + full * (turns + 2)]])
    start = State(np.array([a]), np.zeros(1), np.zeros(1))
    trajectory = interpolate(w, start=start, continuous=[True])
    first = trajectory.sample(1.0).q[0]
    assert abs(first - a) <= np.pi + 1e-9
    assert np.cos(first - b) == pytest.approx(1.0)
    assert trajectory.sample(2.0).q[0] - first == pytest.approx(2 * full)


def test_a_single_point_at_the_start_is_held():
    trajectory = interpolate(Waypoints(("a",), [0.0], [[0.7]]))
    for t in (0.0, 1.0, 100.0):
        assert trajectory.sample(t).q[0] == pytest.approx(0.7)
        assert trajectory.sample(t).qd[0] == 0.0


def test_a_thousand_unevenly_spaced_points_are_met():
    w = waypoints(7, m=1000, n=7)
    np.testing.assert_allclose(
        interpolate(w).sample(w.times).q, w.positions, rtol=0.0, atol=ROUND_OFF
    )


def test_joints_without_waypoints_and_without_a_start_are_refused():
    with pytest.raises(TrajectoryError) as refusal:
        interpolate(Waypoints(("a",), [0.0], [[0.0]]), joint_names=("a", "b"))
    assert str(refusal.value) == (
        "trajectory: joint 'b' has no waypoints and no state to stay at; give the start state"
    )


def test_waypoints_of_a_joint_that_is_not_asked_for_are_refused():
    with pytest.raises(TrajectoryError) as refusal:
        interpolate(Waypoints(("c",), [0.0], [[0.0]]), joint_names=("a", "b"))
    assert str(refusal.value) == "trajectory: no joint 'c' among a, b; use those names"


@given(st.integers(0, 500), st.integers(2, 6))
def test_smoothness_four_meets_the_points_with_four_continuous_derivatives(seed, m):
    w = waypoints(seed, m=m, first=0.3)
    motion = interpolate(w, smoothness=4)
    assert motion.smoothness == 4
    np.testing.assert_allclose(motion.sample(w.times).q, w.positions, atol=ROUND_OFF)

    def derivatives(t):
        return np.array([*motion.sample(t), *motion.higher(t)])

    size = np.abs(derivatives(np.linspace(motion.start, motion.end, 300))).max(axis=(1, 2))
    step = 1e-9 * motion.duration
    inner = motion.breaks[1:-1]
    jumps = np.abs(derivatives(inner + step) - derivatives(inner - step)).max(axis=(1, 2))
    assert (jumps < 1e-4 * size).all()  # the fifth derivative times the step
    for end, inward in ((motion.start, step), (motion.end, -step)):
        assert (
            np.abs(derivatives(np.array([end + inward]))[1:, 0]).max(axis=1) < 1e-4 * size[1:]
        ).all()


def test_jerk_and_snap_are_the_derivatives_of_the_acceleration():
    motion, h = interpolate(waypoints(3)), 1e-5
    t = np.array([0.1, 0.2, 0.35]) * motion.duration
    jerk, snap = motion.higher(t)
    ahead, behind = motion.sample(t + h), motion.sample(t - h)
    np.testing.assert_allclose(jerk, (ahead.qdd - behind.qdd) / (2.0 * h), rtol=1e-6, atol=1e-4)
    change = motion.higher(t + h)[0] - motion.higher(t - h)[0]
    np.testing.assert_allclose(snap, change / (2.0 * h), rtol=1e-6, atol=1e-3)
    assert not np.any(motion.higher(motion.end + 1.0))
    np.testing.assert_array_equal(motion.higher(float(t[1]))[0], jerk[1])


def test_any_other_smoothness_is_refused():
    with pytest.raises(TrajectoryError, match="smoothness is 3; give 2 or 4"):
        interpolate(waypoints(1), smoothness=3)
