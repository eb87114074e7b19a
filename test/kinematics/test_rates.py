"""Instantaneous kinematics, chapter 3 of the book."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot_dynamics.errors import ArgumentError, ShapeError, UnknownNameError
from robot_dynamics.kinematics import (
    mobility,
    resolved_rates,
    selected_rows,
    weighted_inverse,
)

ROUND_OFF = 1e-9  # of a pseudo-inverse; the matrices below have condition 1e3 at most


def matrix(seed, m, n, rank=None):
    rng = np.random.default_rng(seed)
    J = rng.uniform(-1.0, 1.0, (m, n))
    U, values, V = np.linalg.svd(J, full_matrices=False)
    values = np.maximum(values, 1e-2)
    values[len(values) if rank is None else rank :] = 0.0
    return (U * values) @ V


def planar(q_1, q_2):
    """Example 3-2: both links of length 1, (3-34)."""
    s, c, s_12, c_12 = np.sin(q_1), np.cos(q_1), np.sin(q_1 + q_2), np.cos(q_1 + q_2)
    return np.array([[-s - s_12, -s_12], [c + c_12, c_12]])


def test_example_3_2_joint_velocities_of_an_endpoint_velocity():
    q_1, q_2, (v_x, v_y) = 0.4, 1.1, (0.3, -0.7)
    c, s, c_12, s_12 = np.cos(q_1), np.sin(q_1), np.cos(q_1 + q_2), np.sin(q_1 + q_2)
    expected = [
        (v_x * c_12 + v_y * s_12) / np.sin(q_2),  # (3-35)
        -(v_x * (c + c_12) + v_y * (s + s_12)) / np.sin(q_2),  # (3-36)
    ]
    assert resolved_rates(planar(q_1, q_2), [v_x, v_y]) == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("q_2", [0.0, np.pi])
def test_example_3_2_at_singularities_motion_along_the_arm_is_lost(q_2):
    found = mobility(planar(0.4, q_2))
    assert found.rank == 1
    assert abs(found.lost[:, 0] @ [np.cos(0.4), np.sin(0.4)]) == pytest.approx(1.0)
    assert found.manipulability == 0.0
    assert found.condition == np.inf


def test_example_3_2_manipulability_is_the_determinant():
    assert mobility(planar(0.4, 1.1)).manipulability == pytest.approx(np.sin(1.1))  # (3-37)
    assert mobility(planar(0.4, -1.1)).determinant == pytest.approx(-np.sin(1.1))
    assert mobility(planar(0.4, 1.1)[:1]).determinant is None


def test_example_3_2_tracking_near_a_singular_point_takes_large_velocities():
    """As figure 3-8 shows: the nearer to the stretched arm, the faster both joints."""
    along = [np.abs(resolved_rates(planar(0.0, q_2), [1.0, 0.0])).max() for q_2 in (1.0, 0.1, 0.01)]
    assert along[0] < along[1] < along[2]
    assert along[2] > 100.0


sizes = st.tuples(st.integers(1, 6), st.integers(1, 8), st.integers(1, 6), st.integers(0, 10**6))


@given(sizes)
def test_dimensions_of_range_and_null_spaces_add_up(size):
    m, n, rank, seed = size
    J = matrix(seed, m, n, min(rank, m, n))
    found = mobility(J)
    assert found.rank == min(rank, m, n)
    assert found.moved.shape[1] + found.idle.shape[1] == n  # (3-41)
    assert found.efforts.shape[1] + found.lost.shape[1] == m  # of the transpose
    assert np.abs(J @ found.idle).max(initial=0.0) < ROUND_OFF
    assert np.abs(J.T @ found.lost).max(initial=0.0) < ROUND_OFF


@given(st.integers(0, 10**6))
def test_weighted_inverse_is_the_books_and_costs_least(seed):
    J, rng = matrix(seed, 3, 5), np.random.default_rng(seed)
    W = np.diag(rng.uniform(0.5, 2.0, 5)) + 0.1
    V = np.linalg.inv(W)
    book = V @ J.T @ np.linalg.inv(J @ V @ J.T)  # (3-49)
    assert np.abs(weighted_inverse(J, W) - book).max() < ROUND_OFF * np.abs(book).max()
    v = rng.uniform(-1.0, 1.0, 3)
    qd = resolved_rates(J, v, weights=W)
    other = resolved_rates(J, v, weights=W, preferred=rng.uniform(-1.0, 1.0, 5))
    assert J @ qd == pytest.approx(v, abs=1e-9)
    assert J @ other == pytest.approx(v, abs=1e-9)  # (3-42)
    assert qd @ W @ qd <= other @ W @ other + 1e-12


def test_damping_bounds_velocities_at_a_singularity():
    J = planar(0.3, 1e-6)
    v = [np.cos(0.3), np.sin(0.3)]  # along the arm
    assert np.abs(resolved_rates(J, v)).max() > 1e5
    assert np.abs(resolved_rates(J, v, damping=0.05)).max() < 0.5 / 0.05  # at most v / (2 damping)


def test_the_inverse_of_a_singular_jacobian_makes_the_nearest_velocity():
    J = planar(0.3, 0.0)
    across, along = np.array([-np.sin(0.3), np.cos(0.3)]), np.array([np.cos(0.3), np.sin(0.3)])
    qd = resolved_rates(J, across + along)
    assert J @ qd == pytest.approx(across, abs=1e-12)


def test_wrong_arguments_are_named():
    with pytest.raises(ShapeError, match=r"velocity must have shape \(2,\)"):
        resolved_rates(planar(0.3, 1.0), [1.0])
    with pytest.raises(ArgumentError, match="J must be a matrix"):
        mobility([1.0, 2.0])
    with pytest.raises(ArgumentError, match="weights must be positive"):
        weighted_inverse(planar(0.3, 1.0), [1.0, -1.0])
    with pytest.raises(ArgumentError, match="damping must be a number from 0 on"):
        weighted_inverse(planar(0.3, 1.0), damping=-1.0)
    with pytest.raises(UnknownNameError, match="no direction 'roll' in a selection"):
        selected_rows(["x", "roll"])
