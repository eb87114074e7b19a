"""Common parts of all nodes: moving joints and the source of the robot."""

import threading
from dataclasses import dataclass

import numpy as np
import pytest

rclpy = pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from rcl_interfaces.srv import SetParameters  # noqa: E402
from rclpy.duration import Duration  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from std_msgs.msg import String  # noqa: E402

from robot_dynamics.errors import ArgumentError, UnknownNameError  # noqa: E402
from robot_dynamics.nodes.ros.node_parameters import parameter  # noqa: E402
from robot_dynamics.nodes.ros.topics import DESCRIPTION_QOS  # noqa: E402
from robot_dynamics.nodes.runtime.process import Process  # noqa: E402
from robot_dynamics.nodes.runtime.robot_description import (  # noqa: E402
    RobotParameters,
    moved,
)
from robot_dynamics.nodes.runtime.robot_node import RobotNode  # noqa: E402
from robot_dynamics.robot import find_robot, read_urdf  # noqa: E402
from ros_system import PATIENCE, wait_for  # noqa: E402

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


LIGHT = find_robot("planar_2r").read_text()
HEAVY = LIGHT.replace('mass value="8"', 'mass value="12"')


def mass_of(robot):
    return sum(link.inertia.mass for link in robot.links)


@dataclass(frozen=True)
class Parameters(RobotParameters):
    gain: float = parameter(1.0, "A gain, 1")


class Slow(RobotNode[Parameters]):
    """Takes its time to be configured, as one that compiles equations."""

    NAME = "slow_node"
    PARAMETERS = Parameters

    def __init__(self, **options):
        super().__init__(**options)
        self.begun, self.go_on = threading.Event(), threading.Event()
        self.masses, self.gains = [], []

    def configure(self):
        super().configure()
        gain = self.parameters.gain
        self.begun.set()
        wait_for(self.go_on.is_set, "what comes meanwhile")
        self.masses.append(mass_of(self.robot))
        self.gains.append(gain)

    def update_robot(self, robot):
        self.masses.append(mass_of(robot))

    def changed(self, value):
        self.gains.append(value.gain)


@pytest.fixture
def slow(context):
    """A node that is being configured, in the thread of `Process.start`."""
    node = Slow(context=context)
    with Process([node], context) as process:
        thread = threading.Thread(target=process.start)
        thread.start()
        yield node
        node.go_on.set()
        thread.join()


def test_what_comes_while_a_node_is_configured_is_taken_up_after_it(peer, slow):
    publisher = peer.node.create_publisher(String, "robot_description", DESCRIPTION_QOS)
    client = peer.node.create_client(SetParameters, "slow_node/set_parameters")
    assert client.wait_for_service(PATIENCE)
    publisher.publish(String(data=LIGHT))
    wait_for(slow.begun.is_set, "the first robot")
    gain = Parameter("gain", value=2.0).to_parameter_msg()
    asked = client.call_async(SetParameters.Request(parameters=[gain]))
    publisher.publish(String(data=HEAVY))
    assert publisher.wait_for_all_acked(Duration(seconds=PATIENCE))
    assert not asked.done()
    slow.go_on.set()
    wait_for(lambda: len(slow.masses) == 2, "the second robot")
    assert slow.masses == [18.0, 22.0]
    assert mass_of(slow.robot) == 22.0
    wait_for(asked.done, "the parameter")
    assert slow.gains == [1.0, 2.0]
