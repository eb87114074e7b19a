"""Inverse dynamics in the zero reference position, and what leads there."""

import numpy as np
import pytest
from hypothesis import assume, given
from numpy.testing import assert_allclose, assert_array_equal

from oracles import pin_model, relative_error
from python_kernel import compile_python
from robot_dynamics.compiler.graph.trace import trace
from robot_dynamics.errors import UnknownNameError
from robot_dynamics.formulations import newton_euler
from robot_dynamics.formulations.zero_reference import (
    current_vectors,
    inverse_dynamics,
    inverse_dynamics_in_base_axes,
    starred_vectors,
)
from robot_dynamics.papers.paper_arms import puma_type_arm
from robot_dynamics.papers.zero_reference_hand import (
    displacement,
    displacements,
    hand_motion,
    hand_position,
    inverse_dynamics_from_hand,
)
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.robot.zero_position import ZeroReference
from strategies import random_state, robots, seeds

# float64 on both sides: worst of all examples 3e-15, of 2000 random trees 8e-13 (torques that
# nearly cancel); one wrong sign gives 1e-2 and more
ROUND_OFF = 1e-10


def tree_state(robot, seed):
    """A tree, states of all its moving joints, and wrenches that its tips exert."""
    tree = merge_fixed(robot)
    rng = np.random.default_rng(seed)
    n = len(tree.joints)
    wrenches = {
        tree.link_index(tree.frame(tip).link): (rng.normal(size=3), rng.normal(size=3))
        for tip in tree.tips
    }
    return tree, rng.uniform(-3.0, 3.0, n), rng.normal(size=n), rng.normal(size=n), wrenches


# -- agreement --------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [inverse_dynamics, inverse_dynamics_in_base_axes])
@given(robots(max_joints=9), seeds())
def test_both_forms_agree_with_newton_euler_under_wrenches_at_all_tips(form, robot, seed):
    tree, q, qd, qdd, wrenches = tree_state(robot, seed)
    expected = newton_euler.inverse_dynamics(tree, q, qd, qdd, wrenches)
    assert relative_error(form(tree, q, qd, qdd, wrenches), expected) < ROUND_OFF


@pytest.mark.parametrize("form", [inverse_dynamics, inverse_dynamics_in_base_axes])
def test_both_forms_can_be_traced(form):
    arm = puma_type_arm().robot
    inputs = {"q": (6,), "qd": (6,), "qdd": (6,), "force": (3,), "moment": (3,)}

    def equations(q, qd, qdd, force, moment):
        return form(arm, q, qd, qdd, {6: (force, moment)})

    values = [np.random.default_rng(1).normal(size=shape) for shape in inputs.values()]
    compiled = compile_python(trace("arm", equations, inputs))
    assert relative_error(compiled(*values), equations(*values)) < ROUND_OFF


# -- equations (1) to (3) ---------------------------------------------------------------------


def test_a_displacement_leaves_its_line_where_it_is():
    u, P = np.array([0.6, 0.0, 0.8]), np.array([0.3, -0.2, 0.5])
    D = displacement(u, P, 1.1, 0.0)
    for point in (P, P + 2.0 * u):
        assert_allclose(D.rotation @ point + D.translation, point, atol=1e-15)


def test_a_displacement_is_a_turn_and_a_shift_along_its_line():
    u, P = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])
    D = displacement(u, P, np.pi / 2, 0.25)  # the point one metre beyond P, turned about P
    found = D.rotation @ np.array([2.0, 0.0, 0.0]) + D.translation
    assert_allclose(found, [1.0, 1.0, 0.25], atol=1e-15)


@given(robots(mimic=False), seeds())
def test_displacements_move_link_frames_as_pinocchio_does(robot, seed):
    q = random_state(robot, seed)[0]
    tree, model = merge_fixed(robot), pin_model(robot)
    zero = ZeroReference.from_robot(robot)
    moved = displacements(zero, q)
    for i, link in enumerate(tree.links):
        R, p = model.frame_pose(q, link.name)
        centre = zero.centres[i - 1] if i > 0 else np.zeros(3)
        assert_allclose(moved[i].rotation @ zero.axes[i], R, atol=1e-12)
        assert_allclose(moved[i].rotation @ centre + moved[i].translation, p, atol=1e-12)


@given(robots(mimic=False), seeds())
def test_the_hand_is_where_pinocchio_has_its_frame(robot, seed):
    q = random_state(robot, seed)[0]
    zero, model = ZeroReference.from_robot(robot), pin_model(robot)
    for name in robot.tips:
        hand = hand_position(zero, q, name)
        R, p = model.frame_pose(q, name)
        assert_allclose(hand.rotation, R, atol=1e-12)
        assert_allclose(hand.b, p, atol=1e-12)


@given(robots(), seeds())
def test_current_vectors_are_turned_starred_ones(robot, seed):
    tree, q, *_ = tree_state(robot, seed)
    zero = ZeroReference.from_robot(tree)
    starred, current, D = starred_vectors(zero, q), current_vectors(zero, q), displacements(zero, q)
    for k, p in enumerate(tree.parents):
        assert_allclose(current.u[k], D[p].rotation @ starred.u[k], atol=1e-12)
        assert_array_equal(current.R[k], np.eye(3))
    for i in range(len(tree.links)):
        I_G = D[i].rotation @ starred.inertia[i] @ D[i].rotation.T
        assert_allclose(current.inertia[i], I_G, atol=1e-12)


# -- from the hand to the base ----------------------------------------------------------------


@given(robots(max_joints=9), seeds())
def test_the_hand_gives_the_same_torques_as_the_base(robot, seed):
    tree, q, qd, qdd, wrenches = tree_state(robot, seed)
    zero = ZeroReference.from_robot(tree)
    expected = inverse_dynamics(tree, q, qd, qdd, wrenches)
    for tip in tree.tips:  # every branch in turn is the one whose motion is known
        hand = hand_motion(zero, q, qd, qdd, tip)
        found = inverse_dynamics_from_hand(tree, q, qd, qdd, wrenches, hand)
        assert relative_error(found, expected) < ROUND_OFF


@given(robots(mimic=False), seeds())
def test_the_motion_of_the_hand_is_the_derivative_of_its_position(robot, seed):
    q, qd, qdd = random_state(robot, seed)
    zero, name, h = ZeroReference.from_robot(robot), robot.tips[0], 1e-4
    hand = hand_motion(zero, q, qd, qdd, name)

    def position(t):
        return hand_position(zero, q + qd * t + qdd * t**2 / 2.0, name)

    before, now, after = position(-h), position(0.0), position(h)
    # central differences: the error of second order is h^2 times third derivatives, which grow
    # with the cube of the speed of 7 joints
    assume(np.max(np.abs(qd)) < 2.0)
    a = (after.b - 2.0 * now.b + before.b) / h**2
    assert_allclose(hand.a, a, atol=1e-3 * (1.0 + np.max(np.abs(a))))
    R_dot = (after.rotation - before.rotation) / (2.0 * h)
    omega = R_dot @ now.rotation.T  # skew-symmetric
    assert_allclose(hand.omega, [omega[2, 1], omega[0, 2], omega[1, 0]], atol=1e-4)


def test_an_unknown_hand_is_refused_by_name():
    zero = puma_type_arm()
    state = np.zeros(6)
    with pytest.raises(UnknownNameError, match=r"no frame 'gripper' in robot 'puma_gupta_printed'"):
        hand_motion(zero, state, state, state, "gripper")
