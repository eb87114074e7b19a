"""All closed forms under wrenches, against Newton-Euler and themselves as symbols."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import characteristic_examples, example_robot, examples, pin_model, relative_error
from python_kernel import compile_python
from robot_dynamics.algorithms import base_axes, composite_body
from robot_dynamics.compiler.graph.trace import trace
from robot_dynamics.formulations import (
    dalembert,
    lagrange,
    lagrange_euler,
    newton_euler,
)
from robot_dynamics.robot.transforms import merge_fixed
from strategies import random_state, random_wrenches, robots, seeds, state_of

CLOSED_FORMS = {"dalembert": dalembert, "lagrange": lagrange, "lagrange_euler": lagrange_euler}

# float64 on both sides, sums in another order: worst of all examples 3e-15; one wrong sign gives
# 1e-2 and more
SAME_NUMBERS = 1e-10


@pytest.mark.parametrize("name", CLOSED_FORMS)
@pytest.mark.parametrize("path", examples(characteristic_examples()))
def test_closed_form_agrees_with_newton_euler_on_example(path, name):
    tree = merge_fixed(example_robot(path))
    q, qd, qdd = state_of(tree, 3)
    wrenches = random_wrenches(tree, 3)
    ours = CLOSED_FORMS[name].inverse_dynamics(tree, q, qd, qdd, wrenches)
    theirs = newton_euler.inverse_dynamics(tree, q, qd, qdd, wrenches)
    assert relative_error(ours, theirs) < SAME_NUMBERS, tree.name


@pytest.mark.parametrize("name", CLOSED_FORMS)
@given(robots(), seeds())
def test_closed_form_agrees_with_newton_euler_on_random_trees(name, robot, seed):
    tree = merge_fixed(robot)
    q, qd, qdd = state_of(tree, seed)
    wrenches = random_wrenches(tree, seed)
    ours = CLOSED_FORMS[name].inverse_dynamics(tree, q, qd, qdd, wrenches)
    theirs = newton_euler.inverse_dynamics(tree, q, qd, qdd, wrenches)
    assert relative_error(ours, theirs) < SAME_NUMBERS


@pytest.mark.parametrize("name", CLOSED_FORMS)
@given(robots(max_joints=5), seeds())
@settings(max_examples=20)
def test_traced_equations_compute_what_the_formulation_computes(name, robot, seed):
    tree = merge_fixed(robot)
    n = len(tree.joints)
    equations = CLOSED_FORMS[name].inverse_dynamics
    shapes = {"q": (n,), "qd": (n,), "qdd": (n,), "wrench": (2, 3)}

    def function(q, qd, qdd, wrench):
        return equations(tree, q, qd, qdd, {n: (wrench[0], wrench[1])})

    rng = np.random.default_rng(seed)
    arguments = [rng.uniform(-3, 3, shape) for shape in shapes.values()]
    traced = compile_python(trace("torque", function, shapes))(*arguments)
    assert relative_error(traced, function(*arguments)) < SAME_NUMBERS


@pytest.mark.parametrize("name", CLOSED_FORMS)
@given(robots(), seeds())
def test_mass_matrix_is_that_of_composite_bodies_with_the_same_zeros(name, robot, seed):
    tree = merge_fixed(robot)
    q = np.random.default_rng(seed).uniform(-3, 3, len(tree.joints))
    ours = CLOSED_FORMS[name].mass_matrix(tree, q)
    theirs = composite_body.mass_matrix(tree, q)
    assert relative_error(ours, theirs) < SAME_NUMBERS
    assert np.array_equal(ours, ours.T)
    assert np.all(ours[theirs == 0.0] == 0.0)


@given(robots(), seeds())
def test_base_axes_lie_where_pinocchio_has_the_links(robot, seed):
    oracle = pin_model(robot)
    tree = merge_fixed(robot)
    q = random_state(robot, seed)[0]
    axes = base_axes.base_axes(tree, tree.coupling.positions(q))
    for k, link in enumerate(tree.links[1:]):
        R, p = oracle.frame_pose(q, link.name)
        assert np.allclose(axes.R[k], R, atol=1e-12, rtol=0)  # a few products of rotations
        assert np.allclose(axes.p[k], p, atol=1e-12, rtol=0)


@given(robots(), st.data())
def test_jacobian_of_a_link_agrees_with_pinocchio(robot, data):
    oracle = pin_model(robot)
    tree = merge_fixed(robot)
    q = random_state(robot, data.draw(seeds()))[0]
    k = data.draw(st.integers(0, len(tree.joints) - 1))
    axes = base_axes.base_axes(tree, tree.coupling.positions(q))
    J = np.zeros((6, len(tree.joints)))
    J[:, list(axes.paths[k])] = np.vstack(axes.jacobian(k, axes.p[k]))
    theirs = oracle.frame_jacobian(q, tree.links[k + 1].name)
    assert np.allclose(J @ tree.coupling.matrix, theirs, atol=1e-12, rtol=0)
