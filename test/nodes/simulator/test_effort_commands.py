"""Effort commands to the simulator, of joints and of actuators."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from robot_dynamics import read_urdf
from robot_dynamics.control import Actuators
from robot_dynamics.errors import ArgumentError, RobotError, ShapeError
from robot_dynamics.nodes.ros.joint_values import ACTUATORS, Efforts, order_label
from robot_dynamics.nodes.runtime.drive_parameters import ActuatorParameters, actuators_of
from robot_dynamics.nodes.simulator.effort_commands import Commands
from robot_dynamics.robot import find_robot

PLANAR = find_robot("planar_2r")
ROBOT = read_urdf(PLANAR)
JOINTS = ROBOT.joint_names
TURNED = np.array([1, 0])  # joint_2 first

REMOTE = [1.0, 0.0, 1.0, 1.0]
"""Both motors on the base: p1 = q1, p2 = q1 + q2."""

GEARED = PLANAR.read_text().replace(
    "</robot>",
    """<transmission name="gear"><type>transmission_interface/SimpleTransmission</type>
    <joint name="joint_1"/><actuator name="motor_1"><mechanicalReduction>100</mechanicalReduction>
    </actuator></transmission>
    <transmission name="direct"><type>transmission_interface/SimpleTransmission</type>
    <joint name="joint_2"/><actuator name="motor_2"/></transmission></robot>""",
)


def test_efforts_end_up_in_the_order_of_the_robot():
    commands = Commands(ROBOT, TURNED)
    assert (commands.names, commands.at) == (JOINTS[::-1], None)
    commands.read(Efforts("", np.array([2.0, 1.0])), 5.0)
    assert (commands.tau.tolist(), commands.at) == ([1.0, 2.0], 5.0)


def test_efforts_must_be_one_finite_number_per_joint_or_nothing_changes():
    commands = Commands(ROBOT, TURNED)
    commands.read(Efforts("", np.array([2.0, 1.0])), 5.0)
    with pytest.raises(ShapeError, match=r"1 effort for 2 joints \(joint_2, joint_1\); "):
        commands.read(Efforts("", np.array([1.0])), 6.0)
    with pytest.raises(ArgumentError, match="effort of joint 'joint_1' is nan; the message is ign"):
        commands.read(Efforts("", np.array([1.0, np.nan])), 6.0)
    assert (commands.tau.tolist(), commands.at) == ([1.0, 2.0], 5.0)


def test_a_command_that_names_another_order_changes_nothing():
    commands = Commands(ROBOT, TURNED)
    commands.read(Efforts(order_label(JOINTS[::-1]), np.array([2.0, 1.0])), 5.0)
    with pytest.raises(ArgumentError) as error:
        commands.read(Efforts(order_label(JOINTS), np.array([3.0, 4.0])), 6.0)
    assert str(error.value) == (
        "effort_command: efforts are of joints: joint_1, joint_2, but simulator_node obeys joints: "
        "joint_2, joint_1; the message is ignored; set the parameters 'joints' and "
        "'actuator_space' alike on both sides"
    )
    with pytest.raises(ArgumentError, match="efforts are of actuators: joint_2, joint_1, but "):
        commands.read(Efforts(order_label(JOINTS[::-1], ACTUATORS), np.array([3.0, 4.0])), 6.0)
    assert (commands.tau.tolist(), commands.at) == ([1.0, 2.0], 5.0)


def test_commands_without_names_count_once_those_with_names_have_stopped():
    commands = Commands(ROBOT, TURNED)
    commands.read(Efforts(order_label(JOINTS[::-1]), np.array([2.0, 1.0])), 5.0)
    with pytest.raises(ArgumentError, match="a message without names comes between others"):
        commands.read(Efforts("", np.array([3.0, 4.0])), 5.9)
    commands.read(Efforts("", np.array([3.0, 4.0])), 6.0)
    assert (commands.tau.tolist(), commands.named) == ([4.0, 3.0], False)


@pytest.mark.parametrize("label", ["joints", "effort", "", "joints:"])
def test_a_label_of_another_program_names_no_joints(label):
    commands = Commands(ROBOT, TURNED)
    commands.read(Efforts(label, np.array([2.0, 1.0])), 5.0)
    assert (commands.tau.tolist(), commands.named) == ([1.0, 2.0], False)


def test_after_forgetting_there_is_no_command():
    commands = Commands(ROBOT, TURNED)
    commands.read(Efforts("", np.array([3.0, 4.0])), 6.0)
    commands.forget()
    assert (commands.tau.tolist(), commands.at) == ([0.0, 0.0], None)


# -- efforts of actuators --------------------------------------------------------------------------


def test_efforts_of_actuators_reach_the_joints_by_virtual_work():
    commands = Commands(ROBOT, np.arange(2), Actuators.of_coupling(JOINTS, REMOTE, ("a", "b")))
    assert commands.names == ("a", "b")
    commands.read(Efforts("", np.array([5.0, 2.0])), 1.0)
    assert commands.tau.tolist() == [7.0, 2.0]  # the second motor pushes off the base


def test_other_actuators_may_take_over():
    commands = Commands(ROBOT, np.arange(2))
    commands.use(Actuators.of_coupling(JOINTS, np.diag([2.0, 3.0]), ("a", "b")))
    assert commands.names == ("a", "b")
    commands.read(Efforts("", np.array([1.0, 1.0])), 1.0)
    assert commands.tau.tolist() == [2.0, 3.0]


def asked(**values):
    return ActuatorParameters(actuator_space=True, **values)


def test_actuators_are_those_of_the_urdf_unless_a_coupling_is_given():
    urdf = read_urdf(GEARED)
    assert actuators_of(ActuatorParameters(), urdf, JOINTS, GEARED) is None
    of_urdf = actuators_of(asked(), urdf, JOINTS[::-1], GEARED)
    assert of_urdf.names == ("motor_2", "motor_1")
    assert of_urdf.matrix.tolist() == [[1.0, 0.0], [0.0, 100.0]]
    given = actuators_of(asked(actuator_coupling=tuple(REMOTE)), urdf, JOINTS[::-1], GEARED)
    assert given.names == ("joint_2_actuator", "joint_1_actuator")
    assert given.matrix.ravel().tolist() == REMOTE


def test_a_robot_without_transmissions_has_no_actuators():
    with pytest.raises(RobotError) as error:
        actuators_of(asked(), ROBOT, JOINTS, PLANAR)
    assert str(error.value) == (
        "no <transmission> of robot 'planar_2r' drives joints 'joint_1', 'joint_2'; add one to "
        "the URDF, or give the coupling matrix"
    )


def test_a_coupling_without_actuator_space_is_refused():
    with pytest.raises(ArgumentError) as error:
        actuators_of(ActuatorParameters(actuator_coupling=tuple(REMOTE)), ROBOT, JOINTS, PLANAR)
    assert str(error.value) == (
        "parameter 'actuator_coupling' is given but 'actuator_space' is false; set it to true, or "
        "leave the coupling empty"
    )
