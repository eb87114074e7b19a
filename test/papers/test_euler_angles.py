"""Euler angles compared with SciPy's, their second solution, and the singular case."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from robot_dynamics.errors import ArgumentError
from robot_dynamics.papers.euler_angles import euler_angles

angles = st.floats(-3.0, 3.0)


def matrix(phi, theta, psi):
    """SciPy's rotation about the turned axes z, x, z."""
    return Rotation.from_euler("ZXZ", [phi, theta, psi]).as_matrix()


@given(angles, angles, angles)
def test_both_solutions_are_the_same_orientation(phi, theta, psi):
    R = matrix(phi, theta, psi)
    found = euler_angles(R)
    for solution in (found.first, found.second):
        assert matrix(*solution) == pytest.approx(R, abs=1e-11)  # 1e-12 where psi is taken as zero


def test_angles_return():
    assert euler_angles(matrix(0.3, 0.8, -1.1)).first == pytest.approx([0.3, 0.8, -1.1])
    assert not euler_angles(matrix(0.3, 0.8, -1.1)).singular


@pytest.mark.parametrize(("theta", "sign"), [(0.0, 1.0), (np.pi, -1.0)])
def test_with_both_axes_in_line_only_their_sum_or_difference_is_known(theta, sign):
    found = euler_angles(matrix(0.3, theta, 0.5))
    assert found.singular
    assert found.first == pytest.approx([0.3 + sign * 0.5, theta, 0.0], abs=1e-12)


def test_what_is_no_rotation_is_refused():
    with pytest.raises(ArgumentError, match="is no rotation matrix"):
        euler_angles(np.diag([1.0, 1.0, -1.0]))
