"""Limits on commanded efforts, and the integral part that must not wind up."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from controller_bench import READY, STEP, Bench
from robot_dynamics.control import Limited, Settings, effort_limits, limit_rate, saturate
from robot_dynamics.control.laws import integrated
from robot_dynamics.control.limits import SoftLimits, default_effort_rates
from robot_dynamics.robot.kinematic_tree import JointLimits
from robot_dynamics.spatial import Inertia

EFFORTS = arrays(float, 3, elements=st.floats(-1e6, 1e6))
LIMITS = arrays(float, 3, elements=st.one_of(st.floats(0.0, 1e5), st.just(np.inf)))


@given(EFFORTS, LIMITS)
def test_saturation_keeps_what_fits_and_names_what_it_cuts(tau, limit):
    within, saturation = saturate(tau, limit)
    assert np.all(np.abs(within) <= limit)
    np.testing.assert_array_equal(within, np.clip(tau, -limit, limit))
    # A thousand times the round-off of one product
    np.testing.assert_array_equal(saturation, np.abs(tau) - limit > 1e-12 * limit)


@given(EFFORTS, EFFORTS, st.floats(1.0, 1e6), st.floats(0.0, 0.1))
def test_a_rate_limit_keeps_every_step_small(tau, previous, rate, dt):
    within = limit_rate(tau, previous, rate, dt)
    assert np.all(np.abs(within - previous) <= rate * dt + 1e-9 * np.abs(previous))
    fits = np.abs(tau - previous) <= rate * dt
    np.testing.assert_allclose(within[fits], tau[fits], rtol=1e-15)


def test_an_infinite_rate_limits_nothing():
    for dt in (0.0, 1e-3):
        within = limit_rate(np.array([1e9]), np.zeros(1), np.inf, dt)
        assert within.tolist() == [1e9]


def test_the_default_rate_keeps_consecutive_commands_near_under_a_flood_of_payloads(model):
    rate = default_effort_rates(model.dynamics.robot, 20.0, 1.0)
    assert rate.tolist() == [1600.0, 600.0]  # 2 x 20 rad/s x 40 and 15 N m
    heavy = Inertia.from_com(60.0, np.zeros(3), np.zeros((3, 3)))  # at the elbow: up to 235 N m
    loads = [replace(model, payload=load, frame="fore") for load in (heavy, Inertia.zero())]
    bench = Bench(model, Settings("pd_gravity", effort_rate=rate)).run(READY)
    for loaded in loads * 100:
        bench.controller.model = loaded
        bench.run(STEP)
    steps = np.abs(np.diff(bench.efforts[-200:], axis=0)).max(axis=0)
    assert (steps <= rate * STEP + 1e-9).all()  # round-off of 1e-14 in time, times the rate
    assert steps[0] > 0.9 * rate[0] * STEP


def test_the_default_rate_does_not_limit_ordinary_feedback(model):
    efforts = []
    for rate in (np.inf, default_effort_rates(model.dynamics.robot, 20.0, 1.0)):
        bench = Bench(model, Settings(effort_rate=rate)).run(READY)
        bench.move(1.3, 0.8)
        efforts.append(bench.run(1.2).efforts)
    np.testing.assert_array_equal(*efforts)


def test_an_effort_limit_of_zero_in_the_urdf_is_unknown(arm):
    joints = tuple(
        replace(joint, limits=JointLimits(effort=0.0)) if joint.name == "elbow" else joint
        for joint in arm.robot.joints
    )
    assert effort_limits(replace(arm.robot, joints=joints)).tolist() == [40.0, np.inf]


# -- integral part --------------------------------------------------------------------------

NONE = Limited(np.zeros(2), np.zeros(2))


def test_the_integral_part_stays_within_its_clamp():
    found = integrated(np.zeros(2), np.array([1000.0, -2000.0]), np.array([1.0, np.inf]), NONE)
    assert found.tolist() == [1.0, -2000.0]


def test_the_integral_part_does_not_wind_up_against_a_limit_but_comes_back_from_it():
    saturation = Limited(np.array([5.0, 5.0]), np.array([False, True]))
    pushing = integrated(np.zeros(2), np.array([0.01, 0.02]), np.ones(2), saturation)
    np.testing.assert_allclose(pushing, [0.01, 0.0])
    easing = integrated(np.zeros(2), np.array([0.01, -0.02]), np.ones(2), saturation)
    np.testing.assert_allclose(easing, [0.01, -0.02])


def test_soft_limits_push_back_at_the_ends_of_ranges_and_brake_what_moves_outward_or_too_fast():
    # Zones of 0.1 rad within +-1 rad, a spring that reaches 5 N m there, and 2 N m s/rad
    ends, stiffness, damping = np.array([0.9]), np.array([50.0]), np.array([2.0])
    soft = SoftLimits(-ends, ends, np.array([3.0]), stiffness, damping)
    for q, qd, effort in (
        (0.5, 2.9, 0.0),
        (0.5, 4.0, -2.0 * 1.0),
        (0.96, 0.0, -50.0 * 0.06),
        (0.96, 0.5, -50.0 * 0.06 - 2.0 * 0.5),
        (0.96, -0.5, -50.0 * 0.06),  # on its way back
    ):
        for side in (1.0, -1.0):
            found = soft.effort(np.array([side * q]), np.array([side * qd]))
            np.testing.assert_allclose(found, [side * effort], rtol=0.0, atol=1e-12)
