"""Forward dynamics by articulated bodies."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from oracles import (
    distinct_examples,
    example_id,
    example_robot,
    invertible_examples,
    pin_model,
    relative_error,
)
from robot_dynamics.algorithms.articulated_body import factorise_mass_matrix, forward_dynamics
from robot_dynamics.algorithms.composite_body import elimination_parents, mass_matrix, solve
from robot_dynamics.formulations import newton_euler
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.spatial import Inertia
from strategies import random_state, random_wrenches, robots, seeds


def uncoupled(robot):
    """The tree with every mimic joint moving on its own."""
    tree = merge_fixed(robot)
    return replace(tree, joints=tuple(replace(joint, mimic=None) for joint in tree.joints))


# float64 on both sides: worst example 2e-12; one wrong sign gives 1e-2 and more
@pytest.mark.parametrize(
    "path", [x for x in distinct_examples() if x in invertible_examples()], ids=example_id
)
def test_accelerations_agree_with_pinocchio(path):
    tree = uncoupled(example_robot(path))
    q, qd, tau = random_state(tree, seed=2)
    oracle = pin_model(tree, path)
    theirs = oracle.pin.aba(
        oracle.model, oracle.data, oracle.positions(q), oracle.E @ qd, oracle.E @ tau
    )
    ours = forward_dynamics(tree, q, qd, tau, {})
    assert relative_error(ours, oracle.E.T @ theirs) < 1e-9, tree.name


@given(robots(mimic=False, max_joints=9), seeds())
def test_forward_dynamics_undoes_inverse_dynamics_under_wrenches(robot, seed):
    tree = merge_fixed(robot)
    q, qd, qdd = random_state(tree, seed)
    wrenches = random_wrenches(tree, seed)
    tau = newton_euler.inverse_dynamics(tree, q, qd, qdd, wrenches)
    # Round-off of the efforts inside (100 N m and more) returns multiplied by the inverse of M
    inverse_M = np.linalg.norm(np.linalg.inv(mass_matrix(tree, q)))
    allowed = 1e-14 * inverse_M * (100.0 + np.max(np.abs(tau))) + 1e-12
    assert np.max(np.abs(forward_dynamics(tree, q, qd, tau, wrenches) - qdd)) < allowed


@given(robots(mimic=False, max_joints=6), seeds())
def test_mass_moved_along_a_joint_axis_changes_no_acceleration(robot, seed):
    # A line of mass on the axis of a revolute joint may count with either of its links, which
    # leaves the outer one with less mass than nothing: the recursion must not mind
    tree = merge_fixed(robot)
    k = seed % len(tree.joints)
    joint = tree.joints[k]
    if not joint.type.rotates:
        return
    line = Inertia.from_com(30.0, 0.4 * joint.axis, np.zeros((3, 3)))
    links = list(tree.links)
    parent = tree.parents[k]
    minus = Inertia(-line.mass, -line.first_moment, -line.second_moment)
    links[k + 1] = replace(links[k + 1], inertia=links[k + 1].inertia + minus)
    links[parent] = replace(
        links[parent], inertia=links[parent].inertia + line.expressed_in(joint.origin)
    )
    regrouped = replace(tree, links=tuple(links))
    q, qd, tau = random_state(tree, seed)
    expected = forward_dynamics(tree, q, qd, tau, {})
    found = forward_dynamics(regrouped, q, qd, tau, {})
    allowed = 1e-13 * np.linalg.cond(mass_matrix(tree, q)) + 1e-11  # 30 kg cancel
    assert relative_error(found, expected) < allowed


@given(robots(mimic=False, max_joints=9), seeds())
def test_factors_multiply_to_the_mass_matrix(robot, seed):
    tree = merge_fixed(robot)
    q = random_state(tree, seed)[0]
    L, inverse_D = factorise_mass_matrix(tree, q)
    assert np.array_equal(L, np.tril(L))
    # worst of 2000 random trees 2e-14
    assert relative_error(L.T @ np.diag(1.0 / inverse_D) @ L, mass_matrix(tree, q)) < 1e-12


@given(robots(mimic=False, max_joints=9), seeds())
def test_factors_solve_along_the_tree(robot, seed):
    tree = merge_fixed(robot)
    q, x, _ = random_state(tree, seed)
    M = mass_matrix(tree, q)
    L, inverse_D = factorise_mass_matrix(tree, q)
    found = solve(L, inverse_D, elimination_parents(tree), M @ x)
    assert relative_error(found, x) < 1e-14 * np.linalg.cond(M) + 1e-12
