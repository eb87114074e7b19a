"""The stability limit of sampled PD: closed form, exact simulation, and margins kept by gains."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot_dynamics.control import Gains, gains_for
from robot_dynamics.control.gains import ideal_gains
from robot_dynamics.control.sampled_loop import Sampling, largest_frequency
from robot_dynamics.control.sampling.tuning import Tuner
from robot_dynamics.control.stability import (
    GAIN_MARGIN,
    fastest_mode,
    largest_ratio,
    limit_of_a_late_cycle,
    stability_limit,
)
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.robot import find_robot
from robot_dynamics.robot.urdf.reader import read_urdf
from robot_dynamics.trajectory.motions import sample_poses

ROBOTS = {name: Dynamics(read_urdf(find_robot(name))) for name in ("ur5", "panda", "planar_2r")}


def grows(mu, r, period, delay, time=4.0):
    """Return whether e'' = u is unstable, by marching it in steps that divide period and delay."""
    step = 5e-4
    every, late = round(period / step), round(delay / step)
    e, v, u, pending = 1.0, 0.0, 0.0, []
    size = []
    for k in range(round(time / step)):
        if k % every == 0:
            pending.append((k + late, -mu * (r * e + v)))
        while pending and pending[0][0] <= k:
            u = pending.pop(0)[1]
        e, v = e + step * v + step**2 / 2.0 * u, v + step * u
        size.append(abs(e) + abs(v) / mu)
    third = len(size) // 3
    return max(size[-third:]) > max(size[third : 2 * third])


def decay(mu, r, period, delay):
    """Factor by which a mode grows or decays in a cycle: e, e' and the corrections on their way."""
    whole = int(delay / period)
    late = delay - whole * period
    n = 3 + whole
    A = np.zeros((n, n))
    A[:2, :2] = [1.0, period], [0.0, 1.0]
    # Corrections a: state[2] is the newest of the past; state[1 + k] is k cycles old
    for age, begin, end in ((whole + 1, 0.0, late), (whole, late, period)):
        feedback = np.zeros(n)
        if age:
            feedback[1 + age] = 1.0
        else:
            feedback[:2] = -mu * r, -mu
        A[0] += ((period - begin) ** 2 - (period - end) ** 2) / 2.0 * feedback
        A[1] += (end - begin) * feedback
    A[2, :2] = -mu * r, -mu
    A[3:, 2:-1] = np.eye(n - 3)
    return np.abs(np.linalg.eigvals(A)).max()


@pytest.mark.parametrize("period", [1e-3, 1e-2])
@pytest.mark.parametrize("r", [1.0, 10.0, 50.0])
def test_without_delay_the_stability_limit_is_that_of_jurys_criterion(period, r):
    # z^2 + (a/2 + b - 2) z + 1 + a/2 - b with a = mu r T^2, b = mu T is stable for a/2 < b < 2
    assert stability_limit(r, period, 0.0) == pytest.approx(2.0 / period, rel=1e-6)
    assert stability_limit(2.001 / period, period, 0.0) == 0.0


def test_with_short_periods_the_stability_limit_is_that_of_a_pure_delay():
    # e' = -mu e(t - d) is unstable beyond mu d = pi/2
    assert stability_limit(1e-9, 1e-3, 2e-2) * (2e-2 + 5e-4) == pytest.approx(np.pi / 2.0, rel=1e-2)


@pytest.mark.parametrize("period", [1e-3, 2e-3, 4e-3, 1e-2, 2e-2])
@pytest.mark.parametrize("delay", [0.0, 2e-3, 1e-2, 2e-2, 2.5e-2])
@pytest.mark.parametrize("r", [2.0, 10.0])
def test_a_loop_swings_up_beyond_the_stability_limit_and_not_before(period, delay, r):
    mu = stability_limit(r, period, delay)
    assert grows(1.05 * mu, r, period, delay)
    assert not grows(0.95 * mu, r, period, delay)


@given(
    log_period=st.floats(-3.5, -1.0),
    periods=st.one_of(st.integers(0, 6), st.floats(0.0, 1.0), st.floats(0.0, 20.0)),
    share=st.floats(1e-3, 0.999),
)
def test_eigenvalues_leave_the_unit_circle_at_the_stability_limit(log_period, periods, share):
    period = 10.0**log_period
    delay = periods * period
    r = share / (period / 2.0 + delay)
    mu = stability_limit(r, period, delay)
    # Eigenvalues that meet at 1 for a small gain are known to the root of the rounding only
    far = 1e-3
    assert decay((1.0 + far) * mu, r, period, delay) > 1.0
    assert decay((1.0 - far) * mu, r, period, delay) < 1.0


@pytest.mark.parametrize("rate", [50.0, 1000.0])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_the_limit_of_efforts_a_period_late_has_a_closed_form(rate, share):
    r = share * rate / 1.5  # of the lag of one period and a half
    expected = stability_limit(r, 1.0 / rate, 1.0 / rate)
    assert limit_of_a_late_cycle(r, rate) == pytest.approx(expected, rel=1e-6)  # of 256 intervals


def test_a_loop_that_is_very_late_is_fitted_as_fast_as_any():
    # 500 corrections on their way: by their eigenvalues it took minutes, beside the loop
    late, later = (largest_frequency(1.0, Sampling(1e-3, delay), 20.0) for delay in (0.25, 0.5))
    assert late == pytest.approx(2.0 * later, rel=1e-2)


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("period", [1e-3, 1e-2, 2e-2])
def test_gains_keep_every_mode_of_an_arm_at_half_of_its_stability_limit(name, period):
    dynamics, sampling = ROBOTS[name], Sampling.of(period)
    gains = gains_for(dynamics, period=sampling.period, delay=sampling.delay)
    roots = np.linalg.cholesky(np.linalg.inv(dynamics.mass_matrix(sample_poses(dynamics.robot))))
    r = (gains.kp / gains.kd).max()
    assert r <= largest_ratio(*sampling) * (1.0 + 1e-12)
    assert fastest_mode(gains.kd, roots) <= stability_limit(r, *sampling) / GAIN_MARGIN * (
        1.0 + 1e-9
    )
    assert np.all(gains.kd <= ideal_gains(dynamics).kd)


def test_gains_that_fit_stay_as_they_are():
    dynamics = ROBOTS["ur5"]
    soft = Gains(np.full(6, 1.0), np.full(6, 0.5))
    fitted = Tuner(dynamics).gains(soft, Sampling.of(1e-3))
    np.testing.assert_array_equal(fitted.kd, soft.kd)
    np.testing.assert_allclose(fitted.kp, soft.kp, rtol=1e-15)


def test_computed_torque_keeps_its_bandwidth_longer_than_the_joints_alone():
    assert largest_frequency(1.0, Sampling.of(1e-2), 20.0) == 20.0
    slow = Sampling.of(2e-2, 2e-2)
    w = largest_frequency(1.0, slow, 20.0)
    assert 0.0 < w < 20.0
    assert 2.0 * w <= stability_limit(w / 2.0, *slow) / GAIN_MARGIN * (1.0 + 1e-9)
