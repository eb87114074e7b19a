"""Vectors, matrices, wrenches and inertias between a link and its parent."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot_dynamics.algorithms.change_of_frame import ChangeOfFrame
from robot_dynamics.compiler.graph.trace import operation_count, trace
from robot_dynamics.robot.kinematic_tree import Joint, JointType, joint_motion
from robot_dynamics.spatial import AxisRotation, Pose, skew, symmetric, turns_of
from strategies import random_axis, random_inertia, random_rotation, robots, seeds

# float64, entries of order one; worst of 2000 random cases 1e-15
ROUND_OFF = 1e-13


def product(turns):
    """Rotation matrix of turns about coordinate axes, written out."""
    R = np.eye(3)
    for turn in turns:
        i, j, k = turn.i, (turn.i + 1) % 3, (turn.i + 2) % 3
        one = np.zeros((3, 3))
        one[i, i], one[j, j], one[k, k] = 1.0, turn.c, turn.c
        one[j, k], one[k, j] = -turn.s, turn.s
        R = R @ one
    return R


def joint_with(R, axis, kind=JointType.REVOLUTE, p=(0.1, -0.2, 0.3)):
    return Joint("joint", kind, "parent", "child", Pose(R, p), axis)


@given(robots(max_joints=1, min_joints=1, fixed=False, mimic=False), seeds())
def test_everything_changes_axes_by_the_rotation_of_the_joint(robot, seed):
    rng = np.random.default_rng(seed)
    joint, q = robot.joints[0], rng.uniform(-3.0, 3.0)
    frame, (R, p) = ChangeOfFrame(joint, q), joint_motion(joint, q)
    v, f, B = rng.normal(size=3), rng.normal(size=3), rng.normal(size=(3, 3))
    assert np.max(np.abs(frame.p - p)) < ROUND_OFF
    assert np.max(np.abs(frame.axis - R @ joint.axis)) < ROUND_OFF
    assert np.max(np.abs(frame.vector_to_parent(v) - R @ v)) < ROUND_OFF
    assert np.max(np.abs(frame.vector_to_child(v) - R.T @ v)) < ROUND_OFF
    assert np.max(np.abs(frame.matrix_to_parent(B) - R @ B @ R.T)) < ROUND_OFF
    S = B + B.T
    assert np.max(np.abs(frame.symmetric_to_parent(S) - R @ S @ R.T)) < ROUND_OFF
    force, moment = frame.wrench_to_parent(f, v)
    assert np.max(np.abs(force - R @ f)) < ROUND_OFF
    assert np.max(np.abs(moment - (R @ v + skew(p) @ (R @ f)))) < ROUND_OFF


@given(robots(max_joints=1, min_joints=1, fixed=False, mimic=False), seeds())
def test_an_inertia_is_that_of_the_moved_body(robot, seed):
    rng = np.random.default_rng(seed)
    joint, q, body = robot.joints[0], rng.uniform(-3.0, 3.0), random_inertia(rng)
    found = ChangeOfFrame(joint, q).inertia_to_parent(body)
    expected = body.expressed_in(Pose(*joint_motion(joint, q)))
    assert found.mass == expected.mass
    assert np.max(np.abs(found.first_moment - expected.first_moment)) < ROUND_OFF
    assert np.max(np.abs(found.second_moment - expected.second_moment)) < 10 * ROUND_OFF  # ten kg


@given(seeds(), st.integers(0, 2))
def test_any_rotation_is_three_turns_about_coordinate_axes(seed, i):
    R = random_rotation(np.random.default_rng(seed))
    turns = turns_of(R, i)
    assert [turn.i for turn in turns] == [i, (i + 1) % 3, i]
    assert np.max(np.abs(product(turns) - R)) < ROUND_OFF


@pytest.mark.parametrize("tilt", [1e-3, 1e-8, 1e-10, 1e-13, 1e-16, 0.0])
@pytest.mark.parametrize("flipped", [False, True])
def test_a_tiny_tilt_costs_the_turns_no_digits(tilt, flipped):
    # URDFs round right angles to ten digits or so; the directions of such tilts are mostly
    # round-off, but the product of the turns must not be
    def about(i, angle):
        return product([AxisRotation(i, np.cos(angle), np.sin(angle))])

    R = about(2, 0.7) @ about(0, tilt + (np.pi if flipped else 0.0)) @ about(2, -1.1)
    assert np.max(np.abs(product(turns_of(R, 2)) - R)) < 1e-15


@pytest.mark.parametrize("i", [0, 1, 2])
def test_right_angles_are_exact_and_cost_nothing(i):
    for R in (R for R in _signed_permutations() if np.linalg.det(R) > 0):
        assert np.array_equal(product(turns_of(R, i)), R)
        joint = joint_with(R, np.eye(3)[i])

        def turned(q, v, B, joint=joint):
            frame = ChangeOfFrame(joint, q[0])
            return {"Rv": frame.vector_to_parent(v), "RBR": frame.matrix_to_parent(B)}

        count = operation_count(trace("turned", turned, {"q": (1,), "v": (3,), "B": (3, 3)}))
        # one turn: a vector, a deviator of two components, and two rows and columns
        assert (count.multiplications, count.sines_cosines) == (4 + 4 + 8, 2)


@given(seeds())
def test_small_entries_survive_a_right_angle_between_large_ones(seed):
    rng = np.random.default_rng(seed)
    axis = random_axis(rng, plain=True)
    R = [R for R in _signed_permutations() if np.linalg.det(R) > 0][rng.integers(24)]
    frame = ChangeOfFrame(joint_with(R, axis, JointType.PRISMATIC), 0.0)
    slender = np.diag([1.0, 1e-12, 1.0])
    assert np.array_equal(frame.matrix_to_parent(slender), R @ slender @ R.T)


def test_symmetric_takes_the_upper_triangle():
    B = np.arange(9.0).reshape(3, 3)
    assert np.array_equal(symmetric(B), [[0, 1, 2], [1, 4, 5], [2, 5, 8]])


def _signed_permutations():
    for order in ([0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]):
        for signs in range(8):
            diagonal = np.diag([(-1.0) ** (signs >> bit & 1) for bit in range(3)])
            yield diagonal @ np.eye(3)[order]
