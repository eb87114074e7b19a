"""First derivatives of efforts and of accelerations."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from oracles import (
    characteristic_examples,
    distinct_examples,
    example_robot,
    examples,
    invertible_examples,
    pin_model,
)
from robot_dynamics.algorithms.composite_body import mass_matrix
from robot_dynamics.algorithms.derivatives import forward_derivatives, inverse_derivatives
from robot_dynamics.formulations import newton_euler
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.spatial import Inertia
from strategies import random_inertia, random_state, random_wrenches, robots, seeds

STEP = 1e-30  # complex step: no difference is taken, so nothing cancels, however small the step


def complex_step(function, x):
    """Jacobian of a function of a vector, exact to round-off."""
    columns = [function(x + 1j * STEP * unit).imag / STEP for unit in np.eye(len(x))]
    return np.array(columns).T


def error_against(ours, theirs, scale):
    """Worst difference over the larger of the largest entry and `scale`.

    The scale keeps derivatives that vanish (dtau/dqd of one revolute joint, or of the four rotors
    of a drone) from being compared with their own round-off.
    """
    worst = np.max(np.abs(ours - theirs), initial=0.0)
    return worst / max(np.max(np.abs(theirs), initial=0.0), scale, 1e-300)


def full_state(robot, seed):
    """A tree and a state of all its joints, followers included, each moving on its own."""
    tree = merge_fixed(robot)
    rng = np.random.default_rng(seed)
    n = len(tree.joints)
    return tree, rng.uniform(-3.0, 3.0, n), rng.normal(size=n), rng.normal(size=n)


# float64 on both sides: worst example 1e-12 of the largest entry; one wrong sign gives 1e-2
@pytest.mark.parametrize("path", examples(characteristic_examples()))
def test_inverse_derivatives_agree_with_pinocchio(path):
    robot = example_robot(path)
    q, qd, qdd = random_state(robot, seed=3)
    oracle = pin_model(robot, path)
    E_pin, model, data = oracle.E, oracle.model, oracle.data
    oracle.pin.computeRNEADerivatives(model, data, oracle.positions(q), E_pin @ qd, E_pin @ qdd)

    tree = merge_fixed(robot)
    E, e0 = tree.coupling.matrix, tree.coupling.offset
    dtau_dq, dtau_dqd, M = inverse_derivatives(tree, E @ q + e0, E @ qd, E @ qdd, {})
    M_pin = oracle.mass_matrix(q)
    scale = np.max(np.abs(M_pin), initial=0.0)
    assert error_against(E.T @ dtau_dq @ E, E_pin.T @ data.dtau_dq @ E_pin, scale) < 1e-9
    assert error_against(E.T @ dtau_dqd @ E, E_pin.T @ data.dtau_dv @ E_pin, scale) < 1e-9
    assert error_against(E.T @ M @ E, M_pin, scale) < 1e-9


# Worst of 2000 random trees 3e-14
@given(robots(max_joints=8), seeds())
def test_inverse_derivatives_agree_with_the_complex_step_under_wrenches(robot, seed):
    tree, q, qd, qdd = full_state(robot, seed)
    wrenches = random_wrenches(tree, seed)

    def tau(q, qd):
        return newton_euler.inverse_dynamics(tree, q, qd, qdd, wrenches)

    dtau_dq, dtau_dqd, M = inverse_derivatives(tree, q, qd, qdd, wrenches)
    scale = np.max(np.abs(M))
    assert error_against(dtau_dq, complex_step(lambda x: tau(x, qd), q), scale) < 1e-12
    assert error_against(dtau_dqd, complex_step(lambda x: tau(q, x), qd), scale) < 1e-12
    assert error_against(M, mass_matrix(tree, q), scale) < 1e-12


@given(robots(max_joints=8), seeds())
def test_joints_on_different_branches_have_derivatives_of_exactly_zero(robot, seed):
    tree, q, qd, qdd = full_state(robot, seed)
    derivatives = inverse_derivatives(tree, q, qd, qdd, {})
    for a in range(len(tree.joints)):
        path, i = {a}, tree.parents[a]
        while i > 0:
            path.add(i - 1)
            i = tree.parents[i - 1]
        for b in range(a):
            if b not in path:
                assert all(D[a, b] == D[b, a] == 0.0 for D in derivatives)


@given(robots(max_joints=6), seeds())
def test_derivatives_are_linear_in_inertial_parameters(robot, seed):
    # Bodies that no solid could be included: what is regrouped to a parent leaves such bodies
    tree, q, qd, qdd = full_state(robot, seed)
    rng = np.random.default_rng(seed)

    def with_inertias(bodies):
        links = [replace(link, inertia=body) for link, body in zip(tree.links, bodies, strict=True)]
        return replace(tree, links=tuple(links))

    def negative(body):
        return Inertia(-body.mass, -body.first_moment, -body.second_moment)

    removed = [random_inertia(rng) for _ in tree.links]
    rest = [link.inertia + negative(body) for link, body in zip(tree.links, removed, strict=True)]
    whole = inverse_derivatives(tree, q, qd, qdd, {})
    part = inverse_derivatives(with_inertias(removed), q, qd, qdd, {})
    other = inverse_derivatives(with_inertias(rest), q, qd, qdd, {})
    for D, D_part, D_other in zip(whole, part, other, strict=True):
        # round-off of the summands, which may cancel
        scale = np.max(np.abs(D_part)) + np.max(np.abs(D_other)) + 1.0
        assert np.max(np.abs(D_part + D_other - D)) < 1e-12 * scale


def differentiable(paths):
    """Return the examples whose accelerations Pinocchio differentiates: no mimic joints."""
    robots = [(path, example_robot(path)) for path in paths if path in invertible_examples()]
    return [path for path, robot in robots if not any(joint.mimic for joint in robot.joints)]


@pytest.mark.parametrize(
    "path", examples(characteristic_examples(), differentiable(distinct_examples()))
)
def test_forward_derivatives_agree_with_pinocchio(path):
    robot = example_robot(path)
    q, qd, tau = random_state(robot, seed=4)
    oracle = pin_model(robot, path)
    condition = np.linalg.cond(oracle.mass_matrix(q))
    E, model, data = oracle.E, oracle.model, oracle.data
    oracle.pin.computeABADerivatives(model, data, oracle.positions(q), E @ qd, E @ tau)
    inverse_M = np.triu(data.Minv) + np.triu(data.Minv, 1).T
    found = forward_derivatives(merge_fixed(robot), q, qd, tau, {})
    expected = [E.T @ D @ E for D in (data.ddq_dq, data.ddq_dv, inverse_M)]
    # Worst example 2e-10 but for iCub: of its inverse mass matrix (condition 3e9) Pinocchio has
    # eight digits, these equations twelve, both compared with the same in extended precision
    allowed = 1e-9 + 1e-16 * condition
    scale = np.max(np.abs(inverse_M), initial=0.0)
    assert all(error_against(a, b, scale) < allowed for a, b in zip(found, expected, strict=True))


@given(robots(max_joints=6), seeds())
def test_forward_derivatives_agree_with_the_complex_step_with_mimic_joints(robot, seed):
    tree = merge_fixed(robot)
    E, e0 = tree.coupling.matrix, tree.coupling.offset
    q, qd, tau = random_state(tree, seed)
    wrenches = random_wrenches(tree, seed)

    def efforts(q, qd, qdd):
        return E.T @ newton_euler.inverse_dynamics(tree, E @ q + e0, E @ qd, E @ qdd, wrenches)

    def qdd(q, qd, tau):
        bias = efforts(q, qd, np.zeros(tree.dof))
        M = np.array([efforts(q, qd, unit) - bias for unit in np.eye(tree.dof)])
        return np.linalg.solve(M, tau - bias)

    by_q, by_qd, by_tau = forward_derivatives(tree, q, qd, tau, wrenches)
    condition = np.linalg.cond(E.T @ mass_matrix(tree, E @ q + e0) @ E)
    allowed = 1e-13 * condition + 1e-11  # the accelerations themselves are no better
    scale = np.max(np.abs(by_tau))
    assert error_against(by_q, complex_step(lambda x: qdd(x, qd, tau), q), scale) < allowed
    assert error_against(by_qd, complex_step(lambda x: qdd(q, x, tau), qd), scale) < allowed
    assert error_against(by_tau, complex_step(lambda x: qdd(q, qd, x), tau), scale) < allowed
