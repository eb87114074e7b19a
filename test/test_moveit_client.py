"""MoveIt's side of a whole launch: goals as its controller manager sends them."""

import os
import signal
import time
from contextlib import contextmanager

import numpy as np
import pytest

pytest.importorskip(
    "control_msgs.action",
    reason="control_msgs is neither installed nor built (make test builds it)",
)

from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory
from diagnostic_msgs.msg import DiagnosticArray, KeyValue
from sensor_msgs.msg import JointState

from action_client import ACTION, Client, moveit_goal
from launched import launcher
from robot_dynamics.nodes.runtime.simulated_time import STANDS_S
from ros_system import PATIENCE, Peer, wait_for

WAY = np.array([0.4, -0.4, 0.4, 0.4, -0.4, 0.4])
# The default goal tolerance is 0.1 rad; without errors of the model an arm at rest is far closer
ACCURACY = 0.01
STILL = 0.01  # rad/s, below which a joint stands by the default stopped_velocity_tolerance

# One process on simulated time: an arm in which no node waits for a processor that another one has
IN_STEP = ("composed:=true", "use_sim_time:=true")


@pytest.fixture(scope="module")
def arm(domain):
    """The states of an arm that a launch holds still, a client of its action, and the launch."""
    peer = Peer(domain)
    states = peer.listen(JointState, "/joint_states", 1000)
    reports = peer.listen(DiagnosticArray, "/diagnostics", 100)
    with contextmanager(launcher)(domain) as launch:
        process = launch("robot:=ur5", "motion:=none", "rate:=250", *IN_STEP)
        client = Client(peer, FollowJointTrajectory, ACTION)
        wait_for(lambda: tracks(reports), "an arm that follows a reference")
        yield states, client, process
        os.killpg(process.pid, signal.SIGINT)
        output, _ = process.communicate(timeout=PATIENCE)
    peer.close()
    assert "Traceback" not in output


def tracks(reports):
    """Return whether the controller has reported that it tracks the reference."""
    values = [value for msg in reports for status in msg.status for value in status.values]
    return KeyValue(key="status", value="tracking the reference") in values


def comes_to(states, position):
    """A goal succeeds within its tolerance: the last of the way is made after that."""
    wait_for(lambda: np.abs(states[-1].position - position).max() < ACCURACY, f"{position}")


@pytest.mark.thorough
def test_a_goal_without_tolerances_ends_where_it_should_and_has_succeeded(arm):
    states, client, _ = arm
    begin = np.array(states[-1].position)
    sent = client.send(moveit_goal(states[-1], WAY))
    assert sent.accepted
    status, result = sent.end()
    assert status == GoalStatus.STATUS_SUCCEEDED, result.error_string
    assert result.error_code == FollowJointTrajectory.Result.SUCCESSFUL
    comes_to(states, begin + WAY)
    assert sent.feedback and list(sent.feedback[-1].joint_names) == list(states[-1].name)


@pytest.mark.thorough
def test_a_goal_that_is_cancelled_leaves_the_arm_at_rest_and_the_next_one_succeeds(arm):
    states, client, _ = arm
    begin = np.array(states[-1].position)
    # So slow that most of its way is left, however late the motion is seen
    sent = client.send(moveit_goal(states[-1], WAY, duration=8.0))
    wait_for(lambda: np.abs(states[-1].velocity).max() > 0.02, "motion")
    assert sent.cancel()
    status, _ = sent.end()
    assert status == GoalStatus.STATUS_CANCELED
    wait_for(lambda: np.abs(states[-1].velocity).max() < STILL, "rest")
    assert np.abs(np.array(states[-1].position) - begin).max() < 0.75 * np.abs(WAY).max()
    back = lambda: moveit_goal(states[-1], begin - states[-1].position)  # noqa: E731
    status, result = client.ends(back)
    assert status == GoalStatus.STATUS_SUCCEEDED, result.error_string
    comes_to(states, begin)


@pytest.mark.thorough
def test_a_stall_of_all_nodes_with_their_simulation_ends_no_goal(arm):
    states, client, process = arm
    sent = client.send(moveit_goal(states[-1], -WAY))
    for _ in range(3):
        received = len(states)
        wait_for(lambda received=received: len(states) > received + 50, "motion")
        os.killpg(process.pid, signal.SIGSTOP)
        time.sleep(STANDS_S + 0.5)
        os.killpg(process.pid, signal.SIGCONT)
    status, result = sent.end()
    assert status == GoalStatus.STATUS_SUCCEEDED, result.error_string
