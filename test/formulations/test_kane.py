"""Kane's equations: partial velocities, the recursion, dissipative forces."""

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose

from oracles import pin_model, relative_error
from python_kernel import compile_python
from robot_dynamics.compiler.graph.trace import trace
from robot_dynamics.control.friction import Friction
from robot_dynamics.errors import ShapeError
from robot_dynamics.formulations import inverse_dynamics as by_name
from robot_dynamics.formulations import newton_euler
from robot_dynamics.formulations.kane import (
    Rotation,
    acceleration_tensor,
    inverse_dynamics,
    kinematics,
    partial_velocities,
    translations,
)
from robot_dynamics.papers.paper_arms import stanford_arm
from robot_dynamics.robot.kinematic_tree import joint_motion
from robot_dynamics.robot.transforms import merge_fixed
from strategies import random_state, robots, seeds

# float64 on both sides: worst of all examples 2e-15, of 2000 random trees 1e-13 (torques that
# nearly cancel); one wrong sign gives 1e-2 and more
ROUND_OFF = 1e-10


# -- agreement --------------------------------------------------------------------------------


@given(robots(max_joints=9), seeds())
def test_it_agrees_with_newton_euler_under_wrenches_at_all_tips(robot, seed):
    tree = merge_fixed(robot)
    rng = np.random.default_rng(seed)
    n = len(tree.joints)
    q, qd, qdd = rng.uniform(-3.0, 3.0, n), rng.normal(size=n), rng.normal(size=n)
    wrenches = {
        tree.link_index(tree.frame(tip).link): (rng.normal(size=3), rng.normal(size=3))
        for tip in tree.tips
    }
    expected = newton_euler.inverse_dynamics(tree, q, qd, qdd, wrenches)
    assert relative_error(inverse_dynamics(tree, q, qd, qdd, wrenches), expected) < ROUND_OFF


def test_it_can_be_traced_with_a_wrench_and_friction():
    arm = stanford_arm()
    friction = Friction(
        np.full(6, 0.3), np.full(6, 2.0), stiction=np.ones(6), stribeck=np.full(6, 0.1)
    )

    def equations(q, qd, qdd, force, moment):
        wrenches = {6: (force, moment)}
        return inverse_dynamics(arm, q, qd, qdd, wrenches, lambda q, qd: -friction.smooth(qd))

    inputs = {"q": (6,), "qd": (6,), "qdd": (6,), "force": (3,), "moment": (3,)}
    values = [np.random.default_rng(1).normal(size=shape) for shape in inputs.values()]
    compiled = compile_python(trace("arm", equations, inputs))
    assert relative_error(compiled(*values), equations(*values)) < ROUND_OFF


# -- partial velocities -----------------------------------------------------------------------


@given(robots(), seeds())
def test_partial_velocities_are_jacobians_of_the_mass_centres(robot, seed):
    q = random_state(robot, seed)[0]
    A, B = partial_velocities(robot, q)
    model, tree = pin_model(robot), merge_fixed(robot)
    for j, link in enumerate(tree.links[1:]):
        J = model.frame_jacobian(q, link.name)  # of the link origin, axes of the root
        R, _ = model.frame_pose(q, link.name)
        r = R @ link.inertia.com
        assert_allclose(A[j], J[3:], atol=1e-12)
        assert_allclose(B[j], J[:3] + np.cross(J[3:].T, r).T, atol=1e-12)


def test_partial_velocities_of_a_prismatic_joint_have_its_axis_in_b_and_none_in_a():
    A, B = partial_velocities(stanford_arm("classic"), [0.3, 1.2, 0.2, 0.5, -0.4, 0.1])
    assert_allclose(A[:, :, 2], 0.0)  # eq. (34)
    assert_allclose(B[:2, :, 2], 0.0)  # links before the joint
    for j in range(2, 6):
        assert_allclose(B[j, :, 2], B[2, :, 2])  # eq. (35): e_3 for all links beyond
    assert_allclose(np.linalg.norm(B[2, :, 2]), 1.0)


@given(robots(), seeds())
def test_the_projections_of_equation_37_are_the_torques(robot, seed):
    q, qd, qdd = random_state(robot, seed)
    A, B = partial_velocities(robot, q)
    tree = merge_fixed(robot)
    E, e0 = tree.coupling.matrix, tree.coupling.offset
    positions = E @ q + e0
    Q = [Rotation(joint, positions[k]) for k, joint in enumerate(tree.joints)]
    motion = kinematics(tree, Q, translations(tree, positions), E @ qd, E @ qdd)
    R, tau = [np.eye(3)], np.zeros(robot.dof)
    for k, joint in enumerate(tree.joints):
        R.append(R[tree.parents[k]] @ joint_motion(joint, positions[k])[0])
        omega, omega_dot, p_ddot = (R[k + 1] @ values[k + 1] for values in motion)  # base axes
        body = tree.links[k + 1].inertia
        I_C = R[k + 1] @ body.about_com @ R[k + 1].T
        h_dot = I_C @ omega_dot + np.cross(omega, I_C @ omega)  # eq. (2)
        tau += A[k].T @ h_dot + B[k].T @ (body.mass * p_ddot)  # eq. (37)
    assert relative_error(tau, by_name(robot, q, qd, qdd, formulation="kane")) < ROUND_OFF


@given(robots(), seeds())
def test_partial_velocities_times_rates_are_velocities(robot, seed):
    # the mass centres move by B qd: against a central difference of their positions
    q, qd, _ = random_state(robot, seed)
    _, B = partial_velocities(robot, q)
    model, tree, h = pin_model(robot), merge_fixed(robot), 1e-6
    for j, link in enumerate(tree.links[1:]):

        def centre(t, link=link):
            R, p = model.frame_pose(q + qd * t, link.name)
            return p + R @ link.inertia.com

        velocity = (centre(h) - centre(-h)) / (2.0 * h)
        assert_allclose(B[j] @ qd, velocity, atol=1e-7 * (1.0 + np.max(np.abs(velocity))))


def test_partial_velocities_need_one_position_per_joint():
    with pytest.raises(ShapeError, match=r"q must have shape \(6,\), got \(5,\)"):
        partial_velocities(stanford_arm(), np.zeros(5))


# -- pieces -----------------------------------------------------------------------------------


def test_the_acceleration_tensor_accelerates_a_point_of_a_turning_body():
    omega, omega_dot, r = np.random.default_rng(3).normal(size=(3, 3))
    expected = np.cross(omega_dot, r) + np.cross(omega, np.cross(omega, r))
    assert_allclose(acceleration_tensor(omega, omega_dot) @ r, expected, atol=1e-14)


# -- dissipative forces -----------------------------------------------------------------------


def test_dissipative_forces_are_overcome_by_the_actuators():
    arm, state = stanford_arm(), np.random.default_rng(4).normal(size=(3, 6))
    friction = Friction(
        np.full(6, 0.3), np.full(6, 2.0), stiction=np.ones(6), stribeck=np.full(6, 0.1)
    )
    without = inverse_dynamics(arm, *state, {})
    found = inverse_dynamics(arm, *state, {}, lambda q, qd: -friction.smooth(qd, width=1e-9))
    qd = state[1]
    # viscous, Coulomb and Stribeck written out, at speeds far above the width of the crossing
    expected = 0.3 * qd + (2.0 + 1.0 * np.exp(-((qd / 0.1) ** 2))) * np.sign(qd)
    assert_allclose(found - without, expected, atol=1e-12)


def test_dissipative_forces_may_depend_on_positions():
    arm, (q, qd, qdd) = stanford_arm(), np.random.default_rng(4).normal(size=(3, 6))

    def phi_d(q, qd):  # a bearing that gets stiffer as the boom comes out
        return -np.array([0.0, 0.0, 5.0 * q[2] ** 2, 0.0, 0.0, 0.0]) * qd

    found = inverse_dynamics(arm, q, qd, qdd, {}, phi_d) - inverse_dynamics(arm, q, qd, qdd, {})
    assert_allclose(found, [0, 0, 5.0 * q[2] ** 2 * qd[2], 0, 0, 0], atol=1e-13)
