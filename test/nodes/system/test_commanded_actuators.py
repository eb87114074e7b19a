"""controller_node and simulator_node together: commands of actuators."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from diagnostic_msgs.msg import DiagnosticArray
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.robot import find_robot
from ros_system import wait_for

RATE = 200.0
START = [0.3, 0.4]
COMMON = {"urdf_path": "planar_2r", "rate": RATE}
ROBOT = read_urdf(find_robot("planar_2r"))
GRAVITY = Dynamics(ROBOT).gravity(np.array(START))

REMOTE = {"actuator_space": True, "actuator_coupling": "[1.0, 0.0, 1.0, 1.0]"}
"""Both motors on the base: p1 = q1, p2 = q1 + q2, so f = (tau1 - tau2, tau2)."""

# Same kernels, same numbers, torques below 100 N m: round-off
EXACT = 1e-9


def values(reports, node, key):
    """Return the reported values of a node under one key."""
    return {
        entry.value
        for msg in list(reports)
        for status in msg.status
        if status.name == node.lstrip("/")
        for entry in status.values
        if entry.key == key
    }


def test_the_command_of_actuators_does_the_work_of_the_joints(start, peer, namespace):
    arguments, name = namespace
    plain = peer.listen(Float64MultiArray, f"{name}/effort_command")
    reports = peer.listen(DiagnosticArray, "/diagnostics")
    process = start("controller_node", {**COMMON, **REMOTE, "state_timeout": 10.0}, arguments)
    states = peer.publisher(JointState, f"{name}/joint_states")
    msg = JointState(name=list(ROBOT.joint_names), position=START, velocity=[0.0, 0.0])
    f = np.array([GRAVITY[0] - GRAVITY[1], GRAVITY[1]])

    def holds():
        msg.header.stamp = peer.node.get_clock().now().to_msg()
        states.publish(msg)
        return plain and np.abs(np.array(plain[-1].data) - f).max() < EXACT

    wait_for(holds, "gravity, at the motors")
    motors = ["joint_1_actuator", "joint_2_actuator"]
    line = "commands are efforts of actuators, in the order joint_1_actuator, joint_2_actuator"
    assert line in process.log
    node = f"{name}/controller_node"
    wait_for(lambda: values(reports, node, "order of effort_command"), "a report")
    assert values(reports, node, "order of effort_command") == {", ".join(motors)}


def test_an_arm_that_is_driven_by_its_motors_is_held_where_it_is(start, peer, namespace):
    arguments, name = namespace
    states = peer.listen(JointState, f"{name}/joint_states", 1000)
    start(
        "simulator_node",
        {**COMMON, **REMOTE, "initial_positions": str(START), "command_timeout": 5.0},
        arguments,
    )
    controller = start("controller_node", {**COMMON, **REMOTE}, arguments)
    controller.wait_for_log("holding")
    wait_for(lambda: states and np.abs(states[-1].effort).min() > 1.0, "a command that is obeyed")
    received = len(states)
    wait_for(lambda: len(states) > received + 100, "joint_states")
    path = np.array([state.position for state in states])
    # What is left is round-off, as without actuators: 0.1 rad and more if efforts were mixed up
    assert np.abs(path - START).max() < 1e-6


@pytest.mark.parametrize(
    ("parameters", "line"),
    [
        (
            {"actuator_space": True},
            "controller_node: no <transmission> of robot 'planar_2r' drives joints 'joint_1', "
            "'joint_2'; add one to the URDF, or give the coupling matrix",
        ),
        (
            {"actuator_space": True, "actuator_coupling": "[1.0, 2.0, 2.0, 4.0]"},
            "controller_node: the coordinates 'actuators' are singular everywhere: no joint motion "
            "changes",
        ),
        (
            {"actuator_coupling": "[1.0, 0.0, 0.0, 1.0]"},
            "controller_node: parameter 'actuator_coupling' is given but 'actuator_space' is "
            "false; set it to true, or leave the coupling empty",
        ),
    ],
)
def test_actuators_that_cannot_be_are_refused_at_the_start(start, parameters, line):
    process = start("controller_node", {**COMMON, **parameters})
    wait_for(lambda: not process.running, "the end")
    assert process.stop() == 1
    assert line in process.log
