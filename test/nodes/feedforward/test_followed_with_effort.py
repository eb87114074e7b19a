"""What a joint_trajectory_controller is told by feedforward_node, beside what it was sent.

It follows `joint_trajectory_with_effort` and knows of no reference: what it is not told of, it does
not do. The arm of these tests stands where they say.
"""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from action_client import ACTION, DYNAMICS, EXACT, NAMES, NODE, START, Client
from robot_dynamics.nodes.ros.messages import duration_msg
from ros_system import wait_for

WAY, DURATION = np.array([1.0, -1.0]), 10.0


class Follower:
    """Who follows trajectories with effort: what it was told, and an arm that stands somewhere."""

    def __init__(self, peer):
        self.q = START
        self.told = peer.listen(JointTrajectory, "joint_trajectory_with_effort")
        self._states = peer.node.create_publisher(JointState, "joint_states", 1)
        peer.node.create_timer(0.01, self._publish)

    def _publish(self):
        state = JointState(name=NAMES, position=self.q.tolist(), velocity=[0.0, 0.0])
        self._states.publish(state)

    def is_told(self, after):
        """The next trajectory that comes."""
        wait_for(lambda: len(self.told) > after, "a trajectory with effort")
        return self.told[after]


@pytest.fixture(scope="module")
def follower(peer):
    return Follower(peer)


@pytest.fixture(scope="module")
def node(start_for_module, follower):
    given = {"urdf_path": "planar_2r", "rate": 200.0, "hold_with_effort": True}
    node = start_for_module(NODE, {**given, "empty_trajectory": "stop"})
    node.wait_for_log("ready for trajectories")
    return node


@pytest.fixture
def under_way(node, follower, peer):
    """A long motion, which the follower has been told of; how much it had been told then."""
    follower.is_told(0)
    after = len(follower.told)
    goal = JointTrajectoryPoint(
        positions=(START + WAY).tolist(), time_from_start=duration_msg(DURATION)
    )
    publisher = peer.publisher(JointTrajectory, "joint_trajectory")
    publisher.publish(JointTrajectory(joint_names=NAMES, points=[goal]))
    motion = follower.is_told(after)
    assert motion.points[-1].time_from_start.sec == DURATION
    yield publisher, after + 1
    peer.node.destroy_publisher(publisher)


def comes_to_rest(motion):
    """Whether a trajectory ends at rest, early on the way of `under_way`, under its gravity."""
    end = motion.points[-1]
    assert end.time_from_start.sec == 0  # within half a second
    np.testing.assert_allclose(end.velocities, 0.0, atol=EXACT)
    assert np.abs(np.array(end.positions) - START).max() < 0.5 * np.abs(WAY).max()
    np.testing.assert_allclose(end.effort, DYNAMICS.gravity(end.positions), atol=EXACT)


def test_before_the_first_motion_it_is_told_where_the_arm_is_held_and_by_what(node, follower):
    held = follower.is_told(0)
    (point,) = held.points
    assert held.joint_names == NAMES
    np.testing.assert_allclose(point.positions, START, atol=EXACT)
    np.testing.assert_allclose(point.effort, DYNAMICS.gravity(START), atol=EXACT)
    assert not np.any(point.velocities)


def test_it_is_told_of_a_stop_on_the_way(under_way, follower):
    publisher, told = under_way
    publisher.publish(JointTrajectory())
    comes_to_rest(follower.is_told(told))


def test_it_is_told_when_a_goal_is_cancelled(node, follower, peer, action):
    client = Client(peer, action, ACTION)
    told = len(follower.told)
    sent = client.send(client.goal((DURATION, START + WAY)))
    follower.is_told(told)
    assert sent.cancel()
    comes_to_rest(follower.is_told(told + 1))


def test_it_is_told_when_a_goal_is_given_up(node, follower, peer, action):
    client = Client(peer, action, ACTION)
    told = len(follower.told)
    goal = client.goal((DURATION, START + WAY), path=[(NAMES[0], 0.02)])  # the arm stands still
    sent = client.send(goal)
    comes_to_rest(follower.is_told(told + 1))
    assert sent.end()[1].error_code == action.Result.PATH_TOLERANCE_VIOLATED


def test_a_motion_begins_where_somebody_else_has_moved_the_arm(node, follower, peer):
    publisher = peer.publisher(JointTrajectory, "joint_trajectory")
    references = peer.listen(JointState, "reference")
    after, follower.q = len(follower.told), START + [0.5, 0.3]
    wait_for(lambda: references and list(references[-1].position) == follower.q.tolist(), "it")
    assert len(follower.told) == after  # or a load that is not known would have the arm creep down
    goal = JointTrajectoryPoint(positions=START.tolist(), time_from_start=duration_msg(DURATION))
    publisher.publish(JointTrajectory(joint_names=NAMES, points=[goal]))
    first = follower.is_told(after).points[0]
    np.testing.assert_allclose(first.positions, follower.q, atol=EXACT)
    publisher.publish(JointTrajectory())
    follower.q = START
    wait_for(lambda: list(references[-1].position) == START.tolist(), "rest where it was")


def test_it_is_told_that_the_node_ends_on_the_way(under_way, node, follower):
    _, told = under_way
    assert node.stop() == 0
    comes_to_rest(follower.is_told(told))
