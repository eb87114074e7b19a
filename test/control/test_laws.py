"""Control laws against closed forms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot_dynamics.control import (
    Gains,
    Measured,
    Reference,
    continuous_joints,
    pd_feedforward,
    position_error,
)
from robot_dynamics.control.laws import MODES

ANGLES = st.floats(-20.0, 20.0)

# A handful of products of numbers below 100
ROUND_OFF = 1e-10


def random_state(seed):
    return np.random.default_rng(seed).uniform(-1.0, 1.0, (5, 2))


def test_pd_with_feedforward_is_the_sum_of_its_terms():
    gains = Gains(np.array([10.0, 20.0]), np.array([1.0, 2.0]))
    reference = Reference(np.array([1.0, 2.0]), np.array([0.5, 0.0]), np.array([3.0, -3.0]))
    measured = Measured(np.array([0.9, 2.1]), np.array([0.0, 0.5]))
    # 3 + 10 * 0.1 + 1 * 0.5, and -3 + 20 * -0.1 + 2 * -0.5
    np.testing.assert_allclose(pd_feedforward(reference, measured, gains), [4.5, -6.0])


@given(ANGLES, ANGLES, st.integers(-3, 3))
def test_the_error_of_a_continuous_joint_takes_the_shorter_way_round(a, b, turns):
    error = position_error(np.array([a]), np.array([b + 2 * np.pi * turns]), np.array([True]))[0]
    assert abs(error) <= np.pi + ROUND_OFF
    assert np.cos(error) == pytest.approx(np.cos(a - b), abs=ROUND_OFF)
    assert np.sin(error) == pytest.approx(np.sin(a - b), abs=ROUND_OFF)


def test_the_error_of_a_limited_joint_keeps_its_turns():
    assert position_error(np.array([7.0]), np.array([0.0]), np.array([False]))[0] == 7.0
    assert position_error(np.array([7.0]), np.array([0.0]))[0] == 7.0


def test_continuous_joints_are_known_by_their_type(arm):
    assert continuous_joints(arm.robot).tolist() == [False, True]


@pytest.mark.parametrize("mode", MODES)
def test_a_joint_state_one_turn_on_is_the_same_to_every_mode(model, mode):
    q, qd, tau, q_m, qd_m = random_state(1)
    law, reference = MODES[mode].effort, Reference(q, qd, tau)
    here = law(model, reference, Measured(q_m, qd_m))
    there = law(model, reference, Measured(q_m + [0.0, 2 * np.pi], qd_m))
    np.testing.assert_allclose(there, here, rtol=0.0, atol=ROUND_OFF)


@given(st.integers(0, 1000))
def test_under_computed_torque_the_error_obeys_one_linear_equation(model, seed):
    q, qd, qdd, q_m, qd_m = random_state(seed)
    reference = Reference(q, qd, model.feedforward(q, qd, qdd))
    tau = MODES["computed_torque"].effort(model, reference, Measured(q_m, qd_m))
    friction = model.friction.smooth(qd)  # made up for at the desired velocity
    accelerations = model.dynamics.forward(q_m, qd_m, tau - friction)
    w, z = model.bandwidth, model.damping_ratio
    expected = qdd + 2 * z * w * (qd - qd_m) + w**2 * (q - q_m)
    np.testing.assert_allclose(accelerations, expected, rtol=1e-9, atol=1e-7)


@pytest.mark.parametrize("mode", ["feedforward", "computed_torque", "impedance"])
def test_on_its_path_an_arm_gets_exactly_the_effort_of_its_motion(model, mode):
    q, qd, _, _, _ = random_state(2)
    qdd = np.zeros(2)
    wanted = model.feedforward(q, qd, qdd)
    tau = MODES[mode].effort(model, Reference(q, qd, wanted), Measured(q, qd))
    np.testing.assert_allclose(tau, wanted, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("mode", ["pd_gravity", "gravity_compensation", "impedance"])
def test_at_rest_where_it_should_be_an_arm_gets_its_gravity(model, mode):
    q = np.array([0.3, -0.7])
    reference = Reference(q, np.zeros(2), np.zeros(2))
    tau = MODES[mode].effort(model, reference, Measured(q, np.zeros(2)))
    np.testing.assert_allclose(tau, model.dynamics.gravity(q), rtol=0.0, atol=ROUND_OFF)


def test_gravity_compensation_does_not_care_where_the_arm_should_be(model):
    measured = Measured(np.array([0.3, -0.7]), np.array([0.5, 0.5]))
    somewhere = Reference(np.full(2, 9.0), np.full(2, 9.0), np.full(2, 9.0))
    tau = MODES["gravity_compensation"].effort(model, somewhere, measured)
    np.testing.assert_allclose(tau, model.dynamics.gravity(measured.q), rtol=0.0, atol=ROUND_OFF)


def test_an_arm_without_gravity_in_its_model_gets_none(model):
    from robot_dynamics.control import Model
    from robot_dynamics.dynamics.dynamics import Dynamics

    weightless = Model(Dynamics(model.dynamics.robot.with_gravity((0.0, 0.0, 0.0))), model.gains)
    q = np.array([0.3, -0.7])
    tau = MODES["gravity_compensation"].effort(weightless, Reference(q, q, q), Measured(q, q))
    np.testing.assert_allclose(tau, 0.0, atol=1e-12)


def test_impedance_is_a_spring_and_a_damper(model):
    q, qd, _, q_m, qd_m = random_state(3)
    far = MODES["impedance"].effort(model, Reference(q, qd, q), Measured(q_m, qd_m))
    near = MODES["impedance"].effort(model, Reference(q_m, qd, q), Measured(q_m, qd_m))
    np.testing.assert_allclose(far - near, model.gains.kp * (q - q_m), rtol=0.0, atol=ROUND_OFF)
