"""The numerical example of the zero reference position paper: a circle in nine seconds.

The paper prints no numbers of it, only curves and what it says of them. The reference was
computed by Pinocchio and from Lagrange's equations by automatic differentiation.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import trapezoid

from oracles import relative_error
from robot_dynamics.formulations.zero_reference import (
    inverse_dynamics,
    inverse_dynamics_in_base_axes,
)
from robot_dynamics.papers.paper_arms import INCH, puma_type_arm
from robot_dynamics.papers.paper_motions import CIRCLE_TIME_S, circle_motion, hand_on_circle
from robot_dynamics.papers.zero_reference_hand import (
    hand_motion,
    hand_position,
    inverse_dynamics_from_hand,
)
from robot_dynamics.trajectory.motions import circle_law

DATA = Path(__file__).parents[1] / "data" / "puma_gupta_torques.json"
SAMPLES = json.loads(DATA.read_text())["samples"]
REFERENCE = {name: np.array([row[name] for row in SAMPLES]) for name in SAMPLES[0]}
TIMES = np.linspace(0.0, CIRCLE_TIME_S, 91)
ARM = puma_type_arm()


@pytest.fixture(scope="module")
def motion():
    return circle_motion(ARM, TIMES)


def torques(form, q, qd, qdd):
    return np.array([form(ARM.robot, *state, {}) for state in zip(q, qd, qdd, strict=True)])


# -- joint motion: figures 5 to 7 -------------------------------------------------------------


@pytest.mark.parametrize("name", ["q", "qd", "qdd"])
def test_joint_motion_agrees_with_the_reference(name):
    found = getattr(circle_motion(ARM, REFERENCE["t"]), name)
    assert relative_error(found, REFERENCE[name]) < 1e-12


def test_the_hand_is_on_the_circle_and_turns_with_it(motion):
    for t, q, qd, qdd in zip(TIMES, *motion, strict=True):
        psi = circle_law(t).angle
        hand, wanted = hand_position(ARM, q), hand_on_circle(t)
        h = INCH * np.array([34.0, 6.0 * np.sin(psi), 6.0 * np.cos(psi)])  # eq. (30)
        assert_allclose(hand.b, h, atol=1e-14)
        assert_allclose(hand.rotation, wanted.rotation, atol=1e-14)  # eq. (31)
        found = hand_motion(ARM, q, qd, qdd)
        assert_allclose(found.omega, wanted.omega, atol=1e-13)  # eq. (37)
        assert_allclose(found.alpha, wanted.alpha, atol=1e-13)  # eq. (38)
        assert_allclose(found.a, wanted.a, atol=1e-13)


def test_rates_and_accelerations_are_derivatives_of_the_joint_values():
    t, h = np.linspace(0.1, 8.9, 45), 1e-4
    before, now, after = (circle_motion(ARM, t + shift) for shift in (-h, 0.0, h))
    # central differences, h^2 times third derivatives of up to 100 rad/s^3
    assert_allclose((after.q - before.q) / (2 * h), now.qd, atol=1e-6)
    assert_allclose((after.qd - before.qd) / (2 * h), now.qdd, atol=1e-5)


def test_joint_4_makes_a_full_turn_and_the_others_return(motion):
    turned = motion.q[-1] - motion.q[0]
    assert_allclose(turned, [0, 0, 0, 2 * np.pi, 0, 0], atol=1e-13)
    assert np.max(np.abs(np.diff(motion.q, axis=0))) < 1.0  # and never jumps on its way


def test_joint_3_hardly_moves(motion):
    # the paper speaks of very small changes; the wrist stays at one distance from the shoulder,
    # so that there are none
    assert np.ptp(motion.q[:, 2]) < 1e-14


def test_below_22_degrees_of_tilt_joint_6_makes_the_turn_instead():
    q = circle_motion(ARM, TIMES, tilt=np.radians(20.0)).q
    turned = q[-1] - q[0]
    assert_allclose(np.abs(turned[[3, 5]]), [0.0, 2 * np.pi], atol=1e-13)


# -- torques: figure 8 ------------------------------------------------------------------------


@pytest.mark.parametrize("form", [inverse_dynamics, inverse_dynamics_in_base_axes])
def test_torques_agree_with_the_reference(form):
    found = torques(form, REFERENCE["q"], REFERENCE["qd"], REFERENCE["qdd"])
    assert relative_error(found, REFERENCE["tau"]) < 1e-12


def test_torques_from_the_motion_of_the_hand_agree_with_the_reference():
    motion = circle_motion(ARM, REFERENCE["t"])
    for i, t in enumerate(REFERENCE["t"]):
        hand = hand_on_circle(t)
        found = inverse_dynamics_from_hand(
            ARM.robot, motion.q[i], motion.qd[i], motion.qdd[i], {}, hand
        )
        assert relative_error(found, REFERENCE["tau"][i]) < 1e-12


def test_torques_at_start_and_end_are_the_static_ones(motion):
    found = torques(inverse_dynamics, *motion)
    still = np.zeros(6)
    for i in (0, -1):
        static = inverse_dynamics(ARM.robot, motion.q[i], still, still, {})
        assert_allclose(found[i], static, atol=1e-12)


def test_joints_2_and_3_carry_most_of_the_gravity_load(motion):
    still = np.zeros(6)
    load = np.abs([inverse_dynamics(ARM.robot, q, still, still, {}) for q in motion.q])
    assert np.min(load[:, [1, 2]]) > np.max(load[:, [0, 3, 4, 5]])


@pytest.mark.thorough
def test_actuators_do_as_much_work_as_the_energy_grows(motion):
    # the arm starts and ends at rest in one pose but for a full turn of joint 4 and so gains none
    t = np.linspace(0.0, CIRCLE_TIME_S, 901)
    fine = circle_motion(ARM, t)
    power = np.sum(torques(inverse_dynamics, *fine) * fine.qd, axis=1)
    work, moved = trapezoid(power, t), trapezoid(np.abs(power), t)
    assert abs(work) < 1e-5 * moved  # trapezoids of 10 ms
