"""Values by joint name where a person writes them."""

import numpy as np
import pytest

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.dynamics.joint_vectors import per_joint
from robot_dynamics.errors import ArgumentError, UnknownNameError
from robot_dynamics.robot import find_robot


@pytest.fixture(scope="module")
def arm():
    return Dynamics(read_urdf(find_robot("planar_2r")))


def test_a_vector_has_what_is_named_and_zero_elsewhere(arm):
    np.testing.assert_array_equal(arm.vector(joint_2=0.3), [0.0, 0.3])
    np.testing.assert_array_equal(arm.vector({"joint_1": 1}, joint_2=2), [1.0, 2.0])
    np.testing.assert_array_equal(arm.vector(), [0.0, 0.0])


def test_many_states_by_name(arm):
    q = arm.vector(joint_1=[1.0, 2.0, 3.0], joint_2=0.5)
    np.testing.assert_array_equal(q, [[1.0, 0.5], [2.0, 0.5], [3.0, 0.5]])
    assert arm.named(q)["joint_1"].tolist() == [1.0, 2.0, 3.0]


def test_a_robot_without_joints_has_an_empty_vector():
    body = Dynamics(read_urdf('<robot name="body"><link name="base"/></robot>'))
    assert body.vector().shape == (0,)
    assert body.named(body.vector()) == {}


def test_named_undoes_vector(arm):
    values = {"joint_1": 0.25, "joint_2": -1.5}
    assert arm.named(arm.vector(values)) == values


def parts(result):
    return result if isinstance(result, tuple) else (result,)


def test_every_method_takes_joints_by_name(arm):
    q, qd, qdd = {"joint_1": 0.4}, {"joint_2": -0.2}, {"joint_1": 1.0, "joint_2": 2.0}
    vectors = [arm.vector(each) for each in (q, qd, qdd)]
    for method, count in [
        ("inverse", 3),
        ("forward", 3),
        ("bias", 2),
        ("gravity", 1),
        ("mass_matrix", 1),
        ("energy", 2),
        ("inverse_derivatives", 3),
        ("forward_derivatives", 3),
        ("regressor", 3),
    ]:
        for _ in range(2):
            found = getattr(arm, method)(*(q, qd, qdd)[:count])
            expected = getattr(arm, method)(*vectors[:count])
            for mine, right in zip(parts(found), parts(expected), strict=True):
                np.testing.assert_array_equal(mine, right)
    found, expected = arm.pose(q, "endpoint"), arm.pose(vectors[0], "endpoint")
    np.testing.assert_array_equal(found.position, expected.position)


def test_columns_of_a_data_frame_are_taken_by_name(arm):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    q = pandas.DataFrame({"time": [0.0, 0.1], "joint_2": [1.0, 2.0], "joint_1": [3.0, 4.0]})
    zero = np.zeros((2, 2))
    expected = arm.inverse(np.array([[3.0, 1.0], [4.0, 2.0]]), zero, zero)
    np.testing.assert_array_equal(arm.inverse(q, zero, zero), expected)
    with pytest.raises(UnknownNameError, match=r"no column 'joint_1' in the data frame"):
        arm.inverse(q.drop(columns="joint_1"), zero, zero)


def test_mistakes_are_named(arm):
    with pytest.raises(UnknownNameError, match=r"no joint 'joint_3' in robot .*joint_1, joint_2"):
        arm.vector(joint_3=1.0)
    with pytest.raises(UnknownNameError, match="no joint 'elbow'"):
        arm.gravity({"elbow": 1.0})
    with pytest.raises(ArgumentError, match=r"^joint_1 must hold real numbers, got 'one'$"):
        arm.vector(joint_1="one")
    with pytest.raises(ArgumentError, match=r"different shapes: joint_1 \(2,\), joint_2 \(3,\)"):
        arm.vector(joint_1=[1, 2], joint_2=[1, 2, 3])
    with pytest.raises(ArgumentError, match=r"shape \(2,\) or \(N, 2\), got \(3,\)"):
        arm.named(np.zeros(3))


@pytest.mark.parametrize(
    ("values", "shown"),
    [("high", "'high'"), ([1.0, [2.0]], r"\[1.0, \[2.0\]\]"), ([None, 2.0], r"\[None, 2.0\]")],
)
def test_a_setting_of_joints_that_is_no_number_is_named(values, shown):
    with pytest.raises(ArgumentError, match=rf"^kp must hold real numbers, got {shown}$"):
        per_joint("kp", values, 2)


@pytest.mark.parametrize(
    ("values", "expected"), [(2, [2.0, 2.0]), ([3], [3.0, 3.0]), ([1, 0], [1, 0])]
)
def test_a_setting_is_one_number_for_all_joints_or_one_for_each(values, expected):
    found = per_joint("kp", values, 2)
    np.testing.assert_array_equal(found, expected)
    assert not found.flags.writeable
