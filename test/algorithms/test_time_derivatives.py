"""Time derivatives of joint efforts along motions, by the complex step in time."""

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.polynomial import Polynomial

from oracles import (
    characteristic_examples,
    example_robot,
    examples,
    has_few_joints,
    relative_error,
)
from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.dynamics.kernels import equations_of
from robot_dynamics.errors import RobotError
from robot_dynamics.formulations import FORMULATIONS
from robot_dynamics.robot import find_robot
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.spatial import Inertia
from strategies import robots, seeds

STEP = 1e-30
# float64 on both sides: worst 8e-12
ROUND_OFF = 1e-10


def motion(n, seed):
    """Positions of polynomials in time, and their derivatives, of numbers or complex numbers."""
    rows = [Polynomial(c) for c in np.random.default_rng(seed).normal(size=(n, 8))]
    return lambda t: [np.array([row.deriv(k)(t) for row in rows]) for k in range(5)]


def assert_derivatives(found, tau, rates, at):
    """Results agree with complex steps of the efforts, and of their rates, in time."""
    steps = tau(at(0.3 + 1j * STEP)), rates(at(0.3 + 1j * STEP))["rate"]
    np.testing.assert_allclose(found[0], tau(at(0.3)).real, atol=1e-9)
    for ours, step in zip(found[1:], steps, strict=True):
        assert relative_error(ours, step.imag / STEP) < ROUND_OFF


FEW = [path for path in characteristic_examples() if has_few_joints(path)]


@pytest.mark.parametrize("path", examples([x for x in FEW if example_robot(x).dof < 8], FEW))
def test_rates_of_every_arrangement_agree_with_the_complex_step(path):
    robot = example_robot(path)
    tree, at = merge_fixed(robot), motion(robot.dof, 1)
    inverse = equations_of("inverse", tree, "newton_euler").function
    rates = equations_of("inverse_rates", tree, "newton_euler").function
    found = Dynamics(robot).inverse_rates(*at(0.3))
    assert_derivatives(found, lambda x: inverse(*x[:3]), lambda x: rates(*x), at)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@settings(max_examples=3)
@given(robots(max_joints=4), seeds())
def test_rates_of_random_trees_agree_in_every_formulation(formulation, robot, seed):
    tree, at = merge_fixed(robot), motion(robot.dof, seed)
    inverse = equations_of("inverse", tree, "newton_euler").function
    rates = equations_of("inverse_rates", tree, formulation).function
    found = list(rates(*at(0.3)).values())
    assert_derivatives(found, lambda x: inverse(*x[:3]), lambda x: rates(*x), at)


def test_a_load_is_taken_with_its_rates():
    arm = Dynamics(read_urdf(find_robot("ur5")))
    body = Inertia.from_com(2.0, (0.0, 0.1, 0.05), np.diag([0.01, 0.02, 0.015]))
    heavier = Dynamics(arm.robot.with_payload("tool0", 2.0, (0.0, 0.1, 0.05), body.about_com))
    x, wrench = motion(6, 3)(0.2), np.zeros(6)
    found = arm.inverse_rates(*x, payload=body, wrench=wrench, frame="tool0")
    for ours, theirs in zip(found, heavier.inverse_rates(*x), strict=True):
        assert relative_error(ours, theirs) < ROUND_OFF


def test_free_bases_are_refused_with_the_remedy():
    free = Dynamics(read_urdf(find_robot("planar_2r")).with_floating_base())
    with pytest.raises(RobotError, match=r"has floating or planar joints.*with_fixed_base"):
        free.kernel("inverse_rates")
