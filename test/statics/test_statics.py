"""Statics and compliance, chapter 4 of the book."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot_dynamics import Dynamics
from robot_dynamics.compiler.graph.trace import trace
from robot_dynamics.errors import ArgumentError, ShapeError
from robot_dynamics.kinematics import frame_jacobian, mobility
from robot_dynamics.robot import find_robot, read_urdf
from robot_dynamics.spatial import Pose
from robot_dynamics.statics import (
    balancing_wrench,
    endpoint_compliance,
    endpoint_stiffness,
    force_ellipsoid,
    inertia_ellipsoid,
    joint_efforts,
    moved_wrench,
    principal_compliances,
    velocity_ellipsoid,
    wrench_transform,
)
from strategies import random_rotation, random_state, robots, seeds

ROUND_OFF = 1e-12


def planar(q_1, q_2, l_1=0.7, l_2=0.4):
    """(4-11)."""
    s, c, s_12, c_12 = np.sin(q_1), np.cos(q_1), np.sin(q_1 + q_2), np.cos(q_1 + q_2)
    return np.array([[-l_1 * s - l_2 * s_12, -l_2 * s_12], [l_1 * c + l_2 * c_12, l_2 * c_12]])


@given(robots(), seeds())
def test_virtual_work_of_efforts_and_wrench_is_the_same(robot, seed):
    q, dq, _ = random_state(robot, seed)
    J = frame_jacobian(robot, q, robot.links[-1].name)
    F = np.random.default_rng(seed).uniform(-10.0, 10.0, 6)
    work = F @ (J @ dq)
    assert joint_efforts(J, F) @ dq == pytest.approx(work, abs=1e-10)  # of sums of some 10^2 terms


def test_example_4_1_efforts_of_a_planar_arm():
    q_1, q_2, F = 0.3, 0.9, np.array([2.0, -3.0])
    x_2, y_2 = 0.4 * np.cos(q_1 + q_2), 0.4 * np.sin(q_1 + q_2)
    x, y = 0.7 * np.cos(q_1) + x_2, 0.7 * np.sin(q_1) + y_2
    expected = [x * F[1] - y * F[0], x_2 * F[1] - y_2 * F[0]]  # moments about both joints
    assert joint_efforts(planar(q_1, q_2), F) == pytest.approx(expected, abs=ROUND_OFF)


def test_the_wrench_that_balances_efforts_of_a_regular_arm_exists_and_is_unique():
    J, F = planar(0.3, 0.9), np.array([2.0, -3.0])
    found = balancing_wrench(J, joint_efforts(J, F))
    assert found.exists
    assert found.unique
    assert found.wrench == pytest.approx(F, abs=ROUND_OFF)


def test_a_stretched_arm_bears_a_force_along_itself():
    J = planar(0.3, 0.0)
    along = np.array([np.cos(0.3), np.sin(0.3)])
    found = balancing_wrench(J, joint_efforts(J, [1.0, 2.0]))
    assert found.exists
    assert not found.unique
    assert abs(found.borne[:, 0] @ along) == pytest.approx(1.0)
    assert not balancing_wrench(J, [1.0, -1.0]).exists


def test_efforts_that_only_move_a_redundant_arm_are_balanced_by_no_wrench():
    J = np.random.default_rng(1).uniform(-1.0, 1.0, (6, 7))
    idle = mobility(J).idle[:, 0]
    found = balancing_wrench(J, idle)
    assert not found.exists
    assert found.left_over == pytest.approx(idle, abs=1e-10)


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 8))
def test_range_and_null_spaces_of_jacobian_and_transpose_are_complements(seed, m, n):
    """Section 4.1.3: R(J) with N(J^T) fills the task space, N(J) with R(J^T) the joint space."""
    J = np.random.default_rng(seed).integers(-1, 2, (m, n)).astype(float)
    spaces = mobility(J)
    end_effector, joints = (
        np.hstack([spaces.moved, spaces.lost]),
        np.hstack([spaces.efforts, spaces.idle]),
    )
    assert end_effector.T @ end_effector == pytest.approx(np.eye(m), abs=ROUND_OFF)
    assert joints.T @ joints == pytest.approx(np.eye(n), abs=ROUND_OFF)


@given(st.integers(0, 10**6))
def test_a_moved_wrench_does_the_same_work(seed):
    """(4-15): on the velocity of A, which the transpose brings to B."""
    rng = np.random.default_rng(seed)
    X_AB = Pose(random_rotation(rng), rng.uniform(-1.0, 1.0, 3))
    F_B, v_A = rng.uniform(-1.0, 1.0, (2, 6))
    F_A = moved_wrench(X_AB, F_B)
    assert pytest.approx(wrench_transform(X_AB) @ F_B, abs=ROUND_OFF) == F_A
    v_B = X_AB.rotation.T @ (v_A[:3] + np.cross(v_A[3:], X_AB.translation))
    w_B = X_AB.rotation.T @ v_A[3:]
    assert F_A @ v_A == pytest.approx(F_B @ np.concatenate([v_B, w_B]), abs=ROUND_OFF)


def test_a_force_at_the_tip_of_a_tool_has_a_moment_at_the_sensor():
    X = Pose(np.eye(3), np.array([0.0, 0.0, 0.2]))
    assert moved_wrench(X, [5.0, 0, 0, 0, 0, 0]) == pytest.approx([5.0, 0, 0, 0, 1.0, 0])


def test_compliance_of_a_planar_arm_is_the_books():
    """(4-26), traced: at any numbers, with the entry [2, 1] as symmetry demands it."""
    names = {"q": (2,), "k": (2,)}
    program = trace("compliance", lambda q, k: endpoint_compliance(planar(*q), k), names)
    assert len(program.outputs["result"].entries) == 4
    q_1, q_2, k_1, k_2, l_1, l_2 = 0.3, 0.9, 50.0, 20.0, 0.7, 0.4
    s, c, s_12, c_12 = np.sin(q_1), np.cos(q_1), np.sin(q_1 + q_2), np.cos(q_1 + q_2)
    x, y = l_1 * c + l_2 * c_12, l_1 * s + l_2 * s_12
    mixed = -x * y / k_1 - l_2**2 * c_12 * s_12 / k_2
    book = [
        [y**2 / k_1 + l_2**2 * s_12**2 / k_2, mixed],
        [mixed, x**2 / k_1 + l_2**2 * c_12**2 / k_2],
    ]
    assert endpoint_compliance(planar(q_1, q_2), [k_1, k_2]) == pytest.approx(np.array(book))


def test_stiffness_undoes_compliance_and_is_infinite_along_a_stretched_arm():
    J, k = planar(0.3, 0.9), [50.0, 20.0]
    regular = endpoint_stiffness(J, k)
    assert regular.matrix @ endpoint_compliance(J, k) == pytest.approx(np.eye(2), abs=1e-10)
    assert regular.rigid.shape == (2, 0)
    stretched = endpoint_stiffness(planar(0.3, 0.0), k)
    assert abs(stretched.rigid[:, 0] @ [np.cos(0.3), np.sin(0.3)]) == pytest.approx(1.0)


def test_no_unit_force_deflects_more_than_the_principal_compliances():
    C = endpoint_compliance(planar(0.3, 0.9), [50.0, 20.0])
    (most, least), axes = principal_compliances(C)
    angles = np.linspace(0.0, 2.0 * np.pi, 1000)
    deflections = np.linalg.norm(C @ np.array([np.cos(angles), np.sin(angles)]), axis=0)
    assert least - ROUND_OFF <= deflections.min() <= deflections.max() <= most + ROUND_OFF
    assert axes.T @ C @ axes == pytest.approx(np.diag([most, least]), abs=ROUND_OFF)  # (4-34)


def test_the_force_ellipsoid_is_long_where_that_of_velocities_is_short():
    fast, strong = velocity_ellipsoid(planar(0.3, 0.9)), force_ellipsoid(planar(0.3, 0.9))
    assert fast.radii * strong.radii == pytest.approx([1.0, 1.0])
    stretched = force_ellipsoid(planar(0.3, 0.0))
    assert stretched.radii[1] == np.inf


def test_a_force_along_an_axis_of_the_inertia_ellipsoid_accelerates_along_it():
    robot = read_urdf(find_robot("ur5"))
    arm, q = Dynamics(robot), np.array([0.3, -1.0, 1.2, -0.4, 0.8, 0.2])
    J, M = arm.jacobian(q, "tool0")[:3], arm.mass_matrix(q)
    found = inertia_ellipsoid(J, M)
    for axis, radius in zip(found.axes.T, found.radii, strict=True):
        acceleration = J @ np.linalg.solve(M, joint_efforts(J, axis))
        assert acceleration == pytest.approx(radius**2 * axis, abs=1e-10)


def test_wrong_arguments_are_named():
    with pytest.raises(ShapeError, match=r"wrench must have shape \(2,\)"):
        joint_efforts(planar(0.3, 0.9), [1.0])
    with pytest.raises(ShapeError, match=r"tau must have shape \(2,\)"):
        balancing_wrench(planar(0.3, 0.9), [1.0, 2.0, 3.0])
    with pytest.raises(ArgumentError, match="stiffness must be positive"):
        endpoint_compliance(planar(0.3, 0.9), [1.0, 0.0])


TAKES_A_MATRIX = {
    "joint_efforts": lambda J: joint_efforts(J, np.zeros(6)),
    "balancing_wrench": lambda J: balancing_wrench(J, np.zeros(6)),
    "endpoint_compliance": lambda J: endpoint_compliance(J, np.ones(6)),
    "principal_compliances": principal_compliances,
    "velocity_ellipsoid": velocity_ellipsoid,
    "inertia_ellipsoid": lambda J: inertia_ellipsoid(J, np.eye(6)),
    "mobility": mobility,
}


@pytest.mark.parametrize("call", TAKES_A_MATRIX)
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.zeros(6), r"must be a matrix, got shape \(6,\)"),
        (np.zeros((0, 6)), r"must be a matrix, got shape \(0, 6\)"),
        (np.full((6, 6), np.nan), r"\[0\]\[0\] is nan; every entry must be finite"),
        ([[1.0, 2.0], [3.0]], "must be a matrix, got "),
        ([["x", "y"], ["z", "w"]], "must hold real numbers"),
    ],
)
def test_what_is_no_matrix_is_refused(call, value, message):
    with pytest.raises(ArgumentError, match=message):
        TAKES_A_MATRIX[call](value)


def test_a_compliance_that_is_not_symmetric_is_refused():
    with pytest.raises(ArgumentError, match="C must be symmetric, as a compliance is"):
        principal_compliances([[1.0, 2.0], [0.0, 1.0]])
