"""The derivatives of efforts computed for all joints at once."""

import numpy as np
import pytest
from hypothesis import given

from oracles import example_id, example_robot, example_urdfs
from robot_dynamics import Dynamics
from robot_dynamics.algorithms import derivatives, derivatives_at_once
from robot_dynamics.robot.transforms import merge_fixed
from strategies import random_state, robots, seeds


def worst_error(found, expected):
    """Worst difference over the largest entry of the mass matrix or the matrix itself."""
    scale = np.max(np.abs(expected[2]), initial=0.0)
    return max(
        np.max(np.abs(a - b), initial=0.0) / max(np.max(np.abs(b), initial=0.0), scale, 1e-300)
        for a, b in zip(found, expected, strict=True)
    )


# About the origin of the base, where a light body far away is a difference of large numbers:
# worst of 1500 random trees 2e-14. One wrong sign gives 1e-2
@given(robots(max_joints=8), seeds())
def test_the_same_as_joint_by_joint(robot, seed):
    tree = merge_fixed(robot)
    n = len(tree.joints)
    q, qd, qdd = np.random.default_rng(seed).normal(size=(3, n))
    found = derivatives_at_once.inverse_derivatives(tree, q, qd, qdd)
    expected = derivatives.inverse_derivatives(tree, q, qd, qdd, {})
    assert worst_error(found, expected) < 1e-12
    for a, b in zip(found, expected, strict=True):  # other branches: zeros in the same places
        assert not np.any(a[np.all(np.stack(expected) == 0.0, axis=0)])
        assert a.shape == b.shape


@pytest.mark.parametrize("path", example_urdfs(), ids=example_id)
def test_the_same_as_joint_by_joint_on_examples(path):
    tree = merge_fixed(example_robot(path))
    if not tree.joints:
        pytest.skip("nothing to differentiate by")
    q, qd, qdd = np.random.default_rng(3).normal(size=(3, len(tree.joints)))
    found = derivatives_at_once.inverse_derivatives(tree, q, qd, qdd)
    expected = derivatives.inverse_derivatives(tree, q, qd, qdd, {})
    assert worst_error(found, expected) < 1e-12  # worst example 2e-15


def robot_called(name):
    return example_robot(next(path for path in example_urdfs() if path.stem == name))


# In one register, in two with a prismatic joint and branches, and with four equal branches
@pytest.mark.parametrize("name", ["xarm7", "tiago_no_hand", "solo12"])
def test_a_compiled_state_is_the_same_as_joint_by_joint(name):
    robot = robot_called(name)
    state = random_state(robot, seed=3)
    found = Dynamics(robot, cache=False).inverse_derivatives(*state)
    expected = derivatives.inverse_derivatives(merge_fixed(robot), *state, {})
    assert worst_error(found, expected) < 1e-9  # constants of the URDF are snapped to 1e-10


def test_small_arms_are_computed_joint_by_joint():
    program = Dynamics(robot_called("ur5_robot"), cache=False).program("inverse_derivatives")
    assert program.at_once is None


def test_only_robots_without_mimic_joints_are_computed_at_once():
    with_mimic = robot_called("panda")
    assert Dynamics(with_mimic, cache=False).program("inverse_derivatives").at_once is None
    without = with_mimic.with_locked({"panda_finger_joint1": 0.0})
    assert Dynamics(without, cache=False).program("inverse_derivatives").at_once is not None
