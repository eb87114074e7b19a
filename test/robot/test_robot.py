"""The values that a robot is made of."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from robot_dynamics.errors import RobotError, UnknownNameError
from robot_dynamics.robot.kinematic_tree import Joint, JointLimits, JointType, Link, Mimic
from robot_dynamics.robot.robot import Robot
from robot_dynamics.spatial import Inertia, Pose, rotation_from_rpy
from strategies import random_inertia, random_rotation, robots, seeds

# -- poses --------------------------------------------------------------------------------------


def test_poses_compose_as_the_transforms_of_points():
    rng = np.random.default_rng(1)
    X_AB = Pose(random_rotation(rng), rng.normal(size=3))
    X_BC = Pose(random_rotation(rng), rng.normal(size=3))
    p_C = rng.normal(size=3)
    p_B = X_BC.rotation @ p_C + X_BC.translation
    p_A = X_AB.rotation @ p_B + X_AB.translation
    X_AC = X_AB @ X_BC
    assert_allclose(X_AC.rotation @ p_C + X_AC.translation, p_A, atol=1e-14)


def test_a_pose_times_its_inverse_is_the_identity():
    rng = np.random.default_rng(2)
    X = Pose(random_rotation(rng), rng.normal(size=3))
    for product in (X @ X.inverse(), X.inverse() @ X):
        assert_allclose(product.rotation, np.eye(3), atol=1e-15)
        assert_allclose(product.translation, np.zeros(3), atol=1e-15)


def test_roll_pitch_and_yaw_turn_about_the_fixed_axes_in_this_order():
    # A quarter turn about x takes z to -y; then about z, -y to x
    R = rotation_from_rpy((np.pi / 2, 0.0, np.pi / 2))
    assert_allclose(R @ (0, 0, 1), (1, 0, 0), atol=1e-15)


@pytest.mark.parametrize("decimals", [11, 12, 16])
def test_right_angles_turn_axes_into_axes_exactly(decimals):
    for turns in itertools.product((-2, -1, 0, 1, 2), repeat=3):
        angles = np.pi / 2 * np.array(turns)
        R = rotation_from_rpy(np.round(angles, decimals))
        assert set(np.abs(R).ravel()) == {0.0, 1.0}
        # Three cosines of 6e-17 are what scipy leaves
        assert_allclose(R, Rotation.from_euler("xyz", angles).as_matrix(), atol=1e-15)


@pytest.mark.parametrize("angle", [1.5708, 1.570796, 1.57079633, 1e-9, 3.1415927])
def test_an_angle_that_is_no_right_one_is_kept(angle):
    rpy = np.array([angle, -angle, 2.0 * angle])
    # Half an ulp of entries of order one, three times multiplied
    assert_allclose(rotation_from_rpy(rpy), Rotation.from_euler("xyz", rpy).as_matrix(), atol=1e-15)


# -- inertia ------------------------------------------------------------------------------------


def points(rng, count=6):
    """A body of points: masses and positions."""
    return rng.uniform(0.1, 1.0, count), rng.normal(size=(count, 3))


def inertia_of(masses, positions):
    """The moments of a body of points, summed from their definition."""
    second = sum(
        m * (p @ p * np.eye(3) - np.outer(p, p)) for m, p in zip(masses, positions, strict=True)
    )
    return Inertia(masses.sum(), masses @ positions, second)


def assert_same_body(ours, theirs):
    assert_allclose(ours.mass, theirs.mass, rtol=1e-14)
    assert_allclose(ours.first_moment, theirs.first_moment, atol=1e-13)  # sums of some ten terms
    assert_allclose(ours.second_moment, theirs.second_moment, atol=1e-12)


@given(seeds())
def test_an_inertia_in_another_frame_is_that_of_its_moved_points(seed):
    rng = np.random.default_rng(seed)
    masses, positions = points(rng)
    X = Pose(random_rotation(rng), rng.normal(size=3))
    moved = positions @ X.rotation.T + X.translation
    assert_same_body(inertia_of(masses, positions).expressed_in(X), inertia_of(masses, moved))


@given(seeds())
def test_inertias_add_like_the_points_of_their_bodies(seed):
    rng = np.random.default_rng(seed)
    (m1, p1), (m2, p2) = points(rng), points(rng)
    whole = inertia_of(np.concatenate([m1, m2]), np.concatenate([p1, p2]))
    assert_same_body(inertia_of(m1, p1) + inertia_of(m2, p2), whole)


@given(seeds())
def test_mass_centre_and_moments_about_it_come_back_as_they_were_given(seed):
    rng = np.random.default_rng(seed)
    body = random_inertia(rng)
    again = Inertia.from_com(body.mass, body.com, body.about_com)
    assert_same_body(again, body)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("1kg", (0, 0, 0), np.eye(3)), "mass must be a number, got '1kg'"),
        ((None, (0, 0, 0), np.eye(3)), "mass must be a number, got None"),
        (([1.0], (0, 0, 0), np.eye(3)), "mass must be a number, got [1.0]"),
        ((1.0, (0, 0), np.eye(3)), "com must be numbers of shape (3,), got (0, 0)"),
        ((1.0, (None, 0, 0), np.eye(3)), "com must be numbers of shape (3,), got (None, 0, 0)"),
        ((1.0, (0, 0, 0), "x"), "about_com must be numbers of shape (3, 3), got 'x'"),
        ((1.0, (0, 0, 0), (1, 2, 3)), "about_com must be numbers of shape (3, 3), got (1, 2, 3)"),
    ],
)
def test_a_body_of_anything_but_numbers_is_refused(arguments, message):
    with pytest.raises(RobotError) as error:
        Inertia.from_com(*arguments)
    assert str(error.value) == message
    with pytest.raises(RobotError):
        Inertia(*arguments)


def test_a_massless_body_has_its_mass_centre_at_the_origin():
    assert_allclose(Inertia.zero().com, np.zeros(3), atol=0)


# -- the tree -----------------------------------------------------------------------------------


def test_a_joint_must_stand_before_the_link_that_it_carries():
    joint = Joint("elbow", JointType.REVOLUTE, "base", "arm", Pose.identity())
    with pytest.raises(RobotError) as error:
        Robot("arm", (Link("base"), Link("hand")), (joint,))
    assert str(error.value) == (
        "robot 'arm': joint 'elbow' carries 'arm' but stands before link 'hand'; "
        "list links in the order of their joints"
    )


def test_links_and_joints_must_be_as_many_as_a_tree_has():
    with pytest.raises(RobotError, match="2 links need 1 joint, got 0"):
        Robot("arm", (Link("base"), Link("hand")), ())


def test_a_joint_on_an_unknown_link_is_refused():
    joint = Joint("elbow", JointType.REVOLUTE, "bass", "arm", Pose.identity())
    with pytest.raises(UnknownNameError) as error:
        Robot("arm", (Link("base"), Link("arm")), (joint,))
    assert str(error.value) == (
        "no link 'bass' in robot 'arm' before joint 'elbow' (links: base); did you mean 'base'?"
    )


@given(robots())
def test_every_joint_carries_the_link_after_it(robot):
    for k, joint in enumerate(robot.joints):
        assert robot.links[k + 1].name == joint.child
        assert robot.links[robot.parents[k]].name == joint.parent
        assert robot.parents[k] <= k  # parents before children


@given(robots(branches=False))
def test_a_chain_has_one_tip(robot):
    assert robot.tips == (robot.links[-1].name,)


def test_a_robot_cannot_be_changed():
    robot = Robot("stone", (Link("stone"),), ())
    with pytest.raises(dataclasses.FrozenInstanceError):
        robot.name = "pebble"
    with pytest.raises(ValueError, match="read-only"):
        robot.gravity[2] = 0.0
    with pytest.raises(TypeError):
        robot.frames["top"] = None


def test_limits_are_those_of_the_independent_joints():
    def slide(name, child, limits, mimic=None):
        origin = Pose.identity()
        return Joint(name, JointType.PRISMATIC, "base", child, origin, limits=limits, mimic=mimic)

    joints = (
        slide("follower", "a", JointLimits(-9, 9, 9, 9), Mimic("leader")),
        slide("leader", "b", JointLimits(-1, 2, 3, 4)),
    )
    limits = Robot("gripper", tuple(map(Link, ("base", "a", "b"))), joints).limits
    assert_allclose(limits.lower, [-1], atol=0)
    assert_allclose(limits.upper, [2], atol=0)
    assert_allclose(limits.velocity, [3], atol=0)
    assert_allclose(limits.effort, [4], atol=0)


@given(robots())
def test_positions_of_all_joints_follow_the_independent_ones(robot):
    q = np.linspace(-1.0, 1.0, robot.dof)
    q_of = dict(zip(robot.joint_names, q, strict=True))
    for joint, position in zip(robot.moving_joints, robot.coupling.positions(q), strict=True):
        if joint.mimic is None:
            assert position == q_of[joint.name]
        else:
            mimic = joint.mimic
            expected = mimic.multiplier * q_of[mimic.joint] + mimic.offset
            assert position == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("name", [3, None, ["base"]])
@pytest.mark.parametrize(("what", "kind"), [("frame",) * 2, ("link_index", "link"), ("joint",) * 2])
def test_a_name_that_is_no_text_is_unknown(what, kind, name):
    arm = Robot("arm", (Link("base"),), ())
    with pytest.raises(UnknownNameError) as error:
        getattr(arm, what)(name)
    assert str(error.value).startswith(f"no {kind} '{name}' in robot 'arm' ({kind}s: ")


def test_an_unknown_frame_gets_the_nearest_known_one():
    with pytest.raises(UnknownNameError) as error:
        Robot("arm", (Link("base"),), ()).frame("bass")
    assert str(error.value) == (
        "no frame 'bass' in robot 'arm' (frames: base); did you mean 'base'?"
    )
