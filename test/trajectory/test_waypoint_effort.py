"""Trajectories with effort, for a controller that interpolates effort linearly."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.formulations import inverse_dynamics
from robot_dynamics.trajectory import State, Trajectory, Waypoints, excitation, interpolate
from robot_dynamics.trajectory.waypoint_effort import with_effort


def efforts_of(robot):
    dynamics = Dynamics(robot)
    return lambda state: dynamics.inverse(*state)


def as_joint_trajectory_controller_does(w, t):
    """Effort of the stock controller at times t: straight lines between the points."""
    return np.stack([np.interp(t, w.times, column) for column in w.effort.T], axis=1)


@settings(max_examples=10)
@given(st.floats(0.05, 2.0), st.integers(0, 100))
def test_straight_lines_between_the_points_stay_within_the_tolerance(planar, tolerance, seed):
    rng = np.random.default_rng(seed)
    w = Waypoints(planar.joint_names, [0.0, 0.5, 1.0], rng.uniform(-1.0, 1.0, (3, 2)))
    trajectory = interpolate(w)
    dense = with_effort(trajectory, efforts_of(planar), tolerance=tolerance)
    t = np.linspace(0.0, 1.0, 700)
    true = efforts_of(planar)(trajectory.sample(t))
    lines = as_joint_trajectory_controller_does(dense, t)
    # The curve is checked at every millisecond; between, it bends by 1e-6 of its curvature / 8
    assert np.abs(lines - true).max() < tolerance * 1.02 + 0.02


def test_the_first_point_is_at_the_start_and_carries_its_effort(planar):
    start = State(np.zeros(2), np.zeros(2), np.zeros(2))
    w = Waypoints(planar.joint_names, [0.5, 1.0], [[0.5, 0.5], [1.0, 0.0]])
    dense = with_effort(interpolate(w, start=start), efforts_of(planar))
    assert dense.times[0] == 0.0
    np.testing.assert_allclose(
        dense.effort[0], inverse_dynamics(planar, *np.zeros((3, 2))), atol=1e-12
    )


def test_the_resampled_points_draw_the_same_motion(planar):
    trajectory = interpolate(excitation(planar, 4.0, rate=10.0))
    dense = with_effort(trajectory, efforts_of(planar), tolerance=0.2)
    t = np.linspace(0.0, 4.0, 401)
    again = interpolate(dense).sample(t)
    for value, wanted in zip(again, trajectory.sample(t), strict=True):
        np.testing.assert_allclose(value, wanted, rtol=0.0, atol=1e-8)


def test_cubics_are_resampled_without_accelerations_and_stay_cubics(planar):
    rng = np.random.default_rng(0)
    w = Waypoints(planar.joint_names, [0.0, 0.4, 1.0], *rng.uniform(-1.0, 1.0, (2, 3, 2)))
    trajectory = interpolate(w)
    dense = with_effort(trajectory, efforts_of(planar), tolerance=0.2)
    assert dense.accelerations is None
    t = np.linspace(0.0, 1.0, 101)[:-1]
    for value, wanted in zip(interpolate(dense).sample(t), trajectory.sample(t), strict=True):
        np.testing.assert_allclose(value, wanted, rtol=0.0, atol=1e-8)


def test_a_looser_tolerance_needs_fewer_points(planar):
    trajectory = interpolate(excitation(planar, 4.0, rate=1.0))
    effort = efforts_of(planar)
    counts = [len(with_effort(trajectory, effort, tolerance=x).times) for x in (0.01, 0.1, 100.0)]
    assert counts[0] > 2 * counts[1] > 2 * counts[2]
    assert counts[2] == len(trajectory.breaks)  # and the points that were there stay


@pytest.mark.parametrize("order", [1, -1])
def test_the_tolerance_may_differ_from_joint_to_joint(planar, order):
    tolerance = np.array([0.05, 50.0])[::order]
    trajectory = interpolate(excitation(planar, 2.0, rate=2.0))
    dense = with_effort(trajectory, efforts_of(planar), tolerance=tolerance)
    t = np.linspace(0.0, 2.0, 900)
    off = as_joint_trajectory_controller_does(dense, t) - efforts_of(planar)(trajectory.sample(t))
    assert np.all(np.abs(off).max(axis=0) < tolerance * 1.02 + 0.02)


def test_holding_still_is_one_point_with_the_effort_of_gravity(planar):
    q = np.array([0.3, 0.4])
    held = with_effort(Trajectory.hold(planar.joint_names, q), efforts_of(planar))
    assert held.times.tolist() == [0.0]
    np.testing.assert_array_equal(held.positions, [q])
    assert not held.velocities.any()
    np.testing.assert_allclose(
        held.effort, [inverse_dynamics(planar, q, *np.zeros((2, 2)))], atol=1e-12
    )


def test_a_motion_whose_efforts_overflow_is_refused_by_joint_and_time(planar):
    fast = Waypoints(planar.joint_names, [0.0, 1.0], [[0.0, 0.0], [0.0, 1e200]])
    with pytest.raises(TrajectoryError, match=r"joint 'elbow' has no finite effort at .* s; check"):
        with_effort(interpolate(fast), lambda state: state.qd**2)


@pytest.mark.thorough
def test_efforts_that_grow_without_bound_are_resampled_in_time(planar):
    """Each split leaves most of the line on one side: a second, not an hour."""
    slow = Waypoints(planar.joint_names, [0.0, 100.0], [[0.0, 0.0], [1.0, 1.0]])
    growing = with_effort(interpolate(slow), lambda state: np.exp(600.0 * state.q), tolerance=1e-3)
    assert len(growing.times) > 10_000
