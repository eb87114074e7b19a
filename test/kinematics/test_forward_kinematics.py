"""Pose and motion of frames, and their Jacobians."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import characteristic_examples, example_robot, examples, pin_model
from python_kernel import compile_python
from robot_dynamics.compiler.graph.trace import trace
from robot_dynamics.errors import ArgumentError, ShapeError, UnknownNameError
from robot_dynamics.formulations import inverse_dynamics
from robot_dynamics.kinematics import frame_jacobian, frame_motion, frame_pose, link_poses
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.robot.urdf.reader import read_urdf
from strategies import random_state, robots, seeds

PLANAR_2R = """
<robot name="planar">
  <link name="base"/><link name="upper"/><link name="fore"/><link name="tip"/>
  <joint name="shoulder" type="continuous">
    <parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
  </joint>
  <joint name="elbow" type="continuous">
    <parent link="upper"/><child link="fore"/><origin xyz="2 0 0"/><axis xyz="0 0 1"/>
  </joint>
  <joint name="wrist" type="fixed">
    <parent link="fore"/><child link="tip"/><origin xyz="1 0 0"/>
  </joint>
</robot>
"""


@pytest.fixture
def planar():
    return read_urdf(PLANAR_2R, require_inertia=False)


def frames_of(robot):
    """A few link names from root to tips, fixed links included."""
    names = [link.name for link in robot.links]
    return [names[0], *names[1 :: max(1, len(names) // 6)], names[-1]]


# float64 on both sides: worst example 2e-11, because a right angle printed with eleven decimals is
# one for us and 5e-12 off for Pinocchio, 1e-14 without such; one wrong sign gives 1e-2 and more
ROUND_OFF = 1e-10


@pytest.mark.parametrize("path", examples(characteristic_examples()))
def test_poses_agree_with_pinocchio(path):
    robot = example_robot(path)
    q = random_state(robot, seed=6)[0]
    oracle = pin_model(robot, path)
    all_poses = link_poses(robot, q)
    for frame in frames_of(robot):
        R, p = oracle.frame_pose(q, frame)
        for pose in (frame_pose(robot, q, frame), all_poses[frame]):
            assert np.max(np.abs(pose.rotation - R)) < ROUND_OFF, frame
            assert np.max(np.abs(pose.translation - p)) < ROUND_OFF, frame


@pytest.mark.parametrize("path", examples(characteristic_examples()))
def test_jacobians_agree_with_pinocchio(path):
    robot = example_robot(path)
    q = random_state(robot, seed=7)[0]
    oracle = pin_model(robot, path)
    for frame in frames_of(robot)[1:]:
        J = oracle.frame_jacobian(q, frame)
        R = oracle.frame_pose(q, frame)[0]
        J_frame = np.vstack([R.T @ J[:3], R.T @ J[3:]])
        assert np.max(np.abs(frame_jacobian(robot, q, frame) - J), initial=0.0) < ROUND_OFF, frame
        difference = frame_jacobian(robot, q, frame, axes="frame") - J_frame
        assert np.max(np.abs(difference), initial=0.0) < ROUND_OFF, frame


@given(robots(), seeds())
def test_motion_of_a_frame_agrees_with_pinocchio(robot, seed):
    q, qd, qdd = random_state(robot, seed)
    frame = robot.links[-1].name
    oracle = pin_model(robot)
    pin, model, data = oracle.pin, oracle.model, oracle.data
    pin.forwardKinematics(model, data, oracle.positions(q), oracle.E @ qd, oracle.E @ qdd)
    place, axes = model.getFrameId(frame, pin.BODY), pin.LOCAL_WORLD_ALIGNED
    v = pin.getFrameVelocity(model, data, place, axes).vector
    a = pin.getFrameClassicalAcceleration(model, data, place, axes).vector
    found = frame_motion(robot, q, qd, qdd, frame)
    # 10: of the terms that may cancel in the acceleration; worst of 2000 random trees 1e-14
    assert np.max(np.abs(found.velocity - v)) < 1e-12 * (10.0 + np.max(np.abs(v)))
    assert np.max(np.abs(found.acceleration - a)) < 1e-12 * (10.0 + np.max(np.abs(a)))


@given(robots(), seeds())
def test_jacobian_times_velocities_is_the_velocity_of_the_frame(robot, seed):
    q, qd, qdd = random_state(robot, seed)
    frame = robot.links[-1].name
    velocity = frame_motion(robot, q, qd, qdd, frame).velocity
    difference = frame_jacobian(robot, q, frame) @ qd - velocity
    assert np.max(np.abs(difference)) < 1e-12 * (1.0 + np.max(np.abs(velocity)))


@given(robots(), seeds(), st.sampled_from(["base", "frame"]))
def test_transposed_jacobian_turns_a_wrench_into_efforts(robot, seed, axes):
    # Without gravity and at rest the efforts of inverse dynamics are those of the wrench alone
    robot = robot.with_gravity((0.0, 0.0, 0.0))
    q = random_state(robot, seed)[0]
    rest = np.zeros(robot.dof)
    frame = robot.links[-1].name
    wrench = np.random.default_rng(seed).uniform(-10.0, 10.0, 6)  # in axes of the frame
    tau = inverse_dynamics(robot, q, rest, rest, wrench=wrench, frame=frame)
    R = frame_pose(robot, q, frame).rotation if axes == "base" else np.eye(3)
    turned = np.concatenate([R @ wrench[:3], R @ wrench[3:]])
    found = frame_jacobian(robot, q, frame, axes=axes).T @ turned
    assert np.max(np.abs(found - tau)) < 1e-12 * (10.0 + np.max(np.abs(tau)))


def test_planar_arm_reaches_where_trigonometry_says(planar):
    a, b = 0.3, -1.1
    pose = frame_pose(planar, [a, b], "tip")
    x, y = 2 * np.cos(a) + np.cos(a + b), 2 * np.sin(a) + np.sin(a + b)
    assert pose.translation == pytest.approx([x, y, 0.0], abs=1e-15)
    J = frame_jacobian(planar, [a, b], "tip")
    assert (
        pytest.approx(
            np.array(
                [
                    [-y, -np.sin(a + b)],
                    [x, np.cos(a + b)],
                    [0, 0],
                    [0, 0],
                    [0, 0],
                    [1, 1],
                ]
            ),
            abs=1e-15,
        )
        == J
    )


def test_stretched_planar_arm_is_singular(planar):
    J = frame_jacobian(planar, [0.7, 0.0], "tip", axes="frame")
    assert J[:2] == pytest.approx(np.array([[0.0, 0.0], [3.0, 1.0]]), abs=1e-15)


@given(robots(max_joints=5), seeds())
def test_compiled_kinematics_agree_with_plain_ones(robot, seed):
    q = random_state(robot, seed)[0]
    frame = robot.links[-1].name

    def function(q):
        return {"p": frame_pose(robot, q, frame).translation, "J": frame_jacobian(robot, q, frame)}

    p, J = compile_python(trace("kinematics", function, {"q": (robot.dof,)}))(q)
    plain = function(q)
    # sums in another order: worst of 2000 random trees 2e-15
    assert np.max(np.abs(p - plain["p"])) < 1e-13
    assert np.max(np.abs(J - plain["J"])) < 1e-13


def test_a_merged_robot_has_its_frames_in_the_same_place(planar):
    merged = merge_fixed(planar)
    q = [0.4, 0.9]
    for frame in ("base", "upper", "fore", "tip"):
        assert np.array_equal(
            frame_pose(merged, q, frame).translation, frame_pose(planar, q, frame).translation
        )


def test_an_unknown_frame_is_named(planar):
    with pytest.raises(UnknownNameError, match=r"no frame 'top' in robot 'planar'.*'tip'"):
        frame_pose(planar, [0.0, 0.0], "top")


def test_unknown_axes_are_named(planar):
    with pytest.raises(ArgumentError, match="axes must be 'base' or 'frame', got 'world'"):
        frame_jacobian(planar, [0.0, 0.0], "tip", axes="world")


def test_a_wrong_number_of_positions_is_named(planar):
    with pytest.raises(ShapeError, match=r"q must have shape \(2,\), got \(3,\)"):
        frame_jacobian(planar, [0.0, 0.0, 0.0], "tip")
