"""Composed nodes and onlookers ended in every way, before a plant that forgets no command.

A simulator whose brakes never close obeys its last command for ever, as forward_command_controller
does. `python -m benchmark.faults` ends the other nodes and writes the table of docs/hardware.md.
"""

import re
import signal

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics import read_urdf
from robot_dynamics.nodes.ros.messages import duration_msg, nanoseconds
from robot_dynamics.robot import find_robot
from ros_system import wait_for

pytestmark = pytest.mark.thorough

NAMES = list(read_urdf(find_robot("ur5")).joint_names)
START = np.array([0.0, -1.2, 1.5, -0.5, 0.3, 0.2])
FAR = np.array([0.9, -0.6, 0.9, 0.1, 0.9, 0.8])
STOPPED_AFTER = 0.5  # s
REST = 0.1  # rad/s
DRIFT, WATCHED = 0.05, 10.0  # rad, s
TIMEOUT = 0.05  # s, of the stand-by at most
WAYS = {"killed": signal.SIGKILL, "ended": signal.SIGTERM, "standing": signal.SIGSTOP}
COMPOSED = "composed_nodes"
ONLOOKERS = ("standby", "trajectory_node", "monitor_node", "recorder_node")


class Arm:
    """A whole system, and the states of its arm by the time at which they were measured."""

    def __init__(self, start, peer, *, composed=False):
        common = {"urdf_path": "ur5", "rate": 250.0}
        unstopped = {f"limits.{name}.tracking_error": 0.0 for name in NAMES}  # on a busy machine
        self._peer, self._revocations = peer, 0
        self._states = peer.listen(JointState, "joint_states", 1000)
        simulated = {"initial_positions": START.tolist(), "command_timeout": 3600.0}
        self.nodes = {"simulator_node": start("simulator_node", {**common, **simulated})}
        if composed:
            asked = ["--", "--hardware"]
            self.nodes[COMPOSED] = start(COMPOSED, {**common, **unstopped}, asked)
            self.nodes["feedforward_node"] = self.nodes["controller_node"] = self.nodes[COMPOSED]
        else:
            self.nodes["feedforward_node"] = start("feedforward_node", common)
            self.nodes["controller_node"] = start("controller_node", {**common, **unstopped})
        self.nodes["controller_node"].wait_for_log("tracking the reference")
        self.nodes["standby"] = start(
            "controller_node",
            {**common, **unstopped, "standby": True},
            ["-r", "__node:=controller_node_standby"],
        )
        self.nodes["standby"].wait_for_log("standing by")
        self.nodes["feedforward_node"].wait_for_log("ready for trajectories")

    def now(self):
        return self._peer.node.get_clock().now().nanoseconds * 1e-9

    def state_at(self, time):
        """The first state that was measured at a time or later."""
        wait_for(lambda: self._states and stamp(self._states[-1]) >= time, "a state")
        return next(msg for msg in self._states[-10000:] if stamp(msg) >= time)

    def path(self, begin, end):
        """Positions between two times, shape (N, 6)."""
        self.state_at(end)
        return np.array([m.position for m in self._states if begin <= stamp(m) <= end])

    def moves(self):
        """Send the arm on a way of two seconds until it is well under way."""
        publisher = self._peer.publisher(JointTrajectory, "joint_trajectory")
        point = JointTrajectoryPoint(positions=FAR.tolist(), time_from_start=duration_msg(2.0))
        sent = 0.0

        def under_way():
            nonlocal sent
            self.goes_on()
            if self.now() > sent + 8.0:
                publisher.publish(JointTrajectory(joint_names=NAMES, points=[point]))
                sent = self.now()
            return speed(self._states[-1]) > 0.4

        wait_for(under_way, "motion")

    def is_at(self, goal):
        """Return whether it is at a pose."""
        return np.abs(np.array(self.state_at(self.now()).position) - goal).max() < 0.02

    def goes_on(self):
        """Resume the controller after each revoked lease, as on a busy machine."""
        count = self.nodes["controller_node"].log.count("lease revoked")
        if count > self._revocations:
            self._peer.call(Trigger, "/controller_node/resume", Trigger.Request())
            self._revocations = count

    def waited(self):
        """Time by which the stand-by was later than it is allowed to be, s: it had to wait."""
        takeovers = re.findall(r"for (\d+) ms; the arm comes to rest", self.nodes["standby"].log)
        return max(int(takeovers[-1]) * 1e-3 - TIMEOUT, 0.0) if takeovers else 0.0


def stamp(msg):
    return nanoseconds(msg.header.stamp) * 1e-9


def speed(msg):
    return np.abs(msg.velocity).max()


@pytest.mark.parametrize("moving", [True, False], ids=["in motion", "at rest"])
@pytest.mark.parametrize("way", WAYS)
def test_after_any_end_of_composed_nodes_the_arm_stands_within_half_a_second_and_stays(
    start, peer, way, moving
):
    arm = Arm(start, peer, composed=True)
    if moving:
        arm.moves()
    at = arm.now()
    arm.nodes[COMPOSED].send(WAYS[way])
    after = arm.state_at(at + STOPPED_AFTER)
    stopped = stamp(after)
    path = arm.path(stopped, stopped + WATCHED)
    drift = np.abs(path - path[0]).max()
    if arm.waited():  # of a processor: then it is at rest so much later
        after = arm.state_at(at + STOPPED_AFTER + arm.waited())
        path = arm.path(stamp(after), stamp(after) + WATCHED)
        drift = np.abs(path - path[0]).max()
    assert speed(after) < REST
    assert drift < DRIFT


@pytest.mark.parametrize("moving", [True, False], ids=["in motion", "at rest"])
@pytest.mark.parametrize("way", WAYS)
def test_the_arm_goes_on_as_before_when_all_end_that_only_look_on(
    start, peer, tmp_path, way, moving
):
    arm, robot = Arm(start, peer), {"urdf_path": "ur5"}
    arm.nodes["trajectory_node"] = start("trajectory_node", {**robot, "wait": True})
    arm.nodes["monitor_node"] = start("monitor_node", robot)
    arm.nodes["recorder_node"] = start("recorder_node", {**robot, "file": tmp_path / "run.mcap"})
    wait_for((tmp_path / "run.mcap").exists, "a recording")
    wait_for(lambda: peer.node.count_publishers("/effort_residual"), "a monitor")
    if moving:
        arm.moves()
    before = arm.now()
    for name in ONLOOKERS:
        arm.nodes[name].send(WAYS[way])
    goal = FAR if moving else START
    wait_for(lambda: np.abs(np.array(arm.state_at(arm.now()).position) - goal).max() < 0.01, "goal")
    path = arm.path(at := arm.now(), at + WATCHED)
    assert np.abs(path - goal).max() < DRIFT
    assert moving or np.abs(arm.path(before, at) - goal).max() < DRIFT


def test_one_that_stops_for_a_moment_goes_on_without_being_resumed(start, peer):
    arm = Arm(start, peer)
    controller, standby = arm.nodes["controller_node"], arm.nodes["standby"]
    arm.moves()
    before = len(standby.log)
    controller.send(signal.SIGSTOP)
    standby.wait_for_log("the arm comes to rest from here", before)
    controller.send(signal.SIGCONT)
    wait_for(lambda: said(standby, before), "an end")
    wait_for(lambda: arm.is_at(FAR) or "taken over" in said(standby, before), "FAR")
    if "taken over" in said(standby, before):
        pytest.skip("this machine had no time for the controller, so that the stand-by was right")
    assert "came back in time" in said(standby, before)


def said(standby, at):
    """Return what a stand-by has said since a length of its log."""
    return {text for text in ("came back in time", "taken over") if text in standby.log[at:]}


def test_one_that_was_replaced_at_rest_returns_by_itself(start, peer):
    arm = Arm(start, peer)
    controller, standby = arm.nodes["controller_node"], arm.nodes["standby"]
    before, at = len(standby.log), arm.now()
    controller.send(signal.SIGSTOP)
    standby.wait_for_log("taken over", before)
    controller.send(signal.SIGCONT)
    controller.wait_for_log("lease acquired again: the arm rests where the reference does")
    standby.wait_for_log("is commanded again; standing by", before)
    assert np.abs(arm.path(at, arm.now() + 2.0) - START).max() < DRIFT


def test_one_that_stood_still_and_goes_on_returns_at_rest_and_moves_nothing(start, peer):
    arm = Arm(start, peer)
    arm.moves()
    controller, standby = arm.nodes["controller_node"], arm.nodes["standby"]
    controller.send(signal.SIGSTOP)
    standby.wait_for_log("taken over")
    begin = arm.now() + 1.0
    arm.state_at(begin)
    before = len(standby.log)
    controller.send(signal.SIGCONT)
    controller.wait_for_log("lease revoked: a standby controller took over")
    standby.wait_for_log("is commanded again; standing by", before)
    path = arm.path(begin, arm.now() + 2.0)
    assert np.abs(path - path[0]).max() < DRIFT

    arm.moves()  # the takeover has cancelled the motion

    def arrives():
        arm.goes_on()
        return arm.is_at(FAR)

    wait_for(arrives, "FAR")
