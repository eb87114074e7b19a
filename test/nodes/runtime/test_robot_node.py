"""What all nodes share: the joints that move, and where the robot comes from."""

import numpy as np
import pytest

rclpy = pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from robot_dynamics.errors import ArgumentError, UnknownNameError  # noqa: E402
from robot_dynamics.nodes.runtime.robot_description import moved  # noqa: E402
from robot_dynamics.robot import read_urdf  # noqa: E402

THREE = """<robot name="three"><link name="base"/>{links}</robot>"""
LINK = """
<link name="{child}"><inertial><mass value="1"/><origin xyz="0.1 0 0"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>
<axis xyz="0 1 0"/><limit lower="{lower}" upper="2" effort="10" velocity="1"/></joint>"""


@pytest.fixture
def robot():
    chain = [("a", "base", "1", -2), ("b", "1", "2", -2), ("c", "2", "3", 1)]
    links = "".join(
        LINK.format(name=name, parent=parent, child=child, lower=lower)
        for name, parent, child, lower in chain
    )
    return read_urdf(THREE.format(links=links))


def test_all_joints_move_by_default(robot):
    same, order = moved(robot, ())
    assert same.joint_names == ("a", "b", "c")
    np.testing.assert_array_equal(order, [0, 1, 2])


def test_the_order_of_the_parameter_is_kept_beside_that_of_the_robot(robot):
    same, order = moved(robot, ("c", "a", "b"))
    assert same.joint_names == ("a", "b", "c")
    np.testing.assert_array_equal(order, [2, 0, 1])


def test_joints_that_are_not_named_are_locked_in_the_middle_of_their_range(robot):
    arm, order = moved(robot, ("b", "a"))
    assert arm.joint_names == ("a", "b")
    np.testing.assert_array_equal(order, [1, 0])
    expected = robot.with_locked({"c": 1.5})
    for link, same in zip(arm.links, expected.links, strict=True):
        np.testing.assert_array_equal(link.inertia.first_moment, same.inertia.first_moment)
    np.testing.assert_array_equal(
        arm.joint("c").origin.rotation, expected.joint("c").origin.rotation
    )


def test_a_joint_that_the_robot_lacks_is_named_with_those_that_it_has(robot):
    with pytest.raises(
        UnknownNameError, match=r"no joint 'd' in robot 'three' \(joints: a, b, c\)"
    ):
        moved(robot, ("a", "d"))


def test_a_joint_named_twice_is_refused(robot):
    with pytest.raises(ArgumentError, match="parameter 'joints': 'a' stands twice; name it once"):
        moved(robot, ("a", "a"))


def test_a_robot_without_moving_joints_is_refused_in_one_line():
    robot = read_urdf('<robot name="table"><link name="top"/></robot>')
    with pytest.raises(ArgumentError, match="robot 'table' has no joint that moves"):
        moved(robot, ())
