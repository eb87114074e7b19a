"""Onlookers ended in every way.

`python -m benchmark.faults` ends the other nodes and writes its record.
"""

import signal

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics import read_urdf
from robot_dynamics.nodes.ros.messages import duration_msg, nanoseconds
from robot_dynamics.robot import find_robot
from ros_system import wait_for

pytestmark = pytest.mark.thorough

NAMES = list(read_urdf(find_robot("ur5")).joint_names)
START = np.array([0.0, -1.2, 1.5, -0.5, 0.3, 0.2])
FAR = np.array([0.9, -0.6, 0.9, 0.1, 0.9, 0.8])
DRIFT, WATCHED = 0.05, 10.0  # rad, s
WAYS = {"killed": signal.SIGKILL, "ended": signal.SIGTERM, "standing": signal.SIGSTOP}
ONLOOKERS = ("trajectory_node", "monitor_node", "recorder_node")


class Arm:
    """A whole system, and the states of its arm by the time at which they were measured."""

    def __init__(self, start, peer):
        common = {"urdf_path": "ur5", "rate": 250.0}
        unstopped = {f"limits.{name}.tracking_error": 0.0 for name in NAMES}  # on a busy machine
        self._peer, self._sent = peer, 0.0
        self._states = peer.listen(JointState, "joint_states", 1000)
        simulated = {"initial_positions": START.tolist(), "command_timeout": 3600.0}
        self.nodes = {
            "simulator_node": start("simulator_node", {**common, **simulated}),
            "feedforward_node": start("feedforward_node", common),
            "controller_node": start("controller_node", {**common, **unstopped}),
        }
        self.nodes["controller_node"].wait_for_log("tracking the reference")
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

    def moves(self, until, what):
        """Send the arm on a way of two seconds, again where a busy machine cancels it."""
        publisher = self._peer.publisher(JointTrajectory, "joint_trajectory")
        point = JointTrajectoryPoint(positions=FAR.tolist(), time_from_start=duration_msg(2.0))
        sent = self._sent

        def done():
            nonlocal sent
            if self.now() > sent + 8.0:
                publisher.publish(JointTrajectory(joint_names=NAMES, points=[point]))
                sent = self._sent = self.now()
            return until()

        wait_for(done, what)

    def is_near(self, goal):
        """Return whether a state of now is near a goal."""
        return np.abs(np.array(self.state_at(self.now()).position) - goal).max() < 0.01

    def is_under_way(self):
        return speed(self._states[-1]) > 0.4


def stamp(msg):
    return nanoseconds(msg.header.stamp) * 1e-9


def speed(msg):
    return np.abs(msg.velocity).max()


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
        arm.moves(arm.is_under_way, "motion")
    before = arm.now()
    for name in ONLOOKERS:
        arm.nodes[name].send(WAYS[way])
    goal = FAR if moving else START
    if moving:
        arm.moves(lambda: arm.is_near(goal), "goal")
    wait_for(lambda: arm.is_near(goal), "goal")
    path = arm.path(at := arm.now(), at + WATCHED)
    assert np.abs(path - goal).max() < DRIFT
    assert moving or np.abs(arm.path(before, at) - goal).max() < DRIFT
