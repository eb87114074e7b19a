"""Effort limits against the worst gravity over the workspace."""

import numpy as np
import pytest
from hypothesis import given

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.formulations import newton_euler
from robot_dynamics.robot import find_robot
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.statics.gravity_capacity import (
    gravity_bound,
    overloaded_joints,
    worst_gravity,
)
from robot_dynamics.trajectory.motions import sample_poses
from test.helpers import strategies

LINK = """<link name="{0}"><inertial><origin xyz="0.5 0 0"/><mass value="2"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
JOINT = """<joint name="{0}" type="{1}"><parent link="{2}"/><child link="{3}"/><origin xyz="{4}"/>
<axis xyz="0 1 0"/><limit lower="-3" upper="3" velocity="1" effort="{5}"/></joint>"""


def arm(shoulder):
    """Two links of 1 m and 2 kg in a vertical plane; the elbow bears up to 9.81 N m."""
    joints = JOINT.format("shoulder", "revolute", "base", "upper", "0 0 0", shoulder)
    joints += JOINT.format("elbow", "revolute", "upper", "fore", "1 0 0", 10.0)
    links = LINK.format("upper") + LINK.format("fore")
    return read_urdf(f'<robot name="arm"><link name="base"/>{links}{joints}</robot>')


# The last step of the search is 3/2 / 2^11 rad, which costs less than 1e-6 of a cosine
SEARCHED = 1e-6


def test_the_worst_pose_of_a_planar_arm_is_stretched_out_horizontally():
    shoulder, elbow = worst_gravity(Dynamics(arm(40.0)), range(2))
    np.testing.assert_allclose(shoulder.effort, 9.81 * (2.0 * 0.5 + 2.0 * 1.5), rtol=SEARCHED)
    np.testing.assert_allclose(np.sin([shoulder.q[0], shoulder.q.sum()]), 0.0, atol=2e-3)
    np.testing.assert_allclose(elbow.effort, 9.81 * 2.0 * 0.5, rtol=SEARCHED)


def test_a_joint_too_weak_for_its_worst_pose_is_described_with_pose_and_numbers():
    (line,) = overloaded_joints(arm(39.0))
    assert line.startswith(
        "joint 'shoulder': gravity needs up to 39.24 N m, beyond its effort limit of 39 N m, at "
        "shoulder "
    )
    assert not overloaded_joints(arm(39.3))
    assert not overloaded_joints(arm(0.0))  # unknown


@pytest.mark.parametrize("name", ["ur5", "panda"])
def test_the_arms_at_hand_bear_their_own_weight_anywhere(name):
    assert not overloaded_joints(read_urdf(find_robot(name)))


def test_the_bound_of_a_planar_arm_is_its_weight_stretched_out():
    np.testing.assert_allclose(gravity_bound(arm(40.0)), [39.24, 9.81], rtol=1e-12)


def test_gravity_never_turns_a_joint_whose_axis_is_vertical():
    on_a_turntable = arm(40.0).mounted((np.pi / 2, 0.0, 0.0))
    bounds = gravity_bound(on_a_turntable)
    np.testing.assert_allclose(bounds[0], 0.0, atol=1e-12)


@given(strategies.robots(), strategies.seeds())
def test_gravity_exceeds_the_bound_in_no_pose(robot, seed):
    fractions = np.random.default_rng(seed).uniform(-1.0, 1.0, (5, robot.dof))
    limits, tree = robot.limits, merge_fixed(robot)
    bound, rest = gravity_bound(robot), np.zeros(len(tree.joints))
    poses = np.vstack([sample_poses(robot, 50), limits.lower, limits.upper, 4.0 * fractions])
    for q in np.clip(poses, limits.lower, limits.upper)[np.isfinite(poses).all(axis=1)]:
        x = tree.coupling.positions(q)
        efforts = tree.coupling.efforts(newton_euler.inverse_dynamics(tree, x, rest, rest, {}))
        assert (np.abs(efforts) <= bound * (1.0 + 1e-9) + 1e-12).all()
