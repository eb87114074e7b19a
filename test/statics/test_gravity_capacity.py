"""Effort limits against the worst gravity over the workspace."""

import numpy as np
import pytest

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.robot import find_robot
from robot_dynamics.statics.gravity_capacity import overloaded_joints, worst_gravity

LINK = """<link name="{0}"><inertial><origin xyz="0.5 0 0"/><mass value="2"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
JOINT = """<joint name="{0}" type="{1}"><parent link="{2}"/><child link="{3}"/><origin xyz="{4}"/>
<axis xyz="0 1 0"/><limit lower="-3" upper="3" velocity="1" effort="{5}"/></joint>"""


def arm(shoulder):
    """Two links of 1 m and 2 kg in a vertical plane; the elbow bears up to 9.81 N m."""
    joints = JOINT.format("shoulder", "revolute", "base", "upper", "0 0 0", shoulder)
    joints += JOINT.format("elbow", "revolute", "upper", "fore", "1 0 0", 10.0)
    links = LINK.format("upper") + LINK.format("fore")
    return Dynamics(read_urdf(f'<robot name="arm"><link name="base"/>{links}{joints}</robot>'))


# The last step of the search is 3/2 / 2^11 rad, which costs less than 1e-6 of a cosine
SEARCHED = 1e-6


def test_the_worst_pose_of_a_planar_arm_is_stretched_out_horizontally():
    shoulder, elbow = worst_gravity(arm(40.0))
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
    assert not overloaded_joints(Dynamics(read_urdf(find_robot(name))))
