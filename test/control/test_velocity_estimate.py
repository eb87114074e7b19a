"""Velocities by positions: against the filter's transfer function."""

import numpy as np
import pytest

from choices import first
from robot_dynamics.control.velocity_estimate import VelocityEstimate

ALL = slice(None)


def fed(estimate, times, motion):
    return np.array([estimate.feed(t, np.array([motion(t)]), ALL)[0] for t in times])


def test_a_constant_velocity_is_exact_from_the_second_state_on_whatever_their_times():
    times = np.cumsum(np.random.default_rng(0).uniform(1e-4, 0.3, 50))
    found = fed(VelocityEstimate(1, 20.0), times, lambda t: 0.7 * t)
    assert np.isnan(found[0])
    np.testing.assert_allclose(found[1:], 0.7, rtol=1e-9)


def test_a_velocity_that_grows_comes_later_by_the_lag():
    estimate = VelocityEstimate(1, 20.0)
    times = np.arange(0.0, 0.5, 1e-3)
    found = fed(estimate, times, lambda t: 1.5 * t**2)
    assert estimate.lag == pytest.approx(1.0 / (np.pi * 20.0))
    np.testing.assert_allclose(found[200:], 3.0 * (times[200:] - estimate.lag), atol=3.0 * 1e-3)


@pytest.mark.parametrize("frequency", first([20.0], [3.0, 20.0, 60.0]))
def test_a_sine_passes_as_the_transfer_function_says(frequency):
    w, s = 2.0 * np.pi * 20.0, 2j * np.pi * frequency
    times = np.arange(0.0, 2.0, 1e-4)
    found = fed(VelocityEstimate(1, 20.0), times, lambda t: np.sin(s.imag * t))
    expected = (s * w**2 / (s + w) ** 2 * np.exp(s * times)).imag
    late = times > 0.5
    np.testing.assert_allclose(found[late], expected[late], atol=2e-2 * np.abs(expected).max())


@pytest.mark.thorough
def test_noise_of_positions_becomes_the_noise_that_the_module_states():
    w, period, size = 2.0 * np.pi * 20.0, 1e-3, 1e-4
    rng = np.random.default_rng(3)
    times = np.arange(0.0, 60.0, period)
    found = fed(VelocityEstimate(1, 20.0), times, lambda _: rng.normal(0.0, size))
    assert found[1000:].std() == pytest.approx(size * w * np.sqrt(w * period) / 2.0, rel=0.1)


def test_a_joint_that_turns_without_end_does_not_jump():
    estimate = VelocityEstimate(1, 20.0, np.array([True]))
    wrapped = lambda t: np.mod(2.0 * t + np.pi, 2.0 * np.pi) - np.pi  # noqa: E731
    np.testing.assert_allclose(fed(estimate, np.arange(0.0, 6.0, 0.01), wrapped)[1:], 2.0)


def test_joints_come_at_times_of_their_own():
    """The last two joints, one of which turns without end, and the first one take turns."""
    estimate, rates = VelocityEstimate(3, 20.0, np.array([False, True, False])), [1.0, 2.0, -3.0]
    for k, time in enumerate(np.arange(0.0, 6.0, 0.01)):
        joints = np.array([[1, 2], [0]][k % 2])
        q = time * np.array(rates)[joints]
        q = np.where(joints == 1, np.mod(q + np.pi, 2.0 * np.pi) - np.pi, q)
        found = estimate.feed(time, q, joints)
        expected = np.nan if k < 2 else np.array(rates)[joints]
        np.testing.assert_allclose(found, np.broadcast_to(expected, joints.shape))


def test_a_clock_that_goes_back_begins_anew_and_a_repeated_state_changes_nothing():
    estimate = VelocityEstimate(1, 20.0)
    fed(estimate, [0.0, 0.1, 0.2], lambda t: t)
    for time in (0.2, 0.3):
        assert estimate.feed(time, np.array([time]), ALL)[0] == pytest.approx(1.0)
    assert np.isnan(estimate.feed(0.1, np.array([0.1]), ALL)[0])
