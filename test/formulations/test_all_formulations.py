"""Every formulation beside every other, and beside Pinocchio, uncompiled."""

import functools

import numpy as np
import pytest
from hypothesis import given, settings

from oracles import (
    characteristic_examples,
    example_robot,
    example_urdfs,
    examples,
    invertible_examples,
    pin_model,
    relative_error,
)
from robot_dynamics.algorithms import articulated_body
from robot_dynamics.dynamics.kernels import equations_of
from robot_dynamics.errors import UnknownNameError
from robot_dynamics.formulations import (
    FORMULATIONS,
    FORWARD_ROUTES,
    forward_dynamics,
    inverse_dynamics,
)
from robot_dynamics.robot.transforms import merge_fixed
from strategies import random_state, robots, seeds

AMONG_THEMSELVES = 1e-10  # float64 everywhere: worst of all examples 1e-12, of random trees 2e-12
WITH_PINOCCHIO = 1e-9  # the same, and rotations that Pinocchio reads as quaternions


def torques_of_all(robot, q, qd, qdd, **options):
    """Torques by every formulation, by name."""
    return {
        name: inverse_dynamics(robot, q, qd, qdd, formulation=name, **options)
        for name in FORMULATIONS
    }


@pytest.mark.parametrize("path", examples(characteristic_examples()))
def test_formulations_agree_on_every_example(path):
    robot = example_robot(path)
    q, qd, qdd = random_state(robot, seed=11)
    theirs = pin_model(robot, path).inverse(q, qd, qdd)
    found = torques_of_all(robot, q, qd, qdd)
    for name, tau in found.items():
        assert relative_error(tau, theirs) < WITH_PINOCCHIO, (robot.name, name)
        assert relative_error(tau, found["newton_euler"]) < AMONG_THEMSELVES, (robot.name, name)


@given(robots(), seeds())
def test_formulations_agree_on_random_trees(robot, seed):
    q, qd, qdd = random_state(robot, seed)
    theirs = pin_model(robot).inverse(q, qd, qdd)
    found = torques_of_all(robot, q, qd, qdd)
    for name, tau in found.items():
        assert relative_error(tau, theirs) < WITH_PINOCCHIO, name
        assert relative_error(tau, found["newton_euler"]) < AMONG_THEMSELVES, name


@given(robots(), seeds())
def test_formulations_agree_under_any_gravity_and_a_wrench_at_any_link(robot, seed):
    rng = np.random.default_rng(seed)
    q, qd, qdd = random_state(robot, seed)
    frame = robot.links[rng.integers(1, len(robot.links))].name
    wrench, gravity = rng.normal(size=6) * 10, rng.normal(size=3) * 10
    found = torques_of_all(robot, q, qd, qdd, wrench=wrench, frame=frame, gravity=gravity)
    for name, tau in found.items():
        assert relative_error(tau, found["newton_euler"]) < AMONG_THEMSELVES, name


def routes(robot):
    """Forward dynamics by every route, as functions of q, qd, tau."""
    tree = merge_fixed(robot)
    by_name = {name: equations_of("forward", tree, name).function for name in FORMULATIONS}
    for name in FORMULATIONS:
        by_name[f"{name}, uncompiled"] = functools.partial(
            forward_dynamics, robot, formulation=name
        )
    if len(tree.joints) == robot.dof:
        by_name["articulated bodies"] = lambda q, qd, tau: articulated_body.forward_dynamics(
            tree, q, qd, tau, {}
        )
    return by_name


def assert_routes_agree(robot, pin, seed):
    q, qd, tau = random_state(robot, seed)
    free = len(robot.moving_joints) == robot.dof
    theirs = pin.articulated_forward(q, qd, tau) if free else pin.forward(q, qd, tau)
    # Solving for accelerations loses the digits of the condition of M, on both sides
    condition = np.linalg.cond(pin.mass_matrix(q)) if robot.dof else 1.0
    allowed = max(WITH_PINOCCHIO, 1e-14 * condition)
    for name, route in routes(robot).items():
        assert relative_error(route(q, qd, tau), theirs) < allowed, (robot.name, name)


@pytest.mark.parametrize("path", examples(characteristic_examples(), invertible_examples()))
def test_forward_dynamics_of_every_route_agrees_with_articulated_bodies(path):
    robot = example_robot(path)
    assert_routes_agree(robot, pin_model(robot, path), seed=12)


@settings(max_examples=30)
@given(robots(), seeds())
def test_forward_dynamics_of_every_route_agrees_on_random_trees(robot, seed):
    assert_routes_agree(robot, pin_model(robot), seed)


def test_the_route_of_every_formulation_to_accelerations_is_told():
    assert set(FORWARD_ROUTES) == set(FORMULATIONS)


def test_unknown_formulation_lists_all():
    path = example_urdfs()[0]
    robot = example_robot(path)
    zero = np.zeros(robot.dof)
    with pytest.raises(UnknownNameError) as caught:
        inverse_dynamics(robot, zero, zero, zero, formulation="newton")
    for name in ("newton_euler", "zero_reference", "kane", "lagrange", "dalembert",
                 "augmented_body", "lagrange_euler"):  # fmt: skip
        assert name in str(caught.value)
