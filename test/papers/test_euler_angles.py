"""Euler angles of every convention compared with SciPy's, their second solution, singular cases."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from robot_dynamics.errors import ArgumentError, UnknownNameError
from robot_dynamics.papers.euler_angles import CONVENTIONS, ROLL_PITCH_YAW, euler_angles
from robot_dynamics.spatial import rotation_from_rpy

ROUND_OFF = 1e-11  # 1e-12 where an angle is taken as zero; a wrong sign gives 0.1


def matrix(angles, convention="ZXZ"):
    return Rotation.from_euler(convention, angles).as_matrix()


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_both_solutions_are_the_same_orientation_and_the_first_is_that_of_scipy(convention):
    for R in Rotation.random(20, random_state=3):
        found = euler_angles(R.as_matrix(), convention)
        assert found.first == pytest.approx(R.as_euler(convention), abs=ROUND_OFF)
        assert not found.singular
        for solution in found[:2]:
            assert matrix(solution, convention) == pytest.approx(R.as_matrix(), abs=ROUND_OFF)
        outer = (found.second - found.first)[::2]
        assert np.cos(outer) == pytest.approx([-1.0, -1.0])


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_with_both_axes_in_line_only_their_sum_or_difference_is_known(convention):
    outer_axes_same = convention[0] == convention[2]
    for middle in (0.0, np.pi) if outer_axes_same else (-np.pi / 2, np.pi / 2):
        R = matrix([0.3, middle, 0.5], convention)
        found = euler_angles(R, convention)
        assert found.singular
        assert found.first[0 if convention.islower() else 2] == 0.0
        for solution in found[:2]:
            assert matrix(solution, convention) == pytest.approx(R, abs=ROUND_OFF)


def test_there_are_twelve_conventions_of_moving_and_twelve_of_fixed_axes():
    assert len(set(CONVENTIONS)) == 24


def test_angles_return():
    assert euler_angles(matrix([0.3, 0.8, -1.1])).first == pytest.approx([0.3, 0.8, -1.1])
    assert euler_angles(matrix([0.3, 0.8, -1.1])).second == pytest.approx(
        [0.3 + np.pi, -0.8, -1.1 + np.pi]  # section 2.1.3
    )


def test_roll_pitch_and_yaw_are_those_of_urdf_and_in_reverse_order_those_of_the_book():
    R = rotation_from_rpy(np.array([0.3, -0.7, 1.2]))
    assert euler_angles(R, "xyz").first == pytest.approx([0.3, -0.7, 1.2])
    assert euler_angles(R, ROLL_PITCH_YAW).first == pytest.approx([1.2, -0.7, 0.3])


def test_no_rotation_and_no_convention_are_refused():
    with pytest.raises(ArgumentError, match="is no rotation matrix"):
        euler_angles(np.diag([1.0, 1.0, -1.0]))
    with pytest.raises(UnknownNameError, match="no convention 'ZZX' in Euler angles"):
        euler_angles(np.eye(3), "ZZX")
