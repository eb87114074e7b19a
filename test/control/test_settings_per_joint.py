"""Gains and friction: what is accepted, and the defaults."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_dynamics.control import Friction, Gains, gains_for
from robot_dynamics.control.stability import GAIN_MARGIN, stability_limit
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.errors import ArgumentError, ShapeError, SingularMassMatrixError
from robot_dynamics.robot.urdf.reader import read_urdf
from strategies import robots

# -- gains ----------------------------------------------------------------------------------


def test_one_number_serves_all_joints():
    gains = Gains(np.array([1.0, 2.0, 3.0]), 0.5, ki=2.0)
    assert gains.kd.tolist() == [0.5] * 3
    assert gains.ki.tolist() == [2.0] * 3
    assert gains.i_clamp.tolist() == [np.inf] * 3


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        (
            {"kp": [1.0, -1.0], "kd": 1.0},
            ArgumentError,
            "gains: kp[1] is -1.0; give a finite number, zero or more",
        ),
        (
            {"kp": [1.0, 1.0], "kd": [1.0, np.nan]},
            ArgumentError,
            "gains: kd[1] is nan; give a finite number, zero or more",
        ),
        (
            {"kp": [1.0, 1.0], "kd": 1.0, "i_clamp": -1.0},
            ArgumentError,
            "gains: i_clamp[0] is -1.0; give a number, zero or more",
        ),
        (
            {"kp": [1.0, 1.0], "kd": [1.0, 1.0, 1.0]},
            ShapeError,
            "gains: kp has shape (2,) for 3 joints; give one number a joint",
        ),
    ],
)
def test_impossible_gains_are_refused(fields, error, message):
    with pytest.raises(error) as refusal:
        Gains(**fields)
    assert str(refusal.value) == message


def test_gains_of_a_lone_joint_give_the_bandwidth_and_damping_asked_for():
    wheel = Dynamics(read_urdf(WHEEL.format(inertia=0.4)))
    gains = gains_for(wheel, bandwidth=10.0, damping_ratio=0.7)
    np.testing.assert_allclose(gains.kp, 0.4 * 10.0**2)
    np.testing.assert_allclose(gains.kd, 2 * 0.7 * 0.4 * 10.0)


@pytest.mark.thorough
@settings(max_examples=15)
@given(robots(max_joints=5), st.sampled_from([1e-3, 2e-3, 5e-3]))
def test_gains_keep_a_delayed_loop_stable_in_every_pose(robot, delay):
    arm = Dynamics(robot, cache=False)
    gains = gains_for(arm, period=delay / 2.0, delay=delay / 2.0)
    rng = np.random.default_rng(0)
    n = robot.dof
    lower = np.maximum(robot.limits.lower, -1.0)
    upper = np.minimum(robot.limits.upper, 1.0)
    for q in rng.uniform(lower, upper, (20, n)):
        # q'' = -M^-1 (kp q + kd q'), held over a cycle of half the delay and half a delay late:
        # stable where no eigenvalue of the sampled system with a delay of one cycle grows
        M_inverse = np.linalg.inv(arm.mass_matrix(q))
        h = delay / 2.0
        K, D = M_inverse * gains.kp, M_inverse * gains.kd
        one, none = np.eye(n), np.zeros((n, n))
        step = np.block(
            [
                [one, h * one, h**2 / 2.0 * one],
                [none, one, h * one],
                [-K, -D, none],
            ]
        )
        assert np.abs(np.linalg.eigvals(step)).max() < 1.0 + 1e-9


def test_joints_whose_axes_coincide_get_gains_for_what_they_feel_against_each_other():
    # Two axles in line: 0.01 kg m^2 between them, 1 kg m^2 beyond. Turning against each other they
    # feel the lighter one, where kd = 2 * 20 * 1.01 would take 40 times a velocity error in 10 ms
    axles = Dynamics(read_urdf(TWO_AXLES))
    gains = gains_for(axles, period=1e-3, delay=2e-3)
    free = 1.0 / np.diag(np.linalg.inv(axles.mass_matrix(np.zeros(2))))
    np.testing.assert_allclose(free, [0.01, 0.01 * 1.0 / 1.01], rtol=1e-9)
    # Turning against each other both feedbacks act on the lighter one: 1 + 1.01^-1/2 times one
    most = stability_limit(10.0, 1e-3, 2e-3) / GAIN_MARGIN / (1.0 + 1.01**-0.5)
    np.testing.assert_allclose(gains.kd, most * free, rtol=1e-9)
    np.testing.assert_allclose(gains.kp, gains.kd * 20.0 / 2.0)


TWO_AXLES = """<robot name="axles"><link name="base"/>
<link name="shaft"><inertial><mass value="1"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="rim"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="first" type="continuous"><parent link="base"/><child link="shaft"/>
<axis xyz="0 0 1"/></joint>
<joint name="second" type="continuous"><parent link="shaft"/><child link="rim"/>
<axis xyz="0 0 1"/></joint></robot>"""


def test_a_joint_without_inertia_has_no_gains():
    text = WHEEL.format(inertia=0.4).replace("<inertial>", "<!--").replace("</inertial>", "-->")
    robot = read_urdf(text, require_inertia=False)
    with pytest.raises(SingularMassMatrixError, match="joint 'axle'"):
        gains_for(Dynamics(robot))


WHEEL = """<robot name="wheel"><link name="base"/><link name="rim">
<inertial><mass value="1"/>
<inertia ixx="{inertia}" iyy="{inertia}" izz="{inertia}" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="axle" type="continuous"><parent link="base"/><child link="rim"/>
<axis xyz="0 0 1"/></joint></robot>"""

# -- friction -------------------------------------------------------------------------------


def test_friction_is_read_from_the_urdf(arm):
    friction = Friction.of(arm.robot)
    assert friction.viscous.tolist() == [0.5, 0.1]
    assert friction.coulomb.tolist() == [0.3, 0.0]
    assert friction.is_dry


@given(st.floats(-5.0, 5.0))
def test_smooth_friction_opposes_motion_and_is_zero_at_rest(qd):
    friction = Friction(np.array([0.5]), np.array([2.0]), np.array([1.0]), np.array([0.1]))
    tau = friction.smooth(np.array([qd]))[0]
    assert tau == pytest.approx(-friction.smooth(np.array([-qd]))[0])
    assert tau * qd >= 0.0
    if qd == 0.0:
        assert tau == 0.0


def test_smooth_friction_far_from_rest_is_the_true_one():
    friction = Friction(np.array([0.5]), np.array([2.0]), np.array([1.0]), np.array([0.1]))
    # exp(-100) and 1 - tanh(100) are far below round-off
    assert friction.smooth(np.array([1.0]))[0] == pytest.approx(0.5 * 1.0 + 2.0, rel=1e-15)


def test_friction_falls_from_breakaway_to_sliding():
    friction = Friction(np.zeros(1), np.array([2.0]), np.array([1.0]), np.array([0.1]))
    assert friction.resistance(np.zeros(1))[0] == 3.0
    assert friction.resistance(np.array([0.1]))[0] == pytest.approx(2.0 + np.exp(-1.0))
    assert friction.resistance(np.array([2.0]))[0] == 2.0


@given(robots(max_joints=5, mimic=True), st.integers(0, 100))
def test_friction_of_a_robot_dissipates_the_power_of_all_its_joints(robot, seed):
    qd = np.random.default_rng(seed).normal(size=robot.dof)
    friction = Friction.of(robot)
    rates = robot.coupling.matrix @ qd
    viscous = sum(joint.damping * v**2 for joint, v in zip(robot.moving_joints, rates, strict=True))
    coulomb = sum(
        joint.friction * abs(v) for joint, v in zip(robot.moving_joints, rates, strict=True)
    )
    assert friction.viscous @ qd**2 == pytest.approx(viscous)
    assert friction.coulomb @ np.abs(qd) == pytest.approx(coulomb)


def test_a_stribeck_speed_of_zero_is_refused():
    with pytest.raises(ArgumentError) as refusal:
        Friction(np.zeros(2), np.zeros(2), stribeck=np.array([0.1, 0.0]))
    assert str(refusal.value) == ("friction: stribeck[1] is 0.0; give a finite number, above zero")
