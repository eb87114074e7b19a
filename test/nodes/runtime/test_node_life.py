"""One node at a time: how it starts, what it makes of odd messages, how it ends."""

import signal

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.nodes.ros.topics import DESCRIPTION_QOS
from robot_dynamics.robot import find_robot
from ros_system import wait_for

ROBOT = {"urdf_path": "planar_2r", "rate": 100.0}
FINGERS = """<robot name="gripper"><link name="palm"/>
<link name="left"><inertial><mass value="0.1"/>
<inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="right"><inertial><mass value="0.1"/>
<inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="opening" type="prismatic"><parent link="palm"/><child link="left"/><axis xyz="0 1 0"/>
<limit lower="0" upper="0.04" effort="20" velocity="0.2"/></joint>
<joint name="follower" type="prismatic"><parent link="palm"/><child link="right"/>
<axis xyz="0 1 0"/><mimic joint="opening" multiplier="-2" offset="0.01"/>
<limit lower="-0.1" upper="0.1" effort="20" velocity="0.2"/></joint></robot>"""


def until_log(process, text, send):
    """Send until the log has the text: what is sent before both sides know each other is lost."""

    def logged():
        send()
        return text in process.log or not process.running

    wait_for(logged, f"'{text}' from {process.name}")
    assert text in process.log, process.log


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    ("node", "ready"),
    [
        ("simulator_node", "held until the first effort_command"),
        ("feedforward_node", "feedforward of robot 'planar_2r'"),
        ("trajectory_node", None),
    ],
)
def test_a_signal_ends_a_node_without_a_traceback(start, node, ready, how):
    process = start(node, {**ROBOT, "wait": True})
    process.wait_for_log(ready or "motion 'excitation'")
    for _ in range(100):  # a second signal comes while the first one is handled
        process.send(how)
    assert process.stop(how) == 0, process.log
    assert "Traceback" not in process.log


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--params-file", "none.yaml"], "correct --ros-args or the parameter file"),
        (["-r", "joint_states:=a b"], "correct --ros-args or the parameter file"),
    ],
)
@pytest.mark.parametrize("node", ["simulator_node", "composed_nodes"])
def test_wrong_ros_arguments_are_one_line_and_no_traceback(start, node, arguments, line):
    process = start(node, ROBOT, arguments)
    wait_for(lambda: not process.running, "the end")
    assert process.stop() == 1
    assert line in process.log
    assert "Traceback" not in process.log


def test_a_node_without_a_robot_waits_for_it_and_says_so(start, peer, namespace):
    arguments, name = namespace
    process = start("feedforward_node", {"rate": 100.0}, arguments)
    process.wait_for_log(
        f"waiting for a robot on topic {name}/robot_description; publish one, or "
        "set the parameter urdf_path or robot_description"
    )
    publisher = peer.publisher(String, f"{name}/robot_description", DESCRIPTION_QOS)
    publisher.publish(String(data="<robot name='broken'>"))
    process.wait_for_log("not XML")
    publisher.publish(String(data=find_robot("planar_2r").read_text()))
    process.wait_for_log("feedforward of robot 'planar_2r'")
    assert process.stop() == 0


def test_a_description_that_was_published_before_the_node_started_is_received(
    start, peer, namespace
):
    arguments, name = namespace
    node = peer.node
    publisher = node.create_publisher(String, f"{name}/robot_description", DESCRIPTION_QOS)
    publisher.publish(String(data=find_robot("planar_2r").read_text()))
    process = start("feedforward_node", {"rate": 100.0}, arguments)
    process.wait_for_log("feedforward of robot 'planar_2r'")


@pytest.mark.parametrize(
    ("parameters", "line"),
    [
        (
            {"urdf_path": "planar_3r"},
            "no robot 'planar_3r', and no such file; did you mean 'planar_2r'?",
        ),
        (
            {"urdf_path": "planar_2r", "rate": -5.0},
            "parameter 'rate' is -5.0; give a finite number from 1 to 10000",
        ),
        (
            {"urdf_path": "planar_2r", "joints": "[joint_3]"},
            "no joint 'joint_3' in robot 'planar_2r' (joints: joint_1, joint_2); did you mean",
        ),
    ],
)
def test_a_node_that_cannot_start_says_why_in_one_line(start, parameters, line):
    process = start("controller_node", parameters)
    wait_for(lambda: not process.running, "the end")
    assert process.stop() == 1
    assert line in process.log
    assert len(process.log.strip().splitlines()) == 1


def test_the_simulated_robot_is_held_until_it_is_commanded_and_when_commands_stop(
    start, peer, namespace
):
    arguments, name = namespace
    states = peer.listen(JointState, f"{name}/joint_states", qos_profile_sensor_data)
    process = start(
        "simulator_node",
        {**ROBOT, "initial_positions": "[0.5, 0.1]", "command_timeout": 0.3},
        arguments,
    )
    wait_for(lambda: len(states) > 50, "joint_states")
    assert {tuple(msg.position) for msg in states} == {(0.5, 0.1)}
    command = peer.publisher(Float64MultiArray, f"{name}/effort_command")
    wait_for(
        lambda: command.publish(Float64MultiArray(data=[0.0, 0.0])) or states[-1].velocity[0] < 0.0,
        "motion",
    )
    process.wait_for_log("no effort_command for 0.3 s; holding the joints until one arrives")
    wait_for(lambda: states[-1].velocity[0] == 0.0, "rest")
    assert states[-1].position[0] < 0.5 - 1e-3  # it fell for a while, under gravity alone


@pytest.mark.parametrize(
    ("data", "line"),
    [
        ([1.0, float("nan")], "effort_command: effort of joint 'joint_2' is nan; the message is"),
        (
            [1.0],
            "effort_command: 1 effort for 2 joints (joint_1, joint_2); the message is ignored",
        ),
    ],
)
def test_a_faulty_command_is_ignored_with_one_line(start, peer, data, line, namespace):
    arguments, name = namespace
    process = start("simulator_node", ROBOT, arguments)
    command = peer.publisher(Float64MultiArray, f"{name}/effort_command")
    until_log(process, line, lambda: command.publish(Float64MultiArray(data=data)))
    for _ in range(5):
        command.publish(Float64MultiArray(data=data))
    assert process.stop() == 0
    assert process.log.count(line) == 1


def test_followers_of_mimic_joints_are_published_where_they_are(start, peer, namespace):
    arguments, name = namespace
    states = peer.listen(JointState, f"{name}/joint_states", qos_profile_sensor_data)
    start(
        "simulator_node",
        {
            "robot_description": FINGERS.replace("\n", " "),
            "rate": 100.0,
            "initial_positions": "[0.03]",
        },
        arguments,
    )
    wait_for(lambda: states, "joint_states")
    assert list(states[0].name) == ["opening", "follower"]
    np.testing.assert_allclose(states[0].position, [0.03, -2 * 0.03 + 0.01])


def test_commands_stand_in_the_order_of_the_parameter_joints_and_states_come_in_parts(
    start, peer, namespace
):
    arguments, name = namespace
    # Joints reversed in the command, states apart, in best effort as some hardware sends them
    process = start("controller_node", {**ROBOT, "joints": "[joint_2, joint_1]"}, arguments)
    commands = peer.listen(Float64MultiArray, f"{name}/effort_command")
    publisher = peer.publisher(JointState, f"{name}/joint_states", qos_profile_sensor_data)
    q = {"joint_1": 0.3, "joint_2": 0.4}
    gravity = Dynamics(read_urdf(find_robot("planar_2r"))).gravity(np.array(list(q.values())))

    def send_parts():
        for name in ("joint_2", "joint_1"):
            publisher.publish(
                JointState(name=["wheel", name], position=[9.0, q[name]], velocity=[9.0, 0.0])
            )
        return commands

    wait_for(send_parts, "a command")
    wait_for(lambda: send_parts() and abs(commands[-1].data[0] - gravity[1]) < 1e-6, "gravity")
    # Held where it is measured: gravity and nothing else, exactly
    np.testing.assert_allclose(commands[-1].data, gravity[::-1], atol=1e-9)
    assert process.running


def test_a_state_that_is_not_a_number_is_ignored_with_one_line(start, peer, namespace):
    arguments, name = namespace
    process = start("controller_node", ROBOT, arguments)
    publisher = peer.publisher(JointState, f"{name}/joint_states")
    msg = JointState(name=["joint_1", "joint_2"], position=[0.0, float("nan")], velocity=[0.0, 0.0])
    line = "joint_states: position of joint 'joint_2' is nan; the message is ignored"
    until_log(process, line, lambda: publisher.publish(msg))
    for _ in range(5):
        publisher.publish(msg)
    assert process.stop() == 0
    assert process.log.count(line) == 1


def test_joints_that_no_message_names_are_asked_for(start, peer, namespace):
    arguments, name = namespace
    process = start("feedforward_node", ROBOT, arguments)
    publisher = peer.publisher(JointState, f"{name}/joint_states")
    msg = JointState(name=["joint_1"], position=[0.0], velocity=[0.0])
    until_log(
        process,
        f"waiting for joint_2 on {name}/joint_states; if the robot lacks them, list its "
        "joints in the parameter joints",
        lambda: publisher.publish(msg),
    )


def test_a_motion_from_a_file_is_sent_to_a_late_subscriber(start, peer, tmp_path, namespace):
    arguments, name = namespace
    motion = tmp_path / "motion.yaml"
    motion.write_text(
        "joint_names: [joint_2]\npoints:\n- {time_from_start: 1.5, positions: [0.25]}\n"
    )
    start(
        "trajectory_node",
        {**ROBOT, "motion": "file", "file": str(motion), "approach": 0.5, "acknowledged": False},
        arguments,
    )
    received = peer.listen(JointTrajectory, f"{name}/joint_trajectory")
    wait_for(lambda: received, "the trajectory")
    (point,) = received[0].points
    assert list(received[0].joint_names) == ["joint_2"]
    assert list(point.positions) == [0.25]
    assert (point.time_from_start.sec, point.time_from_start.nanosec) == (2, 0)
