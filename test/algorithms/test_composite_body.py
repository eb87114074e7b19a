"""Mass matrix by composite bodies, and its factorisation along the tree."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import distinct_examples, example_id, example_robot, pin_model, relative_error
from robot_dynamics.algorithms.composite_body import (
    elimination_parents,
    factorise,
    mass_matrix,
    solve,
)
from robot_dynamics.dynamics.kernels import equations_of
from robot_dynamics.robot.transforms import merge_fixed
from strategies import random_state, robots

# float64 on both sides: worst of all examples and of 2000 random trees 4e-12 (light fingers at the
# end of heavy arms); one wrong sign gives 1e-2 and more
ROUND_OFF = 1e-9


@pytest.mark.parametrize("path", distinct_examples(), ids=example_id)
def test_mass_matrix_agrees_with_pinocchio(path):
    robot = example_robot(path)
    q = random_state(robot, seed=1)[0]
    theirs = pin_model(robot, path).mass_matrix(q)
    ours = equations_of("mass_matrix", merge_fixed(robot), "newton_euler").function(q)
    assert relative_error(ours, theirs) < ROUND_OFF, robot.name


@given(robots(), st.integers(0, 2**32 - 1))
def test_joints_on_different_branches_do_not_couple(robot, seed):
    tree = merge_fixed(robot)
    q = np.random.default_rng(seed).uniform(-3, 3, len(tree.joints))
    M = mass_matrix(tree, q)
    for a in range(len(tree.joints)):
        path = {a}
        while tree.parents[min(path)] > 0:
            path.add(tree.parents[min(path)] - 1)
        for b in range(a):
            assert b in path or M[a, b] == 0.0
    assert np.array_equal(M, M.T)


@given(robots(), st.integers(0, 2**32 - 1))
def test_factors_along_the_tree_solve_the_reduced_system(robot, seed):
    tree = merge_fixed(robot)
    rng = np.random.default_rng(seed)
    q, x = rng.uniform(-3, 3, tree.dof), rng.uniform(-1, 1, tree.dof)
    M = equations_of("mass_matrix", tree, "newton_euler").function(q)
    parents = elimination_parents(tree)
    L, inverse_D = factorise(M, parents)
    assert np.allclose(L.T @ np.diag(1 / inverse_D) @ L, M, rtol=0, atol=1e-12 * np.max(np.abs(M)))
    found = solve(L, inverse_D, parents, M @ x)
    # the error of a solve grows with the condition of M, which random trees take far
    assert relative_error(found, x) < 1e-14 * np.linalg.cond(M) + 1e-12
