"""Trajectories that feedforward_node publishes for a joint_trajectory_controller.

Such a controller follows `joint_trajectory_with_effort` and ignores the reference. The arm of these
tests stands where they put it.
"""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from action_client import ACTION, DYNAMICS, EXACT, NAMES, NODE, START, Client
from robot_dynamics.nodes.ros.messages import duration_msg
from ros_system import wait_for

GIVEN = {
    "urdf_path": "planar_2r",
    "rate": 200.0,
    "hold_with_effort": True,
    "empty_trajectory": "stop",
}
WAY, DURATION = np.array([1.0, -1.0]), 10.0


class Follower:
    """Received trajectories with effort, and an arm that stands still."""

    def __init__(self, peer):
        self.q = START
        self.received = peer.listen(JointTrajectory, "joint_trajectory_with_effort")
        self._states = peer.node.create_publisher(JointState, "joint_states", 1)
        peer.node.create_timer(0.01, self._publish)

    def _publish(self):
        state = JointState(name=NAMES, position=self.q.tolist(), velocity=[0.0, 0.0])
        self._states.publish(state)

    def next_after(self, after):
        """Return the next trajectory."""
        wait_for(lambda: len(self.received) > after, "a trajectory with effort")
        return self.received[after]


@pytest.fixture(scope="module")
def follower(peer):
    return Follower(peer)


@pytest.fixture(scope="module")
def node(start_for_module, follower):
    node = start_for_module(NODE, GIVEN)
    node.wait_for_log("ready for trajectories")
    return node


@pytest.fixture
def under_way(node, follower, peer):
    """Start a long motion; yield its publisher and the number of received trajectories."""
    follower.next_after(0)
    publisher = peer.publisher(JointTrajectory, "joint_trajectory")
    yield publisher, begin(publisher, follower)
    peer.node.destroy_publisher(publisher)


def begin(publisher, follower):
    """Begin a long motion; return the number of trajectories received with it."""
    after = len(follower.received)
    goal = JointTrajectoryPoint(
        positions=(START + WAY).tolist(), time_from_start=duration_msg(DURATION)
    )
    publisher.publish(JointTrajectory(joint_names=NAMES, points=[goal]))
    motion = follower.next_after(after)
    assert motion.points[-1].time_from_start.sec == DURATION
    return after + 1


def comes_to_rest(motion):
    """Check that a trajectory ends at rest, early on the way of `under_way`, under its gravity."""
    end = motion.points[-1]
    assert end.time_from_start.sec == 0  # within half a second
    np.testing.assert_allclose(end.velocities, 0.0, atol=EXACT)
    assert np.abs(np.array(end.positions) - START).max() < 0.5 * np.abs(WAY).max()
    np.testing.assert_allclose(end.effort, DYNAMICS.gravity(end.positions), atol=EXACT)


def test_before_the_first_motion_it_gets_the_held_position_and_its_effort(node, follower):
    held = follower.next_after(0)
    (point,) = held.points
    assert held.joint_names == NAMES
    np.testing.assert_allclose(point.positions, START, atol=EXACT)
    np.testing.assert_allclose(point.effort, DYNAMICS.gravity(START), atol=EXACT)
    assert not np.any(point.velocities)


def test_it_gets_a_stop_during_a_motion(under_way, follower):
    publisher, count = under_way
    publisher.publish(JointTrajectory())
    comes_to_rest(follower.next_after(count))


def test_it_gets_a_stop_when_a_goal_is_cancelled(node, follower, peer, action):
    client = Client(peer, action, ACTION)
    count = len(follower.received)
    sent = client.send(client.goal((DURATION, START + WAY)))
    follower.next_after(count)
    assert sent.cancel()
    comes_to_rest(follower.next_after(count + 1))


def test_it_gets_a_stop_when_a_goal_is_aborted(node, follower, peer, action):
    client = Client(peer, action, ACTION)
    count = len(follower.received)
    goal = client.goal((DURATION, START + WAY), path=[(NAMES[0], 0.02)])  # the arm stands still
    sent = client.send(goal)
    comes_to_rest(follower.next_after(count + 1))
    assert sent.end()[1].error_code == action.Result.PATH_TOLERANCE_VIOLATED


def test_a_motion_begins_where_the_arm_was_moved_externally(node, follower, peer):
    publisher = peer.publisher(JointTrajectory, "joint_trajectory")
    references = peer.listen(JointState, "reference")
    after, follower.q = len(follower.received), START + [0.5, 0.3]
    wait_for(lambda: references and list(references[-1].position) == follower.q.tolist(), "it")
    assert len(follower.received) == after  # or an unknown load would make the arm creep down
    goal = JointTrajectoryPoint(positions=START.tolist(), time_from_start=duration_msg(DURATION))
    publisher.publish(JointTrajectory(joint_names=NAMES, points=[goal]))
    first = follower.next_after(after).points[0]
    np.testing.assert_allclose(first.positions, follower.q, atol=EXACT)
    publisher.publish(JointTrajectory())
    follower.q = START
    wait_for(lambda: list(references[-1].position) == START.tolist(), "rest where it was")


def test_it_gets_a_stop_when_the_node_ends_during_a_motion(under_way, node, follower):
    _, count = under_way
    assert node.stop() == 0
    comes_to_rest(follower.next_after(count))


def test_it_gets_a_stop_when_the_node_ends_before_a_motion_that_was_sent(start, follower, peer):
    before = len(follower.received)
    node = start(NODE, {**GIVEN, "preparation": 10.0})  # s; what follows begins on arrival
    follower.next_after(before)
    count = begin(peer.publisher(JointTrajectory, "joint_trajectory"), follower)
    assert node.stop() == 0
    comes_to_rest(follower.next_after(count))
