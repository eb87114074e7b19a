"""Feedforward of elastic joints: closed forms of one joint, and its limits."""

from dataclasses import replace

import numpy as np
import pytest

from elastic_arm import DISC, elastic
from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.control import Friction, Gains, Model
from robot_dynamics.control.elastic_feedforward import drive_reference, link_positions
from robot_dynamics.trajectory import State

M, B, K = 0.5, 0.2, 800.0
GAINS = Gains([0.0], [0.0])
MOTION = State(*(np.array([x]) for x in (0.4, 1.5, -2.0)))
JERK, SNAP = np.array([30.0]), np.array([-400.0])


def disc(damping=0.0, **how):
    robot = read_urdf(DISC).with_joint_elasticity(K, damping)
    how.setdefault("encoders", "motor")
    return Model(Dynamics(robot), GAINS, rotor_inertia=np.array([B]), **how)


def test_the_motor_leads_by_the_twist_and_bears_both_inertias():
    q, qd, tau = drive_reference(disc(), MOTION, (JERK, SNAP))
    assert q == pytest.approx(MOTION.q + M * MOTION.qdd / K)
    assert qd == pytest.approx(MOTION.qd + M * JERK / K)
    assert tau == pytest.approx(M * MOTION.qdd + B * (MOTION.qdd + M * SNAP / K))


def test_without_jerk_and_snap_the_twist_is_quasi_static():
    q, qd, tau = drive_reference(disc(), MOTION)
    assert q == pytest.approx(MOTION.q + M * MOTION.qdd / K)
    assert qd == MOTION.qd
    assert tau == pytest.approx((M + B) * MOTION.qdd)


@pytest.mark.parametrize("encoders", ["link", "motor", "both"])
def test_the_reference_is_what_the_encoders_measure(encoders):
    sides = ("link", "motor", encoders)
    link, motor, found = (
        drive_reference(disc(encoders=side), MOTION, (JERK, SNAP)) for side in sides
    )
    assert (link.q, link.qd) == (MOTION.q, MOTION.qd)
    assert found.q == (motor if encoders == "motor" else link).q
    assert found.qd == (link if encoders == "link" else motor).qd
    assert found.tau == motor.tau


def test_friction_is_that_of_the_motor():
    rubs = disc(friction=Friction([3.0], [0.0]))
    plain, with_friction = (drive_reference(m, MOTION, (JERK, SNAP)) for m in (disc(), rubs))
    assert with_friction.tau - plain.tau == pytest.approx(3.0 * plain.qd)


def test_the_twist_satisfies_the_equation_of_spring_and_damper():
    # e + (D/K) e' = tau_J / K but for the third order in D/K times the rates of tau_J
    D, w, t = 2.0, 3.0, 0.2
    x = [w**k * np.sin([w * t + k * np.pi / 2.0]) for k in range(5)]
    q, qd, _ = drive_reference(disc(D), State(*x[:3]), (x[3], x[4]))
    twist, rate = q - x[0], qd - x[1]
    cut = (D / K * w) ** 2 * M * w**2 / K
    assert abs(K * twist + D * rate - M * x[2]) < 2.0 * K * cut
    assert abs(twist) > 100.0 * cut


def test_rigid_joints_of_an_elastic_arm_keep_their_reference():
    robot, rotors = elastic("ur5", {"elbow_joint": 5e3})
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5, 4, 6))
    model = Model(Dynamics(robot), GAINS, rotor_inertia=rotors, encoders="motor")
    q, qd, tau = drive_reference(model, State(*x[:3]), (x[3], x[4]))
    others = np.arange(6) != 2
    np.testing.assert_array_equal(q[:, others], x[0][:, others])
    np.testing.assert_array_equal(qd[:, others], x[1][:, others])
    np.testing.assert_allclose(tau[:, others], model.feedforward(*x[:3])[:, others], atol=1e-9)
    assert np.abs(tau - model.feedforward(*x[:3]))[:, 2].min() > 1e-4
    one = drive_reference(model, State(*x[:3, 1]), (x[3, 1], x[4, 1]))
    for many, single in zip((q, qd, tau), one, strict=True):
        np.testing.assert_allclose(many[1], single, atol=1e-9)


def test_links_at_rest_are_found_from_their_motors():
    robot, rotors = elastic("ur5", 5e3)
    q = np.array([0.3, -1.0, 1.2, 0.4, -0.5, 0.1])
    model = Model(Dynamics(robot), GAINS, rotor_inertia=rotors, encoders="motor")
    still = State(q, np.zeros(6), np.zeros(6))
    motors = drive_reference(model, still).q
    assert np.abs(motors - q).max() > 5e-3
    np.testing.assert_allclose(link_positions(model, motors), q, atol=1e-9)
    assert link_positions(replace(model, encoders="link"), motors) is motors
