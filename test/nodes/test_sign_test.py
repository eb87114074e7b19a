"""robot-dynamics ros sign-test: the sign and the place of a joint, at a real simulated arm."""

import os
import re

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics.cli import main
from ros_system import wait_for

HANGING = [-np.pi / 2.0, 0.0]
"""An arm that hangs straight down rests without effort."""


@pytest.fixture
def sign_test(domain, monkeypatch, capsys):
    monkeypatch.setitem(os.environ, "ROS_DOMAIN_ID", str(domain))
    # Here a busy machine may keep states waiting for longer
    monkeypatch.setattr("robot_dynamics.nodes.ros.sign_test.STATES_TIMEOUT_S", 5.0)

    def call(*words, typed="", before=()):
        monkeypatch.setattr("builtins.input", lambda _: typed)
        status = main(["ros", *before, "sign-test", *map(str, words)])
        said = capsys.readouterr()
        return status, (said.err.strip() or said.out.strip()).splitlines()[-1]

    return call


@pytest.fixture
def arm(start, peer):
    def started(at=HANGING, **own):
        asked = {"urdf_path": "planar_2r", "rate": 200.0, "initial_positions": list(at), **own}
        process = start("simulator_node", asked)
        process.wait_for_log("simulating robot")
        heard = (
            peer.listen(JointState, "joint_states"),
            peer.listen(Float64MultiArray, "effort_command"),
        )
        for messages in heard:
            messages.clear()
        return heard

    return started


def test_a_right_joint_is_pushed_a_little_and_let_go(arm, sign_test):
    states, commands = arm()
    status, line = sign_test("planar_2r", "joint_2", "--yes")
    assert status == 0
    assert line.startswith("right: ") and "moved 'joint_2' by +0.01" in line
    wait_for(lambda: commands and list(commands[-1].data) == [0.0, 0.0], "no effort at the end")
    moved = np.array([state.position for state in states]) - HANGING
    assert np.abs(moved).max() < 0.1  # pushed by 0.01 rad, it then swings out


@pytest.fixture
def wired(peer):
    """An arm whose position follows the commands through a matrix: its wiring."""
    made = []

    def wire(matrix):
        q, velocity = np.zeros(2), np.zeros(2)
        states = peer.node.create_publisher(JointState, "joint_states", 10)

        def answer():
            q[:] += 0.02 * velocity  # quick, or a busy machine ends the push before it has moved
            msg = JointState(name=["joint_1", "joint_2"], position=q.tolist())
            msg.velocity = velocity.tolist()
            states.publish(msg)

        def obey(msg):
            velocity[:] = 0.1 * np.sign(np.array(matrix) @ np.array(msg.data))

        made.append(peer.node.create_subscription(Float64MultiArray, "effort_command", obey, 10))
        made.append(peer.node.create_timer(0.01, answer))

    yield wire
    subscription, timer = made
    peer.node.destroy_timer(timer)
    peer.node.destroy_subscription(subscription)


@pytest.mark.parametrize(
    ("matrix", "line"),
    [
        ([[1, 0], [0, -1]], r"WRONG SIGN: \+\S+ N m or N moved 'joint_2' by -0.\S*; correct the "
         "sign of its effort or its position before anything else"),
        ([[0, 1], [1, 0]], r"WRONG ORDER: the effort of 'joint_2' moved 'joint_1' by \+0.\S*; "
         "correct the parameter joints of the controller"),
    ],
)  # fmt: skip
def test_wrong_wiring_is_named(wired, sign_test, matrix, line):
    wired(matrix)
    status, found = sign_test("planar_2r", "joint_2", "--yes")
    assert status == 1
    assert re.fullmatch(f"robot-dynamics ros: {line}", found), found


@pytest.mark.parametrize(
    ("words", "typed", "refusal"),
    [
        (("joint_2", "--effort", "1e3"), "", "--effort is 1000; give at most"),
        (("joint_2", "--effort", "nan"), "", "--effort is nan; give at most"),
        (("elbow",), "", "no joint 'elbow' in robot 'planar_2r' (joints: joint_1, joint_2)"),
        (("joint_2",), "yes", "nothing was pushed"),
    ],
)
def test_what_is_not_small_or_not_meant_pushes_nothing(arm, sign_test, words, typed, refusal):
    _, commands = arm()
    status, line = sign_test("planar_2r", *words, typed=typed)
    assert status == 1
    assert line.startswith(f"robot-dynamics ros: {refusal}")
    assert not commands


def test_an_arm_that_moves_by_itself_is_not_pushed(arm, sign_test):
    arm(at=[0.0, 0.0])  # horizontal: it falls without effort
    status, line = sign_test("planar_2r", "joint_2", "--yes")
    assert status == 1
    assert "moves without effort; close its brake, or support the arm" in line


def test_commands_go_where_a_node_reads_them_and_elsewhere_only_if_told(
    start, peer, sign_test, namespace
):
    arguments, name = namespace
    inside = ["--namespace", name]
    hanging = {"urdf_path": "planar_2r", "rate": 200.0, "initial_positions": HANGING}
    remapped = ["-r", "effort_command:=forward_effort_controller/commands"]
    start("simulator_node", hanging, [*arguments, *remapped]).wait_for_log("simulating robot")
    status, line = sign_test("planar_2r", "joint_2", "--yes", before=inside)
    assert status == 0, line
    assert line.startswith("right: ")

    peer.listen(Float64MultiArray, f"{name}/effort_command")
    status, line = sign_test("planar_2r", "joint_2", "--yes", before=inside)
    assert (status, line) == (
        1,
        f"robot-dynamics ros: nodes subscribe to {name}/forward_effort_controller/commands and "
        f"{name}/effort_command; select one with --command-topic",
    )
    chosen = ["--command-topic", "forward_effort_controller/commands"]
    _, line = sign_test("planar_2r", "joint_2", *chosen, typed="no", before=inside)
    assert line == "robot-dynamics ros: nothing was pushed"
