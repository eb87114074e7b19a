"""robot-dynamics ros: what `ros2` would be typed for, at real nodes."""

import os
import re

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from rcl_interfaces.msg import SetParametersResult

from arm_system import BANDWIDTH, PATIENT
from robot_dynamics.cli import main
from robot_dynamics.cli.verbs.ros import goal_of, relative_goal
from robot_dynamics.control import Status
from robot_dynamics.nodes.composition import composed
from robot_dynamics.trajectory import Follower
from ros_system import wait_for


@pytest.fixture(scope="module")
def nodes(domain):
    own = {
        "trajectory_node": {"wait": True},
        "controller_node": {**PATIENT, "bandwidth": BANDWIDTH},
    }
    with composed("planar_2r", rate=200.0, domain=domain, **own) as nodes:
        controller = nodes.controller
        wait_for(lambda: controller.controller.status is Status.TRACKING, "tracking")
        yield nodes


@pytest.fixture
def ros(domain, monkeypatch, capsys):
    """The verb in the domain of the nodes: its exit status and what it prints."""
    monkeypatch.setitem(os.environ, "ROS_DOMAIN_ID", str(domain))

    def call(*words):
        status = main(["ros", *words])
        said = capsys.readouterr()
        return status, said.out.strip() or said.err.strip()

    return call


def test_goal_moves_the_arm(nodes, ros):
    assert ros("move", "joint_1=0.3,joint_2=-0.2", "--time", "1") == (
        0,
        "accepted by feedforward_node: joint_1, joint_2, 1 s",
    )
    wait_for(lambda: np.allclose(nodes.simulator.plant.q, [0.3, -0.2], atol=2e-2), "the goal")


def test_a_relative_goal_starts_where_the_joints_are(nodes, ros):
    before = nodes.simulator.plant.q.copy()
    assert ros("move", "joint_2=0.1", "--relative", "--time", "1") == (
        0,
        "accepted by feedforward_node: joint_2, 1 s",
    )
    wait_for(lambda: np.allclose(nodes.simulator.plant.q, before + [0, 0.1], atol=2e-2), "the goal")


@pytest.mark.parametrize("change", [0.1, -3.0, 20.0])
def test_a_relative_goal_goes_beyond_a_turn_and_rests_at_its_end(change):
    spin = Follower(("spin",), [3.0], continuous=[True])
    goal = relative_goal(goal_of(f"spin={change}", 5.0), np.array([3.0]))
    motion = spin.accept(goal, 0.0)
    assert goal.duration == 5.0
    assert motion.sample(motion.end).q[0] == pytest.approx(3.0 + change)
    assert abs(motion.sample(motion.end).qd[0]) < 1e-9
    # The polynomial of least jerk is 1.875 times as fast as its mean; samples of it come close
    speed = np.abs(motion.sample(np.linspace(0.0, 5.0, 200)).qd).max()
    assert speed == pytest.approx(1.875 * abs(change) / 5.0, rel=0.05)


def test_echo_prints_efforts_by_joint(nodes, ros):
    status, text = ros("echo", "external_effort", "--count", "1")
    assert status == 0
    assert [line.split()[:2] for line in text.splitlines()[:2]] == [
        ["joint_1", "effort"],
        ["joint_2", "effort"],
    ]


def test_mode_and_parameters_are_set_and_read(nodes, ros):
    assert ros("mode", "pd_gravity") == (0, "accepted by controller_node: mode pd_gravity")
    assert ros("get", "controller_node", "mode") == (0, "pd_gravity")
    assert ros("mode", "feedforward")[0] == 0
    assert ros("set", "simulator_node", "mass_factor", "1.1") == (0, "")
    assert nodes.simulator.parameters.mass_factor == 1.1
    assert ros("set", "simulator_node", "mass_factor", "1.0") == (0, "")


def test_payload_reaches_the_controller(nodes, ros):
    assert ros("payload", "1.2", "--com", "0,0,0.05") == (
        0,
        "accepted by controller_node, feedforward_node",
    )
    assert nodes.controller.arm.load.payload.target[0] == 1.2


def test_a_payload_that_one_node_refuses_is_set_in_no_node(nodes, ros):
    ros("payload", "1.2", "--com", "0,0,0.05")
    status, line = ros("payload", "2.0", "--frame", "nowhere")
    assert status == 1
    assert line.startswith("robot-dynamics ros: refused by controller_node: no frame 'nowhere'")
    refused = add_refusal(nodes.feedforward)  # after the controller has accepted
    assert ros("payload", "2.0") == (
        1,
        "robot-dynamics ros: refused by feedforward_node: no more than 1.2 kg",
    )
    nodes.feedforward.remove_on_set_parameters_callback(refused)
    for node in (nodes.controller, nodes.feedforward):
        assert node.arm.payload.value.mass == 1.2


def add_refusal(node):
    """Have a node refuse any payload of more than 1.2 kg."""

    def check(changes):
        heavy = any(item.name == "payload.mass" and item.value > 1.2 for item in changes)
        return SetParametersResult(successful=not heavy, reason="no more than 1.2 kg")

    node.add_on_set_parameters_callback(check)
    return check


def test_every_refusal_of_a_motion_reaches_who_sent_it(nodes, ros):
    for _ in range(2):  # the log would not repeat it
        status, line = ros("move", "elbow=0.3")
        assert status == 1
        assert line == (
            "robot-dynamics ros: refused by feedforward_node: trajectory: no joint 'elbow' "
            "(trajectory: elbow; robot: joint_1, joint_2)"
        )


def test_echo_prints_a_line_per_field(nodes, ros):
    status, text = ros("echo", "effort_command", "--count", "1")
    assert status == 0
    lines = text.splitlines()
    assert lines[:2] == ["layout:", "  dim 0:"]
    assert "label: joints: joint_1, joint_2" in text
    assert any(re.fullmatch(r"data: -?[0-9.e-]+, -?[0-9.e-]+", line) for line in lines)


def goes_to(nodes, ros, q):
    """Send the arm to q, again where a busy machine cancels the motion."""

    def rests():
        return nodes.feedforward.diagnostics()["motion"] == "holding"

    def arrived():
        if rests() and not np.allclose(nodes.simulator.plant.q, q, atol=2e-2):
            ros("move", f"joint_1={q[0]},joint_2={q[1]}", "--time", "1")
            wait_for(rests, "the end of the motion")
        return np.allclose(nodes.simulator.plant.q, q, atol=2e-2)

    wait_for(arrived, "the goal")


@pytest.mark.thorough
def test_after_a_reset_of_the_simulated_robot_the_nodes_start_anew(nodes, ros):
    start, controller = nodes.simulator._start, nodes.controller.controller
    assert ros("payload", "0")[0] == 0  # which the simulated robot does not carry
    away = start + 0.4
    goes_to(nodes, ros, away)
    assert ros("move", f"joint_1={away[0] + 0.5}", "--time", "5")[0] == 0  # under way
    began = nodes.simulator._commands.at
    assert ros("call", "simulator_node/reset") == (
        0,
        "back at the start, held until the next effort_command",
    )
    motion = nodes.feedforward.diagnostics
    wait_for(lambda: motion()["motion"] == "holding", "the end of the motion")
    wait_for(lambda: controller.status is Status.TRACKING, "tracking")
    wait_for(lambda: nodes.simulator.commanded and nodes.simulator._commands.at > began, "commands")
    np.testing.assert_allclose(nodes.simulator.plant.q, start, atol=2e-2)
    goes_to(nodes, ros, start - 0.2)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("move", "joint_1"), "goal: 'joint_1' is not JOINT=POSITION; give elbow=0.2,wrist=1"),
        (
            ("get", "controller_node", "modus"),
            "controller_node: no parameter 'modus'; did you mean 'mode'?",
        ),
        (
            ("set", "controller_node", "gains.joint_1.ps", "3.0"),
            "controller_node: no parameter 'gains.joint_1.ps'; did you mean 'gains.joint_1.p'?",
        ),
    ],
)
def test_mistake_is_one_clear_line(nodes, ros, words, line):
    assert ros(*words) == (1, f"robot-dynamics ros: {line}")


def test_node_that_does_not_run_is_named(nodes, ros, monkeypatch, domain):
    monkeypatch.setattr("robot_dynamics.nodes.ros.graph_client.PATIENCE_S", 0.5)
    assert ros("get", "nobody", "mode") == (
        1,
        f"robot-dynamics ros: no node offers /nobody/get_parameters (ROS_DOMAIN_ID {domain}); "
        "start the nodes, or correct the name",
    )


def test_unknown_node_is_refused_with_the_nearest_name(capsys):
    assert main(["node", "simulator"]) == 1
    assert "did you mean 'simulator_node'?" in capsys.readouterr().err
