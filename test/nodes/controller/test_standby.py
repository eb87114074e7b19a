"""Ends of a controller in motion, with a plant that keeps the last command for ever."""

import itertools
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

ROBOT = "ur5"
NAMES = list(read_urdf(find_robot(ROBOT)).joint_names)
START = [0.0, -1.2, 1.5, -0.5, 0.3, 0.2]
FAR = [0.9, -0.6, 0.9, 0.1, 0.9, 0.8]
REST = 0.1  # rad/s
DRIFT = 0.05  # rad
STAY = 500
"""States over which an arm at rest is watched: two seconds."""
FALL = 3.0
"""Displacement of an arm that falls, rad.

Coming to rest takes a second of its way; on its last effort it is at its stops, 6 rad away, in two.
"""
ENDED = ["-r", "__node:=controller_standby"]
PATIENT = {"standby": True, "standby_timeout": 0.2}
"""On a busy machine processes wait for longer than the default, and the two would take turns."""
NEVER_STOPPED = {f"limits.{name}.tracking_error": 0.0 for name in NAMES}
"""A process that has waited may find the arm off its way, and is to bring it back all the same."""


@pytest.fixture
def system(start, peer):
    """Simulator that never minds silence, and controllers; the one that commands, in motion."""
    peer.listen(JointState, "joint_states")
    common = {"urdf_path": ROBOT, "rate": 250.0}
    start(
        "simulator_node",
        {**common, "initial_positions": START, "command_timeout": 3600.0},
    )
    feedforward = start("feedforward_node", common)
    common.update(NEVER_STOPPED)
    commanding = start("controller_node", common)
    commanding.wait_for_log("tracking the reference")
    feedforward.wait_for_log("ready for trajectories")
    return start, commanding, common


def moves(peer, commanding, times=1):
    """Have the arm move, to and fro so many times, and wait until it is well under way."""
    points = [
        JointTrajectoryPoint(positions=q, time_from_start=duration_msg(2.0 + 2.0 * k))
        for k, q in zip(range(times), itertools.cycle([FAR, START]), strict=False)
    ]
    publisher = peer.publisher(JointTrajectory, "joint_trajectory")
    trajectory = JointTrajectory(joint_names=NAMES, points=points)
    sent_at = None

    def under_way():
        nonlocal sent_at
        received = len(peer.received["joint_states"])
        resumed(peer, commanding)
        if sent_at is None or received > sent_at + 750:  # lost: a reader may be introduced late
            publisher.publish(trajectory)
            sent_at = received
        return speed(peer) > 0.4

    wait_for(under_way, "motion")


def resumed(peer, controller):
    """Resume a controller that a busy machine kept waiting until it stopped or lost its lease."""
    if any(word in controller.log for word in ("lease revoked", "stopped: ")):
        peer.call(Trigger, "/controller_node/resume", Trigger.Request())


def states(peer, count):
    received = len(peer.received["joint_states"])
    wait_for(lambda: len(peer.received["joint_states"]) >= received + count, "joint_states")
    return peer.received["joint_states"][received:]


def speed(peer):
    return np.abs(states(peer, 1)[-1].velocity).max()


def stood(peer, begin, end):
    """Return whether the arm stood at any time from one count of states to another.

    The last one does not suffice: a busy machine may report the end of a process late, and the arm
    may be falling by then.
    """
    received = [*peer.received["joint_states"][begin:end], *states(peer, 1)]
    return min(np.abs(msg.velocity).max() for msg in received) < REST


def path(peer, count):
    return np.array([msg.position for msg in states(peer, count)])


def stays_at(peer, goal, commanding):
    """Wait until the arm is at a goal and keeps it; it is slow at the beginning of its way, too."""

    publisher = peer.publisher(JointTrajectory, "joint_trajectory")
    point = JointTrajectoryPoint(positions=goal, time_from_start=duration_msg(2.0))

    def arrived():
        resumed(peer, commanding)
        way = path(peer, STAY)
        if np.ptp(way, axis=0).max() < DRIFT and np.abs(way - goal).max() > DRIFT:
            # A takeover on a busy machine cancels the motion
            publisher.publish(JointTrajectory(joint_names=NAMES, points=[point]))
        return np.abs(way - goal).max() < DRIFT

    wait_for(arrived, f"rest at {goal}")


def stays_near(peer, since):
    """Wait until the arm rests, and check that it has not fallen since that count of states."""
    wait_for(lambda: np.ptp(path(peer, STAY), axis=0).max() < DRIFT, "rest")
    way = np.array([msg.position for msg in peer.received["joint_states"][since:]])
    assert np.ptp(way, axis=0).max() < FALL


def test_a_controller_that_stands_by_brings_the_arm_to_rest_when_the_other_one_is_killed(
    system, peer
):
    start, commanding, common = system
    standby = start("controller_node", {**common, **PATIENT}, ENDED)
    standby.wait_for_log("standing by")
    moves(peer, commanding)
    killed = len(peer.received["joint_states"])
    commanding.stop(signal.SIGKILL)
    standby.wait_for_log("taken over: the arm comes to rest and is held")
    stays_near(peer, since=killed)
    # Back again, it joins the reference, and the other one stands by once more
    again = start("controller_node", common)
    standby.wait_for_log("is commanded again; standing by")
    stays_at(peer, FAR, again)
    assert "tracking the reference" in again.log


def test_while_another_one_commands_a_controller_that_stands_by_commands_nothing(system, peer):
    start, commanding, common = system
    # Longer than this machine may let a process wait
    quiet = {**common, "standby": True, "standby_timeout": 5.0}
    standby = start("controller_node", quiet, ENDED)
    standby.wait_for_log("standing by")
    moves(peer, commanding)
    stays_at(peer, FAR, commanding)
    assert "taken over" not in standby.log
    assert "publishes /effort_command too" not in commanding.log


def test_sigterm_in_motion_ends_the_process_only_once_the_arm_is_measured_to_stand(system, peer):
    start, commanding, common = system
    standby = start("controller_node", {**common, **PATIENT}, ENDED)
    standby.wait_for_log("standing by")
    moves(peer, commanding)
    asked = len(peer.received["joint_states"])
    assert commanding.stop(signal.SIGTERM) == 0
    ended = len(peer.received["joint_states"])
    assert stood(peer, asked, ended)
    # An effort that stays is no feedback, and an arm without friction tips over from any pose
    standby.wait_for_log("taken over")
    stays_near(peer, since=ended)


@pytest.mark.thorough
def test_of_two_that_stand_by_one_takes_over_and_when_it_ends_the_other_one(system, peer):
    start, commanding, common = system
    both = [
        start("controller_node", {**common, **PATIENT}, ["-r", f"__node:={name}_standby"])
        for name in ("first", "second")
    ]
    for standby in both:
        standby.wait_for_log("standing by")
    moves(peer, commanding)
    killed = len(peer.received["joint_states"])
    commanding.stop(signal.SIGKILL)
    wait_for(lambda: any(commands(standby) for standby in both), "one that takes over")
    stays_near(peer, since=killed)
    # It may be both for the moment in which they learn of each other
    assert [commands(standby) for standby in both].count(True) == 1
    assert max(standby.log.count("taken over") for standby in both) == 1
    both.sort(key=commands)
    waiting, active = both
    stood = path(peer, 1)[-1]
    active.stop(signal.SIGKILL)
    wait_for(lambda: commands(waiting), "the other one")
    assert np.abs(path(peer, STAY) - stood).max() < DRIFT


@pytest.mark.thorough
def test_one_that_is_started_in_motion_disturbs_nothing_and_takes_over_all_the_same(system, peer):
    start, commanding, common = system
    desired = peer.listen(JointState, "reference")
    moves(peer, commanding, times=60)
    came = len(peer.received["joint_states"])
    standby = start("controller_node", {**common, **PATIENT}, ENDED)
    standby.wait_for_log("standing by")
    states(peer, STAY)
    assert "lease revoked" not in commanding.log
    assert "taken over" not in standby.log
    stamps, goals = zip(*((nanoseconds(m.header.stamp), m.position) for m in desired), strict=True)
    for msg in peer.received["joint_states"][came:]:
        due = [np.interp(nanoseconds(msg.header.stamp), stamps, q) for q in np.transpose(goals)]
        # A busy machine may keep states and commands for 0.1 s while a process starts
        assert np.abs(np.subtract(msg.position, due)).max() < 4.0 * DRIFT
    wait_for(lambda: speed(peer) > 0.4, "a moment of motion")
    killed = len(peer.received["joint_states"])
    commanding.stop(signal.SIGKILL)
    standby.wait_for_log("taken over: the arm comes to rest and is held")
    stays_near(peer, since=killed)


@pytest.mark.thorough
def test_a_second_signal_does_not_let_an_arm_in_motion_go(system, peer):
    start, commanding, common = system
    standby = start("controller_node", {**common, **PATIENT}, ENDED)
    standby.wait_for_log("standing by")
    moves(peer, commanding)
    asked = len(peer.received["joint_states"])
    commanding.send(signal.SIGTERM)
    commanding.send(signal.SIGINT)
    assert commanding.stop(signal.SIGTERM) == 0
    assert stood(peer, asked, len(peer.received["joint_states"]))
    assert "Traceback" not in commanding.log


def commands(standby):
    """Return whether a standby controller commands, by its log."""
    return standby.log.rfind("taken over") > standby.log.rfind("standing by")
