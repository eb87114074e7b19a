"""Second derivatives of efforts and of accelerations: complex steps of the first ones."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agreement import displaced, evaluate
from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.algorithms.second_derivatives import (
    forward_second_derivatives,
    with_derivatives,
)
from robot_dynamics.dynamics.kernels import equations_of
from robot_dynamics.errors import RobotError
from robot_dynamics.robot import find_robot, merge_fixed
from strategies import random_state, robots, seeds

STEP = 1e-30  # complex step: no difference is taken, so nothing cancels, however small the step

COMPLEX = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "negate": np.negative,
    "reciprocal": np.reciprocal,
    "sin": np.sin,
    "cos": np.cos,
}


def by_complex_step(tree, name, state):
    """The second derivatives in the order of the kernels."""
    program = equations_of(name, tree, "newton_euler").trace(name)

    def of(output, argument):
        """Derivative of an output by an argument, in the last axis."""
        parts = []
        for unit in np.eye(tree.dof):
            moved = [*state]
            moved[argument] = displaced(tree, state[argument], 1j * STEP * unit, argument == 0)
            parts.append(evaluate(program, moved, COMPLEX)[output].imag / STEP)
        return np.stack(parts, axis=-1)

    return of(0, 0), of(0, 1), of(1, 1), of(2, 0)


def assert_same(found, expected, allowed):
    size = max(np.max(np.abs(x)) for x in expected) + 1e-3  # some robots have none
    for ours, theirs in zip(found, expected, strict=True):
        assert np.max(np.abs(ours - theirs)) < allowed * size


def trees(joints):
    """Random trees, also with floating and planar joints anywhere."""
    return st.one_of(robots(max_joints=joints), robots(max_joints=joints, free=True))


# Worst of 200 random trees 1e-15; one wrong sign gives 1e-2
@settings(max_examples=20)
@given(trees(4), seeds())
def test_those_of_efforts_agree_with_the_complex_step(robot, seed):
    tree = merge_fixed(robot)
    state = random_state(tree, seed)
    found = equations_of("inverse_second_derivatives", tree, "newton_euler").function(*state)
    assert_same(found.values(), by_complex_step(tree, "inverse_derivatives", state), 1e-12)


@settings(max_examples=10)
@given(trees(3), seeds())
def test_those_of_accelerations_agree_with_the_complex_step(robot, seed):
    tree = merge_fixed(robot)
    state = random_state(tree, seed)
    M = equations_of("mass_matrix", tree, "newton_euler").function(state[0])
    found = equations_of("forward_second_derivatives", tree, "newton_euler").function(*state)
    expected = by_complex_step(tree, "forward_derivatives", state)
    # Solving loses as many digits as M is badly conditioned, twice
    assert_same(found.values(), expected, 1e-11 + 1e-13 * np.linalg.cond(M) ** 2)


@pytest.fixture(scope="module")
def finger():
    return Dynamics(read_urdf(find_robot("finger_edu")))


def test_compiled_kernels_take_one_state_or_many_and_are_symmetric(finger):
    tree = merge_fixed(finger.robot)
    states = random_state(finger.robot, seed=5, samples=9)
    many = finger.inverse_second_derivatives(*states)
    assert [x.shape for x in many] == [(9, 3, 3, 3)] * 4
    assert many._fields == ("d2tau_dq2", "d2tau_dqdqd", "d2tau_dqd2", "dM_dq")
    one = [x[3] for x in states]
    expected = by_complex_step(tree, "inverse_derivatives", one)
    for found in (finger.inverse_second_derivatives(*one), [x[3] for x in many]):
        by_q, by_q_qd, by_qd, M_by_q = found
        assert_same((by_q, by_q_qd, by_qd, M_by_q), expected, 1e-12)
        assert (by_q == by_q.transpose(0, 2, 1)).all()
        np.testing.assert_allclose(M_by_q, M_by_q.transpose(1, 0, 2), atol=1e-12)


def test_those_of_accelerations_follow_from_results_of_other_kernels(finger):
    q, qd, tau = random_state(finger.robot, seed=6)
    first = finger.forward_derivatives(q, qd, tau)
    second = finger.inverse_second_derivatives(q, qd, finger.forward(q, qd, tau))
    found = finger.forward_second_derivatives(q, qd, tau)
    assert found._fields == ("d2qdd_dq2", "d2qdd_dqdqd", "d2qdd_dqd2", "d2qdd_dtaudq")
    assert_same(found, forward_second_derivatives(second, first), 1e-12)


def test_accelerations_of_many_joints_are_not_differentiated_twice():
    message = (
        "robot 'talos': second derivatives of forward dynamics grow with the fourth power of the "
        "joints, of which it has 32 and a kernel takes 12; "
        "robot_dynamics.algorithms.second_derivatives.forward_second_derivatives makes them of "
        "the results of inverse_second_derivatives and forward_derivatives"
    )
    arm = Dynamics(read_urdf(find_robot("talos_reduced")))
    with pytest.raises(RobotError, match=f"^{re.escape(message)}$"):
        arm.program("forward_second_derivatives")


def test_derivatives_of_a_constant_are_zero():
    x = np.array([0.3, 0.4])
    (values, slopes), *_ = with_derivatives(lambda x: [np.array([x[0] * x[1], 2.0])], x)
    assert values.tolist() == [0.12, 2.0]
    assert slopes.tolist() == [[0.4, 0.3], [0.0, 0.0]]
