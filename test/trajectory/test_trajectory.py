"""Sampling of piecewise polynomials."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot_dynamics.errors import TrajectoryError
from robot_dynamics.trajectory import Trajectory

# A sample sums six products of numbers below 10^2: 6 * 2^-53 * 10^2, and one power of ten more
ROUND_OFF = 1e-12


def random_trajectory(seed, pieces=4, n=3):
    rng = np.random.default_rng(seed)
    breaks = np.cumsum(rng.uniform(0.2, 1.0, pieces + 1))
    names = [f"joint{i}" for i in range(n)]
    return Trajectory(names, breaks, rng.uniform(-1.0, 1.0, (pieces, n, 6)))


def test_a_sample_is_the_polynomial_of_its_piece_and_its_derivatives():
    trajectory = random_trajectory(1)
    t = 0.5 * (trajectory.breaks[2] + trajectory.breaks[3])
    for i in range(3):
        p = np.polynomial.Polynomial(trajectory.coefficients[2, i])
        u = t - trajectory.breaks[2]
        for value, expected in zip(trajectory.sample(t), (p, p.deriv(1), p.deriv(2)), strict=True):
            assert abs(value[i] - expected(u)) < ROUND_OFF


@given(st.integers(0, 1000))
def test_many_samples_equal_single_ones(seed):
    trajectory = random_trajectory(seed)
    t = np.concatenate((np.linspace(-1.0, 6.0, 40), trajectory.breaks))
    together = trajectory.sample(t)
    for k, time in enumerate(t):
        for many, one in zip(together, trajectory.sample(float(time)), strict=True):
            np.testing.assert_allclose(many[k], one, rtol=0.0, atol=ROUND_OFF)


@pytest.mark.parametrize("beyond", [1e-12, 1.0, 1e9, np.inf])
def test_before_the_start_and_after_the_end_the_joints_hold_still(beyond):
    trajectory = random_trajectory(2)
    for t, end in (
        (trajectory.start - beyond, trajectory.start),
        (trajectory.end + beyond, trajectory.end),
    ):
        held = trajectory.sample(t)
        np.testing.assert_allclose(held.q, trajectory.sample(end).q, rtol=0.0, atol=ROUND_OFF)
        assert not held.qd.any() and not held.qdd.any()


def test_hold_stays_for_ever():
    trajectory = Trajectory.hold(["a", "b"], np.array([1.0, -2.0]))
    for t in (-5.0, 0.0, 1e-10, 3.0, 1e6):
        state = trajectory.sample(t)
        assert state.q.tolist() == [1.0, -2.0]
        assert not state.qd.any() and not state.qdd.any()


def test_coefficients_of_another_shape_are_refused():
    with pytest.raises(TrajectoryError) as refusal:
        Trajectory(["a", "b"], np.array([0.0, 1.0]), np.zeros((1, 2, 4)))
    assert str(refusal.value) == (
        "trajectory: coefficients of shape (1, 2, 4) for 1 pieces of 2 joints; expected (1, 2, 6)"
    )
