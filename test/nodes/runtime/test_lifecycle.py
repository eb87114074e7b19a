"""Managed nodes: the standard transitions, and what commands do at both ends of work."""

import signal
import time

import numpy as np
import pytest

from choices import first

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from lifecycle_msgs.srv import ChangeState, GetState
from rclpy.time import Time
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.robot import find_robot
from ros_system import wait_for

ROBOT = read_urdf(find_robot("planar_2r"))
DYNAMICS = Dynamics(ROBOT)
NAMES = list(ROBOT.joint_names)
Q = np.array([0.3, 0.4])
COMMON = {"urdf_path": "planar_2r", "rate": 100.0}

# Same kernels, same numbers, torques below 100 N m: round-off
EXACT = 1e-9


class Managed:
    """One node, its transitions and its state."""

    def __init__(self, peer, name):
        self._peer, self._name = peer, name

    def does(self, label):
        """Return whether a transition succeeds."""
        request = ChangeState.Request()
        request.transition.label = label
        return self._peer.call(ChangeState, f"{self._name}/change_state", request).success

    @property
    def state(self):
        answer = self._peer.call(GetState, f"{self._name}/get_state", GetState.Request())
        return answer.current_state.label


class Arm:
    """A robot that rests at Q, and a reference that it is to follow; both come at 100 Hz."""

    def __init__(self, peer, namespace):
        self._clock = peer.node.get_clock()
        self._states = peer.node.create_publisher(JointState, f"{namespace}/joint_states", 1)
        self._reference = peer.node.create_publisher(JointState, f"{namespace}/reference", 1)
        self._timer = peer.node.create_timer(0.01, self._publish)
        self.effort = [float("nan")] * 2
        self.q_d, self.qd_d = Q, np.zeros(2)
        self.commands = peer.listen(Float64MultiArray, f"{namespace}/effort_command")
        self._node = peer.node

    def _publish(self):
        stamp = self._clock.now().to_msg()
        states = JointState(name=NAMES, position=Q.tolist(), velocity=[0.0, 0.0])
        states.effort = self.effort
        states.header.stamp = stamp
        self._states.publish(states)
        reference = JointState(name=NAMES, position=self.q_d.tolist(), velocity=self.qd_d.tolist())
        reference.effort = DYNAMICS.gravity(self.q_d).tolist()
        reference.header.stamp = stamp
        self._reference.publish(reference)

    def close(self):
        self._node.destroy_timer(self._timer)


def wait_until_silent(messages):
    """Wait until no message has come for a while: some may still be under way."""
    count = -1
    while count != len(messages):
        count = len(messages)
        time.sleep(1.0)


@pytest.fixture
def arm(peer, namespace):
    arm = Arm(peer, namespace[1])
    yield arm
    arm.close()


def test_a_managed_node_works_only_while_it_is_active(start, peer, namespace):
    arguments, name = namespace
    process = start("simulator_node", {**COMMON, "autostart": False}, arguments)
    node = Managed(peer, f"{name}/simulator_node")
    received = peer.listen(JointState, f"{name}/joint_states")
    assert node.state == "unconfigured"
    for _ in range(2):  # the second life is like the first one
        assert node.does("configure")
        assert node.state == "inactive"
        assert not received
        assert node.does("activate")
        assert node.state == "active"
        wait_for(lambda: received, "joint_states")
        assert node.does("deactivate")
        ended = peer.node.get_clock().now()
        assert node.state == "inactive"
        assert node.does("cleanup")
        assert node.state == "unconfigured"
        wait_for(lambda: not peer.node.count_publishers(f"{name}/joint_states"), "no publisher")
        # Those of before may have been on their way
        assert not [msg for msg in received if Time.from_msg(msg.header.stamp) > ended]
        received.clear()
    assert node.does("shutdown")
    assert process.stop() == 0, process.log
    assert "Traceback" not in process.log


def test_what_cannot_be_done_is_refused_with_its_reason(start, peer, namespace):
    arguments, name = namespace
    process = start("feedforward_node", {"rate": 100.0, "autostart": False}, arguments)
    node = Managed(peer, f"{name}/feedforward_node")
    assert not node.does("activate")
    process.wait_for_log("activate is not possible now (still unconfigured)")
    assert not node.does("configure")
    process.wait_for_log(f"configure failed: no robot yet; publish one on {name}/robot_description")
    peer.set_parameter(f"{name}/feedforward_node".lstrip("/"), "robot_description", "<robot")
    assert not node.does("configure")
    process.wait_for_log("not XML")
    text = find_robot("planar_2r").read_text()
    peer.set_parameter(f"{name}/feedforward_node".lstrip("/"), "robot_description", text)
    assert node.does("configure")
    assert node.does("activate")
    assert process.running


def test_parameters_set_before_a_second_life_count_in_it(start, peer, namespace, arm):
    arguments, name = namespace
    start("controller_node", COMMON, arguments)
    node = Managed(peer, f"{name}/controller_node")
    wait_for(lambda: arm.commands, "commands")
    plain = f"{name}/controller_node".lstrip("/")
    assert peer.set_parameter(plain, f"gains.{NAMES[0]}.p", 12.5).successful
    assert node.does("deactivate")
    assert node.does("cleanup")
    assert node.does("configure")
    assert peer.get_parameter(plain, f"gains.{NAMES[0]}.p") == 12.5
    refused = peer.set_parameter(plain, f"gains.{NAMES[0]}.p", -1.0)
    assert not refused.successful


def test_every_activation_begins_with_the_effort_that_holds_the_arm(start, peer, namespace, arm):
    arguments, name = namespace
    arm.q_d = Q + [0.5, -0.5]  # far off: no motion began there
    process = start("controller_node", {**COMMON, "fade": 1.0, "autostart": False}, arguments)
    node = Managed(peer, f"{name}/controller_node")
    assert node.does("configure")
    for _ in range(2):
        arm.commands.clear()
        received = len(process.log)
        assert node.does("activate")
        process.wait_for_log("holding still until the reference comes to the arm", received)
        count = len(arm.commands) + 50
        wait_for(lambda count=count: len(arm.commands) > count, "commands")
        efforts = np.array([msg.data for msg in arm.commands])
        assert np.abs(efforts - DYNAMICS.gravity(Q)).max() < EXACT
        assert node.does("deactivate")
        wait_until_silent(arm.commands)


def test_a_trusted_measured_effort_is_where_commands_begin(start, namespace, arm):
    arguments, _ = namespace
    arm.effort = [7.0, -3.0]
    start(
        "controller_node",
        {**COMMON, "fade": 10.0, "trust_measured_effort": True, "mode": "gravity_compensation"},
        arguments,
    )
    wait_for(lambda: arm.commands, "commands")
    first, gravity = np.array(arm.commands[0].data), DYNAMICS.gravity(Q)
    # Passing over takes 10 s; a first message that was lost stands for 0.1 s at most
    assert np.abs(first - arm.effort).max() < 0.02 * np.abs(gravity - arm.effort).max()


@pytest.mark.parametrize("how", first([signal.SIGINT], [signal.SIGINT, signal.SIGTERM]))
@pytest.mark.parametrize("last", ["hold", "zero_effort"])
def test_the_last_command_holds_the_arm_or_lets_it_go(start, namespace, arm, how, last):
    arguments, _ = namespace
    parameters = {**COMMON, "on_deactivate": last, "fade": 0.3}
    process = start("controller_node", parameters, arguments)
    wait_for(lambda: len(arm.commands) > 20, "commands")
    assert process.stop(how) == 0, process.log
    expected = DYNAMICS.gravity(Q) if last == "hold" else np.zeros(2)

    def let_go():
        return np.abs(np.array(arm.commands[-1].data) - expected).max() <= EXACT

    wait_for(let_go, "the last command")  # it may still be under way


def test_a_deactivated_follower_comes_back_where_the_arm_is(start, peer, namespace, arm):
    arguments, name = namespace
    process = start("feedforward_node", COMMON, arguments)
    node = Managed(peer, f"{name}/feedforward_node")
    process.wait_for_log("ready for trajectories")
    assert node.does("deactivate")
    wait_for(lambda: not peer.node.count_subscribers(f"{name}/joint_trajectory"), "deafness")
    assert node.does("activate")
    received = peer.listen(JointState, f"{name}/reference")
    wait_for(lambda: received, "a reference")
    wait_for(lambda: peer.node.count_subscribers(f"{name}/joint_trajectory"), "an open ear")
    wait_for(lambda: np.abs(np.array(received[-1].position) - Q).max() < EXACT, "the arm held at Q")
