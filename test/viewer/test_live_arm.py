"""The arm of the page: what is asked of it while it moves."""

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.robot import find_robot
from robot_dynamics.simulation import with_mass_scaled
from robot_dynamics.trajectory.motions import middle_pose
from robot_dynamics.viewer.live_arm import BY_HAND, STILL, ArmSettings, LiveArm, _LoadedArm, ball

ROUND_OFF = 1e-9  # relative, of accelerations by two ways through the same physics

STEP = 0.04  # s, a frame of the page


@pytest.fixture(scope="module")
def robot():
    return read_urdf(find_robot("planar_2r"))


def worst_error(arm: LiveArm, settings: ArmSettings, seconds: float) -> float:
    worst = 0.0
    for _ in range(round(seconds / STEP)):
        arm.advance(STEP, settings)
        now = arm.snapshot()
        worst = max(worst, float(np.abs(now.q_d - now.q).max()))
    return worst


def test_real_arm_is_the_model_with_its_load_and_its_error_of_mass(robot):
    q, qd, tau = np.array([0.3, -0.8]), np.array([1.0, -2.0]), np.array([3.0, 1.0])
    tip = robot.tips[0]
    load = ball(1.5)
    real = _LoadedArm(Dynamics(robot), tip)
    real.load(1.3, load)
    expected = Dynamics(with_mass_scaled(robot, 1.3).with_payload(tip, 1.5, inertia=load.about_com))
    np.testing.assert_allclose(
        real.forward(q, qd, tau), expected.forward(q, qd, tau), rtol=ROUND_OFF
    )
    np.testing.assert_allclose(real.bias(q, qd), expected.bias(q, qd), rtol=ROUND_OFF)
    np.testing.assert_allclose(real.mass_matrix(q), expected.mass_matrix(q), rtol=ROUND_OFF)


def test_feedforward_follows_closer_than_pd_alone(robot):
    arm = LiveArm(robot)
    ours = worst_error(arm, ArmSettings(), 2.6)
    arm.reset()
    pd = worst_error(arm, ArmSettings(feedforward=False), 2.6)
    assert 10.0 * ours < pd


def test_payload_that_the_controller_knows_disturbs_less(robot):
    arm = LiveArm(robot)
    known = worst_error(arm, ArmSettings(payload=3.0), 1.8)
    arm.reset()
    unknown = worst_error(arm, ArmSettings(payload=3.0, payload_known=False), 1.8)
    assert 3.0 * known < unknown


def test_push_on_a_floating_arm_moves_it_that_way(robot):
    arm = LiveArm(robot)
    arm.advance(STEP, ArmSettings(motion=BY_HAND, hand=np.array([0.4, 0.7])))
    floating = ArmSettings(motion=STILL, mode="gravity_compensation")
    before = arm.dynamics.pose(arm.snapshot().q, arm.frame).position
    push = np.array([2.0, 0.0, 0.0])
    for _ in range(3):
        arm.advance(STEP, replace(floating, push=tuple(push)))
    after = arm.dynamics.pose(arm.snapshot().q, arm.frame).position
    assert (after - before) @ push > 1e-4


def test_arm_by_hand_stays_where_the_sliders_are_and_shows_its_weight(robot):
    arm = LiveArm(robot)
    hand = np.array([0.4, -0.9])
    arm.advance(STEP, ArmSettings(motion=BY_HAND, hand=hand))
    now = arm.snapshot()
    np.testing.assert_array_equal(now.q, hand)
    np.testing.assert_allclose(now.tau, arm.dynamics.gravity(hand), rtol=ROUND_OFF)
    assert now.q_d is None


def test_motion_after_by_hand_begins_where_the_hand_left_the_arm(robot):
    arm = LiveArm(robot)
    hand = np.array([0.4, -0.9])
    arm.advance(STEP, ArmSettings(motion=BY_HAND, hand=hand))
    arm.advance(STEP, ArmSettings())
    np.testing.assert_allclose(arm.snapshot().q_d, hand, atol=1e-2)  # 40 ms of a soft start


def test_reset_puts_the_arm_at_rest_in_the_middle(robot):
    arm = LiveArm(robot)
    for _ in range(60):
        arm.advance(STEP, ArmSettings())
    arm.reset()
    now = arm.snapshot()
    np.testing.assert_array_equal(now.q, middle_pose(robot))
    np.testing.assert_array_equal(now.qd, 0.0)
