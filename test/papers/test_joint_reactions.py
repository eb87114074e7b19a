"""Bearing loads of all joints."""

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose

from oracles import pin_model, relative_error
from robot_dynamics.errors import ArgumentError, ShapeError, UnknownNameError
from robot_dynamics.formulations import inverse_dynamics
from robot_dynamics.papers.joint_reactions import joint_reactions
from robot_dynamics.papers.paper_arms import puma_type_arm, stanford_arm
from robot_dynamics.robot.denavit_hartenberg import DHRow, Table
from robot_dynamics.robot.kinematic_tree import JointType
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.spatial import Inertia
from strategies import random_state, robots, seeds

ROUND_OFF = 1e-10  # float64 on both sides; worst of 2000 random trees 5e-14


@given(robots(mimic=False), seeds())
def test_reactions_agree_with_pinocchio(robot, seed):
    state = random_state(robot, seed)
    model = pin_model(robot)
    model.inverse(*state)  # leaves the spatial force through every joint, in axes of its child
    found = joint_reactions(robot, *state)
    for k, name in enumerate(found.joints):
        theirs = model.data.f[model.model.getJointId(name)]
        assert relative_error(found.force[k], theirs.linear) < ROUND_OFF, name
        assert relative_error(found.moment[k], theirs.angular) < ROUND_OFF, name


@given(robots(), seeds())
def test_the_effort_is_the_component_along_the_axis(robot, seed):
    state = random_state(robot, seed)
    found = joint_reactions(robot, *state)
    along = np.where(
        found.rotates,
        np.sum(found.moment * found.axis, axis=1),
        np.sum(found.force * found.axis, axis=1),
    )
    assert relative_error(found.effort, along) < ROUND_OFF
    E = merge_fixed(robot).coupling.matrix
    assert relative_error(E.T @ found.effort, inverse_dynamics(robot, *state)) < ROUND_OFF


@given(robots(), seeds())
def test_bearings_carry_nothing_along_the_freedom_of_the_joint(robot, seed):
    found = joint_reactions(robot, *random_state(robot, seed))
    for k in range(len(found.joints)):
        bearing = (found.bearing_moment if found.rotates[k] else found.bearing_force)[k]
        full = (found.moment if found.rotates[k] else found.force)[k]
        assert abs(bearing @ found.axis[k]) <= 1e-12 * (1.0 + np.max(np.abs(full)))
        untouched = (found.bearing_force if found.rotates[k] else found.bearing_moment)[k]
        assert_allclose(untouched, (found.force if found.rotates[k] else found.moment)[k])


def test_a_cantilever_hangs_on_its_wall():
    # one link of 3 kg whose mass centre is 0.5 m from the joint, level, gravity along -y
    body = Inertia.from_com(3.0, (0.5, 0.0, 0.1), 0.01 * np.eye(3))
    table = Table(
        (DHRow(JointType.REVOLUTE, 0.0, 0.0, 0.0, 0.0, body),),
        "modified",
        gravity=np.array([0.0, -9.81, 0.0]),
    )
    found = joint_reactions(table.to_robot(), [0.0], [0.0], [0.0])
    assert_allclose(found.force, [[0.0, 3 * 9.81, 0.0]], atol=1e-13)
    # (r x F) of the upward force that carries the weight, r = (0.5, 0, 0.1)
    assert_allclose(found.moment, [[-0.1 * 3 * 9.81, 0.0, 0.5 * 3 * 9.81]], atol=1e-13)
    assert_allclose(found.bearing_moment, [[-0.1 * 3 * 9.81, 0.0, 0.0]], atol=1e-13)


def test_a_hand_that_pushes_is_pushed_back_through_all_joints():
    # without gravity and motion, every joint of the chain passes on the same force
    arm = puma_type_arm().robot.with_gravity((0.0, 0.0, 0.0))
    still, q = np.zeros(6), np.array([0.3, -0.5, 0.4, 0.2, 0.7, -0.6])
    wrench = np.array([2.0, -1.0, 0.5, 0.0, 0.0, 0.0])
    found = joint_reactions(arm, q, still, still, wrench=wrench, frame="hand")
    assert_allclose(np.linalg.norm(found.force, axis=1), np.linalg.norm(wrench[:3]))


# -- collars ----------------------------------------------------------------------------------


@given(robots(mimic=False), seeds())
def test_a_collar_on_the_parent_moves_the_moment_and_not_the_effort(robot, seed):
    state = random_state(robot, seed)
    child, parent = joint_reactions(robot, *state), joint_reactions(robot, *state, collar="parent")
    assert relative_error(parent.effort, child.effort) < ROUND_OFF
    assert relative_error(parent.force, child.force) < ROUND_OFF
    # from the origin of the child back to its place at zero: q times the axis
    shift = np.where(child.rotates, 0.0, state[0])[:, None] * child.axis
    assert relative_error(parent.moment, child.moment + np.cross(shift, child.force)) < ROUND_OFF


def test_collars_can_be_placed_joint_by_joint():
    arm = stanford_arm()
    q = np.array([0.3, 1.2, 0.2, 0.5, -0.4, 0.1])
    state = q, np.ones(6), np.ones(6)
    by_name = joint_reactions(arm, *state, collar={"joint_3": "parent"})
    everywhere = joint_reactions(arm, *state, collar="parent")
    assert_allclose(by_name.moment, everywhere.moment)
    assert not np.allclose(by_name.moment[2], joint_reactions(arm, *state).moment[2])


def test_a_wrench_acts_at_the_hand_wherever_the_collar_is():
    arm, still = stanford_arm(), np.zeros(6)
    q = np.array([0.3, 1.2, 0.2, 0.5, -0.4, 0.1])
    wrench = np.arange(1.0, 7.0)
    for collar in ("child", "parent"):
        found = joint_reactions(arm, q, still, still, wrench=wrench, frame="link_3", collar=collar)
        expected = inverse_dynamics(arm, q, still, still, wrench=wrench, frame="link_3")
        assert_allclose(found.effort, expected, rtol=1e-12, atol=1e-12)


# -- refusals ---------------------------------------------------------------------------------


def test_a_collar_is_on_one_of_two_links():
    arm, still = stanford_arm(), np.zeros(6)
    with pytest.raises(ArgumentError) as caught:
        joint_reactions(arm, still, still, still, collar={"joint_3": "base"})
    assert str(caught.value) == "collar of 'joint_3' is on 'base'; choose 'child' or 'parent'"


def test_a_revolute_joint_has_no_collar():
    arm, still = stanford_arm(), np.zeros(6)
    with pytest.raises(UnknownNameError) as caught:
        joint_reactions(arm, still, still, still, collar={"joint_2": "parent"})
    assert str(caught.value) == (
        "no prismatic joint 'joint_2' in robot 'stanford' (prismatic joints: joint_3); "
        "did you mean 'joint_3'?"
    )


def test_wrong_shapes_name_the_argument():
    arm, still = puma_type_arm().robot, np.zeros(6)
    with pytest.raises(ShapeError, match=r"qdd must have shape \(6,\), got \(7,\)"):
        joint_reactions(arm, still, still, np.zeros(7))
