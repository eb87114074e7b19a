"""Lagrange-Euler equations with 4 x 4 matrices: each of eqs. (1) to (5) by another way."""

import numpy as np
import pytest
from hypothesis import given, settings

from oracles import relative_error
from robot_dynamics.algorithms.composite_body import mass_matrix as composite_mass_matrix
from robot_dynamics.formulations import lagrange, newton_euler
from robot_dynamics.formulations.lagrange_euler import (
    gravity_efforts,
    inertia_coefficients,
    pseudo_inertia,
    trace_of,
    transformations,
    velocity_efforts,
)
from robot_dynamics.kinematics import frame_pose
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.spatial import Inertia
from strategies import robots, seeds, state_of

ROUND_OFF = 1e-11  # float64, sums in another order; one wrong sign gives 1e-2 and more


def complex_step(function, q, k):
    """Exact derivative of an analytic function by q_k."""
    return np.imag(function(q + 1e-30j * np.eye(len(q))[k])) / 1e-30


@settings(max_examples=15)
@given(robots(mimic=False), seeds())
def test_transformations_are_poses_and_their_derivatives(robot, seed):
    tree = merge_fixed(robot)
    q = state_of(tree, seed)[0]
    for s, link in enumerate(transformations(tree, q)):
        pose = frame_pose(tree, q, tree.links[s + 1].name)
        assert link.T[:3, :3] == pytest.approx(pose.rotation, abs=1e-12)
        assert link.T[:3, 3] == pytest.approx(pose.translation, abs=1e-12)
        for b, k in enumerate(link.path):
            exact = complex_step(lambda x, s=s: transformations(tree, x)[s].T, q, k)
            assert link.first[b] == pytest.approx(exact, abs=1e-12)
            for c, m in enumerate(link.path[b:]):
                exact = complex_step(lambda x, s=s, b=b: transformations(tree, x)[s].first[b], q, m)
                assert link.second[b][c] == pytest.approx(exact, abs=1e-12)


@given(robots(), seeds())
def test_d_of_equation_3_is_the_inertia_of_composite_bodies(robot, seed):
    tree = merge_fixed(robot)
    q = state_of(tree, seed)[0]
    ours = inertia_coefficients(tree, transformations(tree, q))
    assert relative_error(ours, composite_mass_matrix(tree, q)) < ROUND_OFF


@given(robots(), seeds())
def test_c_of_equation_4_gives_the_velocity_efforts_of_lagrange(robot, seed):
    tree = merge_fixed(robot)
    q, qd, _ = state_of(tree, seed)
    ours = velocity_efforts(tree, transformations(tree, q), qd)
    theirs = lagrange.coriolis_matrix(tree, q, qd) @ qd
    scale = 1.0 + np.abs(theirs).max(initial=0.0)
    assert np.abs(ours - theirs).max(initial=0.0) < ROUND_OFF * scale


@given(robots(), seeds())
def test_g_of_equation_5_holds_the_robot_at_rest(robot, seed):
    tree = merge_fixed(robot)
    q = state_of(tree, seed)[0]
    rest = np.zeros(len(q))
    ours = gravity_efforts(tree, transformations(tree, q))
    assert relative_error(ours, newton_euler.inverse_dynamics(tree, q, rest, rest, {})) < ROUND_OFF


def test_the_inertia_of_a_link_is_the_integral_of_its_points():
    rng = np.random.default_rng(3)
    points, masses = rng.uniform(-1.0, 1.0, (20, 3)), rng.uniform(0.1, 1.0, 20)
    bodies = [Inertia.from_com(m, r, np.zeros((3, 3))) for m, r in zip(masses, points, strict=True)]
    homogeneous = np.column_stack([points, np.ones(20)])
    integral = (homogeneous * masses[:, None]).T @ homogeneous
    assert pseudo_inertia(sum(bodies[1:], bodies[0])) == pytest.approx(integral, abs=1e-13)


def test_the_trace_of_a_product_is_formed_without_the_product():
    X, Y = np.random.default_rng(4).uniform(-1.0, 1.0, (2, 4, 4))
    assert trace_of(X, Y) == pytest.approx(np.trace(X @ Y.T), abs=1e-14)
