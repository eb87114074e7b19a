"""Predefined motions: laws of the papers, and motions within the limits of any robot."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_dynamics.errors import ArgumentError
from robot_dynamics.trajectory import (
    circle_law,
    cycloidal,
    excitation,
    interpolate,
    polynomial_345,
    random_poses,
)
from strategies import robots

PI = np.pi


def test_the_cycloid_is_that_of_the_stanford_arm_example():
    # Angeles, Ma, Rojas, section 7.1: A = pi/30 and -pi/60 rad/s and 0.01 m/s, B = 2 pi/10, T = 10
    A, B = np.array([PI / 30, -PI / 60, 0.01]), 2 * PI / 10
    q0 = np.array([0.0, PI / 2, 0.0])
    w = cycloidal(("1", "2", "3"), q0, q0 + [PI / 3, -PI / 6, 0.1], 10.0)
    t = w.times[:, None]
    np.testing.assert_allclose(w.positions, q0 + A * (t - np.sin(B * t) / B), atol=1e-14)
    np.testing.assert_allclose(w.velocities, A * (1 - np.cos(B * t)), atol=1e-14)
    np.testing.assert_allclose(w.accelerations, A * B * np.sin(B * t), atol=1e-14)


def test_the_345_polynomial_is_what_its_two_points_interpolate_to():
    trajectory = interpolate(polynomial_345(("a",), [1.0], [3.0], 2.0))
    for s in np.linspace(0.0, 1.0, 11):
        expected = 1.0 + 2.0 * (10 * s**3 - 15 * s**4 + 6 * s**5)
        assert trajectory.sample(2.0 * s).q[0] == pytest.approx(expected, abs=1e-14)


# Gupta, the values that follow from eqs. (32) to (34) for T_1 = T_2 = T_3 = 3 s
KNOTS = {0: (0, 0, 0), 3: (PI / 2, PI / 3, 0), 6: (3 * PI / 2, PI / 3, 0), 9: (2 * PI, 0, 0)}


@pytest.mark.parametrize("t", KNOTS)
def test_the_circle_law_has_the_printed_values_between_its_segments(t):
    for side in (-1e-12, 0.0, 1e-12):
        np.testing.assert_allclose(circle_law(t + side), KNOTS[t], rtol=0.0, atol=1e-11)


def test_the_circle_law_has_the_printed_form_in_each_segment():
    t = 1.3
    assert circle_law(t).angle == pytest.approx(PI * t / 6 - np.sin(PI * t / 3) / 2)
    assert circle_law(t).acceleration == pytest.approx(PI**2 / 18 * np.sin(PI * t / 3))
    assert circle_law(4.2).angle == pytest.approx(PI / 2 + PI / 3 * 1.2)
    t = 7.9
    expected = 2 * PI - PI * (9 - t) / 6 + np.sin(PI * (9 - t) / 3) / 2
    assert circle_law(t).angle == pytest.approx(expected)
    assert circle_law(t).acceleration == pytest.approx(-(PI**2) / 18 * np.sin(PI * (9 - t) / 3))


@given(st.tuples(*[st.floats(0.5, 5.0)] * 3), st.floats(0.5, 10.0))
def test_the_circle_law_turns_by_the_whole_angle_whatever_the_segments(durations, turn):
    end = circle_law(sum(durations), durations, turn)
    np.testing.assert_allclose(end, (turn, 0.0, 0.0), rtol=0.0, atol=1e-12)
    t = np.linspace(0.0, sum(durations), 2001)
    law = circle_law(t, durations, turn)
    # Central differences of a law whose third derivative is below 10^2 here, at steps up to 7.5 ms
    np.testing.assert_allclose(np.gradient(law.angle, t)[1:-1], law.rate[1:-1], atol=1e-2)
    np.testing.assert_allclose(np.gradient(law.rate, t)[1:-1], law.acceleration[1:-1], atol=0.3)


@settings(max_examples=25)
@given(robots(), st.floats(2.0, 20.0), st.floats(0.1, 1.0), st.floats(0.1, 1.0))
def test_excitation_keeps_the_limits_of_any_robot_and_begins_and_ends_at_rest(
    robot, duration, share, speed_share
):
    w = excitation(robot, duration, share=share, speed_share=speed_share)
    state = interpolate(w).sample(np.linspace(0.0, duration, 3000))
    # Waypoints at 100 Hz meet the peak of the fastest of three waves, 3 / T, to one in 10^3
    slack = 2e-3
    assert np.all(np.abs(state.qd) <= speed_share * robot.limits.velocity * (1.0 + slack))
    assert np.all(state.q >= robot.limits.lower - slack)
    assert np.all(state.q <= robot.limits.upper + slack)
    assert not np.any(np.abs(w.velocities[[0, -1]]) > 1e-9)
    assert not np.any(np.abs(w.accelerations[[0, -1]]) > 1e-9)


@settings(max_examples=25)
@given(robots())
def test_excitation_uses_the_share_of_range_or_speed_that_it_may(robot):
    w = excitation(robot, 10.0, share=0.6, speed_share=0.5)
    limits = robot.limits
    for i in range(robot.dof):
        amplitude = np.ptp(w.positions[:, i]) / (limits.upper[i] - limits.lower[i])
        speed = np.abs(w.velocities[:, i]).max() / limits.velocity[i]
        unlimited = not np.isfinite(limits.upper[i])
        assert unlimited or amplitude == pytest.approx(0.6) or speed == pytest.approx(0.5)


def test_excitation_outside_the_limits_is_refused(planar):
    with pytest.raises(ArgumentError) as refusal:
        excitation(planar, centre=[9.0, 0.0])
    assert str(refusal.value) == (
        f"centre: joint '{planar.joint_names[0]}' is outside its limits; choose a pose within"
    )


def test_a_share_above_one_is_refused(planar):
    with pytest.raises(ArgumentError) as refusal:
        excitation(planar, share=1.5)
    assert str(refusal.value) == "share is 1.5; give a part of the range, above 0 and up to 1"


@settings(max_examples=25)
@given(robots(), st.integers(0, 1000))
def test_random_poses_are_within_the_share_and_repeat_with_the_seed(robot, seed):
    w = random_poses(robot, 4, seed=seed, share=0.7)
    again = random_poses(robot, 4, seed=seed, share=0.7)
    np.testing.assert_array_equal(w.positions, again.positions)
    assert np.all(w.positions >= robot.limits.lower) and np.all(w.positions <= robot.limits.upper)
    assert len(w.times) == 6
    np.testing.assert_array_equal(w.positions[0], w.positions[-1])
    assert not np.array_equal(w.positions, random_poses(robot, 4, seed=seed + 1).positions)
