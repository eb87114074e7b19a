"""The arm of the page: what is asked of it while it moves."""

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.robot import find_robot
from robot_dynamics.simulation import with_mass_scaled
from robot_dynamics.simulation.base_motions import Sine
from robot_dynamics.spatial import Pose
from robot_dynamics.trajectory.motions import middle_pose
from robot_dynamics.viewer.effort_causes import EffortSplitter
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


@pytest.mark.thorough
def test_an_arm_on_a_base_that_shakes_follows_and_its_efforts_are_those_of_the_model(robot):
    base = Sine("x", 0.05, 2.0)
    arm = LiveArm(robot, base=base)
    assert worst_error(arm, ArmSettings(), 1.9) < 1e-4  # rad: 8e-6, and 4e-2 by PD alone
    now = arm.snapshot()
    np.testing.assert_allclose(now.base_pose.translation, base.pose(arm.time)[0])
    splitter = EffortSplitter(robot, arm.dynamics, arm.frame)
    causes, still = splitter.split(now), splitter.split(replace(now, base=None))
    np.testing.assert_allclose(causes.total, splitter.model_effort(now), rtol=ROUND_OFF)
    moved = Dynamics(robot, base="moving").inverse(now.q, now.qd, now.qdd, base=now.base)
    fixed = arm.dynamics.inverse(now.q, now.qd, now.qdd)
    np.testing.assert_allclose(causes.total - still.total, moved.tau - fixed, atol=1e-9)
    assert np.abs(moved.tau - fixed).max() > 1.0


def test_push_on_a_floating_arm_moves_it_that_way(robot):
    arm = LiveArm(robot)
    arm.advance(STEP, ArmSettings(motion=BY_HAND, positions=np.array([0.4, 0.7])))
    floating = ArmSettings(motion=STILL, mode="gravity_compensation")
    before = arm.dynamics.pose(arm.snapshot().q, arm.frame).position
    push = np.array([2.0, 0.0, 0.0])
    for _ in range(3):
        arm.advance(STEP, replace(floating, push=tuple(push)))
    after = arm.dynamics.pose(arm.snapshot().q, arm.frame).position
    assert (after - before) @ push > 1e-4


def test_arm_by_hand_stays_where_the_sliders_are_and_shows_its_weight(robot):
    arm = LiveArm(robot)
    positions = np.array([0.4, -0.9])
    arm.advance(STEP, ArmSettings(motion=BY_HAND, positions=positions))
    now = arm.snapshot()
    np.testing.assert_array_equal(now.q, positions)
    np.testing.assert_allclose(now.tau, arm.dynamics.gravity(positions), rtol=ROUND_OFF)
    assert now.q_d is None


def test_motion_after_by_hand_begins_where_the_sliders_left_the_arm(robot):
    arm = LiveArm(robot)
    positions = np.array([0.4, -0.9])
    arm.advance(STEP, ArmSettings(motion=BY_HAND, positions=positions))
    arm.advance(STEP, ArmSettings())
    np.testing.assert_allclose(arm.snapshot().q_d, positions, atol=1e-2)  # 40 ms of a soft start


def test_reset_puts_the_arm_at_rest_in_the_middle(robot):
    arm = LiveArm(robot)
    for _ in range(60):
        arm.advance(STEP, ArmSettings())
    arm.reset()
    now = arm.snapshot()
    np.testing.assert_array_equal(now.q, middle_pose(robot))
    np.testing.assert_array_equal(now.qd, 0.0)


# -- in task space ---------------------------------------------------------------------------------

IN_TASK_SPACE = ArmSettings(mode="cartesian_impedance")

NEAR_M = 1e-3  # of a target that the end effector has reached: friction over the default stiffness


@pytest.fixture
def bent(robot):
    """An arm away from its stretched pose, whose end effector is controlled."""
    arm = LiveArm(robot)
    arm.advance(STEP, ArmSettings(motion=BY_HAND, positions=np.array([0.4, 0.9])))
    arm.advance(STEP, IN_TASK_SPACE)
    return arm


def place(arm: LiveArm) -> np.ndarray:
    return arm.dynamics.pose(arm.snapshot().q, arm.end_effectors[0]).position


def led_to(arm: LiveArm, way: list[float]) -> float:
    """Lead the end effector along a way, m, and return its largest speed, m/s."""
    fastest, target = 0.0, arm.target
    arm.aim(Pose(target.rotation, target.translation + way))
    for _ in range(60):
        before = place(arm)
        arm.advance(STEP, IN_TASK_SPACE)
        fastest = max(fastest, float(np.linalg.norm(place(arm) - before)) / STEP)
    return fastest


def test_end_effector_is_held_where_it_is_until_it_is_led_somewhere_else(bent):
    at = place(bent)
    for motion in bent.motions:
        bent.advance(STEP, replace(IN_TASK_SPACE, motion=motion))
    np.testing.assert_allclose(place(bent), at, atol=NEAR_M)
    assert bent.snapshot().q_d is None


def test_end_effector_follows_its_target_at_limited_speed(bent):
    at, way = place(bent), [-0.1, 0.0, 0.15]
    assert led_to(bent, way) < 1.1 * bent._task.settings.speed[0]  # the spring lags a little
    np.testing.assert_allclose(place(bent) - at, way, atol=NEAR_M)
    np.testing.assert_allclose(bent.target.translation, at + way, atol=NEAR_M)


def test_push_on_the_end_effector_displaces_it_as_its_spring_says(bent):
    at, push = place(bent), 10.0
    for _ in range(40):
        bent.advance(STEP, replace(IN_TASK_SPACE, push=(0.0, 0.0, push)))
    stiffness = bent._task.settings.stiffness[2, 2]
    moved = place(bent) - at
    assert moved[2] == pytest.approx(
        push / stiffness, rel=0.05
    )  # the end effector turns a little, too
    assert abs(moved[0]) < NEAR_M


def test_joints_take_over_where_the_end_effector_has_left_the_arm(bent):
    led_to(bent, [-0.1, 0.0, 0.15])
    at = bent.snapshot().q
    bent.advance(STEP, ArmSettings())
    np.testing.assert_allclose(bent.snapshot().q_d, at, atol=1e-2)  # 40 ms of a soft start
    assert bent.target is None
    bent.aim(Pose.identity())  # too late
    bent.advance(STEP, IN_TASK_SPACE)
    assert np.linalg.norm(bent.target.translation - place(bent)) < 1e-2


def test_reset_holds_the_end_effector_in_the_middle(bent, robot):
    led_to(bent, [-0.1, 0.0, 0.15])
    bent.reset()
    bent.advance(STEP, IN_TASK_SPACE)
    np.testing.assert_allclose(bent.snapshot().q, middle_pose(robot), atol=1e-3)
    np.testing.assert_allclose(bent.target.translation, place(bent), atol=NEAR_M)
