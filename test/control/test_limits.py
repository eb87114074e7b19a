"""Limits on commanded efforts, and the integral part that must not wind up."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from robot_dynamics.control import Gains, Limited, effort_limits, limit_rate, saturate
from robot_dynamics.control.laws import integrate_error
from robot_dynamics.robot.kinematic_tree import JointLimits

EFFORTS = arrays(float, 3, elements=st.floats(-1e6, 1e6))
LIMITS = arrays(float, 3, elements=st.one_of(st.floats(0.0, 1e5), st.just(np.inf)))


@given(EFFORTS, LIMITS)
def test_saturation_keeps_what_fits_and_names_what_it_cuts(tau, limit):
    within, cut = saturate(tau, limit)
    assert np.all(np.abs(within) <= limit)
    np.testing.assert_array_equal(within[~cut], tau[~cut])
    np.testing.assert_array_equal(within[cut], np.sign(tau[cut]) * limit[cut])
    np.testing.assert_array_equal(cut, np.abs(tau) > limit)


@given(EFFORTS, EFFORTS, st.floats(1.0, 1e6), st.floats(0.0, 0.1))
def test_a_rate_limit_keeps_every_step_small(tau, previous, rate, dt):
    within, cut = limit_rate(tau, previous, rate, dt)
    assert np.all(np.abs(within - previous) <= rate * dt + 1e-9 * np.abs(previous))
    np.testing.assert_array_equal(within[~cut], tau[~cut])


def test_an_infinite_rate_limits_nothing():
    for dt in (0.0, 1e-3):
        within, cut = limit_rate(np.array([1e9]), np.zeros(1), np.inf, dt)
        assert (within.tolist(), cut.tolist()) == ([1e9], [False])


def test_an_effort_limit_of_zero_in_the_urdf_is_unknown(arm):
    joints = tuple(
        replace(joint, limits=JointLimits(effort=0.0)) if joint.name == "elbow" else joint
        for joint in arm.robot.joints
    )
    assert effort_limits(replace(arm.robot, joints=joints)).tolist() == [40.0, np.inf]


# -- integral part --------------------------------------------------------------------------

GAINS = Gains(np.zeros(2), np.zeros(2), ki=np.array([10.0, 20.0]), i_clamp=np.array([1.0, np.inf]))


def test_the_integral_part_is_the_integral_of_the_error():
    integral = np.zeros(2)
    for _ in range(50):
        integral = integrate_error(integral, np.array([0.1, -0.1]), GAINS, 1e-3)
    np.testing.assert_allclose(integral, [10 * 0.1 * 0.05, -20 * 0.1 * 0.05])


def test_the_integral_part_stays_within_its_clamp():
    integral = integrate_error(np.zeros(2), np.array([100.0, 100.0]), GAINS, 1.0)
    assert integral.tolist() == [1.0, 2000.0]


def test_the_integral_part_does_not_wind_up_against_a_limit_but_comes_back_from_it():
    cut = Limited(np.array([5.0, 5.0]), np.array([False, True]))
    pushing = integrate_error(np.zeros(2), np.array([0.1, 0.1]), GAINS, 1e-2, cut)
    np.testing.assert_allclose(pushing, [0.01, 0.0])
    easing = integrate_error(np.zeros(2), np.array([0.1, -0.1]), GAINS, 1e-2, cut)
    np.testing.assert_allclose(easing, [0.01, -0.02])
