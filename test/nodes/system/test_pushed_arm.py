"""A push on a simulated arm: observed, reported, and answered by a stop."""

import re

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState

from arm_system import NAMES, RATE, START, ArmSystem
from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.robot import find_robot
from ros_system import wait_for

ARM = Dynamics(read_urdf(find_robot("planar_2r")))
LIMITS = {f"limits.{name}.external_effort": 15.0 for name in NAMES}
FORCE = np.array([0.0, 0.0, -25.0])  # N, of the surroundings on the endpoint, axes of the root


@pytest.fixture(scope="module")
def arm(start_for_module, peer):
    common = {"rate": RATE, "urdf_path": "planar_2r"}
    own = {
        "simulator": {"initial_positions": START.tolist()},
        # The push is 26 N m on joint_1 at the start
        "controller": {"state_timeout": 0.5, "reference_timeout": 0.5, **LIMITS},
    }
    # feedforward_node would compensate a wrench that it knows
    return ArmSystem(start_for_module, peer, common, own, {"simulator": ["-r", "wrench:=push"]})


class Person:
    """A person who pushes the endpoint until letting go; a wrench is that of the arm on it."""

    def __init__(self, arm, peer):
        self._arm, self.force = arm, np.zeros(3)
        self._wrench = peer.publisher(WrenchStamped, "push")
        wait_for(self._wrench.get_subscription_count, "the simulator")
        self._timer = peer.node.create_timer(0.02, self._publish)

    def _publish(self):
        if self.force.any():
            R = ARM.pose(np.array(self._arm.states[-1].position)).rotation
            msg = WrenchStamped()
            msg.wrench.force.x, msg.wrench.force.y, msg.wrench.force.z = -R.T @ self.force
            self._wrench.publish(msg)


@pytest.fixture(scope="module")
def person(arm, peer):
    return Person(arm, peer)


def expected(arm):
    """Joint efforts of the push where the arm is now."""
    return ARM.jacobian(np.array(arm.states[-1].position))[:3].T @ FORCE


def test_a_push_is_reported_with_its_joint_efforts(arm, person, peer):
    external = peer.listen(JointState, "external_effort", 1000)
    reports = peer.listen(DiagnosticArray, "/diagnostics", 100)
    person.force = np.zeros(3)
    wait_for(lambda: external, "external efforts")
    assert list(external[-1].name) == NAMES
    # At rest under the weight that the model knows: round-off, and friction of the URDF in motion
    wait_for(lambda: np.abs(external[-1].effort).max() < 0.05, "none at rest")
    controller, before = arm.processes["controller"], len(arm.processes["controller"].log)
    person.force = FORCE
    # The arm yields to PD without a stop; at rest the observer sees the push itself
    wait_for(
        lambda: np.abs(np.array(external[-1].effort) - expected(arm)).max() < 0.5,
        "the efforts of the push",
    )
    controller.wait_for_log("feels an external", before)

    def reported():
        return [
            status
            for msg in reports
            for status in msg.status
            if status.name == "controller_node" and "feels an external" in status.message
        ]

    wait_for(reported, "a fault")
    values = {value.key: value.value for value in reported()[-1].values}
    assert "external effort (N m or N)" in values
    assert values["external wrench at endpoint"].endswith("4 of 6 directions move no joint")

    def balanced():
        tau = np.array(arm.states[-1].effort)
        balance = ARM.gravity(np.array(arm.states[-1].position)) - expected(arm)
        return np.abs(tau - balance).max() < 1.0

    # What the drives give is measured, not the push; the arm may still yield to it
    wait_for(balanced, "efforts that balance the push")
    person.force = np.zeros(3)
    controller.wait_for_log("the warning has ended", before)
    assert "stopped" not in controller.log[before:]


def test_a_monitor_observes_the_push_from_measured_efforts(arm, person, peer, start_for_module):
    external = peer.listen(JointState, "/monitor_node/external_effort", 1000)
    start_for_module("monitor_node", {"urdf_path": "planar_2r", "use_sim_time": True})
    person.force = FORCE
    wait_for(
        lambda: external and np.abs(np.array(external[-1].effort) - expected(arm)).max() < 0.5,
        "the efforts of the push",
    )
    person.force = np.zeros(3)
    wait_for(lambda: np.abs(external[-1].effort).max() < 0.5, "none without it")


def test_a_push_stops_the_arm_until_it_is_resumed(arm, person, peer):
    assert peer.set_parameters("controller_node", {"collision.reaction": "stop"}).successful
    controller, before = arm.processes["controller"], len(arm.processes["controller"].log)
    goal = START + 0.5
    arm.send(NAMES, (3.0, goal))
    wait_for(arm.follows, "a motion")
    person.force = FORCE
    controller.wait_for_log("call controller_node/resume to go on", before)
    person.force = np.zeros(3)
    line = next(x for x in controller.log[before:].splitlines() if "stopped: " in x)
    assert re.search(
        r"stopped: joint 'joint_[12]' feels an external [\d.]+ N m, beyond its threshold of [\d.]+ "
        r"N m; clear the contact; without one, the load or the model is wrong; call "
        r"controller_node/resume to go on$",
        line,
    )
    q = arm.comes_to_rest(0.05)
    assert np.abs(q - goal).max() > 0.02
    peer.resume("controller_node")
    arm.goes_to(NAMES, START, 0.02)


@pytest.mark.thorough
def test_an_arm_that_a_person_led_stays_there_and_follows_the_next_motion(arm, person, peer):
    led = {"mode": "gravity_compensation", "collision.reaction": "report"}
    assert peer.set_parameters("controller_node", led).successful
    controller, before = arm.processes["controller"], len(arm.processes["controller"].log)
    began = arm.position()
    person.force = 0.1 * FORCE  # or it would fly off where a busy machine lets go late
    # Beyond the limit of tracking errors, and with a speed that the end effector leaves it
    wait_for(lambda: np.abs(arm.position() - began).max() > 0.6, "an arm that is led")
    person.force = np.zeros(3)
    assert peer.set_parameter("controller_node", "mode", "feedforward").successful
    left = arm.position()
    stood = arm.comes_to_rest(0.02)
    assert np.abs(stood - left).max() < 0.4  # it is braked, not brought back
    assert np.abs(stood - began).max() > 0.4
    arm.goes_to(NAMES, START, 0.02)
    assert "stopped" not in controller.log[before:]
