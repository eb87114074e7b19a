"""Ends of FollowJointTrajectory goals: one feedforward process and a client like MoveIt.

The arm is this process: it is where the reference says, give or take an error on purpose.
"""

import signal
import threading

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from action_msgs.msg import GoalStatus
from diagnostic_msgs.msg import KeyValue
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rclpy.action import GoalResponse
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from action_client import (
    ACTION,
    DYNAMICS,
    EXACT,
    JUMP,
    NAMES,
    NODE,
    ROBOT,
    START,
    Client,
    EchoingArm,
    largest_jump,
)
from arm_system import ArmSystem
from robot_dynamics.nodes.feedforward import action as nodes_action
from robot_dynamics.nodes.feedforward.action import ResultServer
from robot_dynamics.nodes.ros.messages import UNFOLLOWED_TOPIC, duration_msg
from robot_dynamics.nodes.ros.topics import DESCRIPTION_QOS
from ros_system import PATIENCE, wait_for


def test_cancelling_brings_the_arm_to_rest_under_gravity(client, arm):
    start = arm.at()
    sent = client.send(client.goal((4.0, start - 1.0)))
    wait_for(lambda: np.abs(arm.at() - start).max() > 0.05, "motion")
    before = len(arm.references)
    assert sent.cancel()
    status, result = sent.end()
    assert status == GoalStatus.STATUS_CANCELED
    assert result.error_string == "cancelled by its client; the arm comes to rest"
    last = arm.rests()
    # At most the peak speed of 0.5 rad/s, for half a second, to rest: far from the goal
    assert np.abs(np.array(last.position) - arm.references[before].position).max() < 0.3
    np.testing.assert_allclose(last.effort, DYNAMICS.gravity(last.position), atol=EXACT)
    assert largest_jump(arm.references[before - 5 :]) < JUMP


def test_a_goal_that_has_ended_cannot_be_cancelled(client, arm):
    sent = client.send(client.goal((0.2, arm.at())))
    assert sent.end()[0] == GoalStatus.STATUS_SUCCEEDED
    assert not sent.cancel()


def test_a_new_goal_takes_the_place_of_the_one_before_without_a_jump(client, arm, action):
    start = arm.at()
    first = client.send(client.goal((4.0, start + 1.0)))
    wait_for(lambda: np.abs(arm.at() - start).max() > 0.05, "motion")
    before = len(arm.references)
    second = client.send(client.goal((0.8, start)))
    status, result = first.end()
    assert status == GoalStatus.STATUS_ABORTED
    assert result.error_code == action.Result.INVALID_GOAL
    assert result.error_string == "a new goal has taken its place"
    assert second.end()[0] == GoalStatus.STATUS_SUCCEEDED
    np.testing.assert_allclose(arm.rests().position, start, atol=EXACT)
    assert largest_jump(arm.references[before - 5 :]) < JUMP


def test_a_trajectory_on_the_topic_takes_the_place_of_a_goal(client, arm, peer, action):
    publisher = peer.publisher(JointTrajectory, "joint_trajectory")
    start = arm.at()
    sent = client.send(client.goal((4.0, start + 1.0)))
    wait_for(lambda: np.abs(arm.at() - start).max() > 0.05, "motion")
    point = JointTrajectoryPoint(positions=start.tolist(), time_from_start=duration_msg(0.5))
    publisher.publish(JointTrajectory(joint_names=NAMES, points=[point]))
    status, result = sent.end()
    assert status == GoalStatus.STATUS_ABORTED
    assert result.error_code == action.Result.INVALID_GOAL
    assert result.error_string == ("a trajectory on the topic joint_trajectory has taken its place")
    wait_for(lambda: np.abs(arm.at() - start).max() < EXACT, "the end of the trajectory")


@pytest.mark.thorough
def test_many_goals_in_a_row_all_end(client, arm):
    start = arm.at()

    def accepted(seconds, way):
        """Send a goal, again while the one before has not begun."""
        goal = client.goal((seconds, start + way))
        return wait_for(lambda: (one := client.send(goal)).accepted and one, "an accepted goal")

    # None but the last has time to arrive, however slowly a busy machine sends them
    sent = [accepted(900.0, 0.01 * k) for k in range(29)]
    sent.append(accepted(0.5, 0.29))
    statuses = [one.end()[0] for one in sent]
    assert statuses == [GoalStatus.STATUS_ABORTED] * 29 + [GoalStatus.STATUS_SUCCEEDED]


def test_a_goal_of_some_joints_ends_by_itself_while_the_others_still_move(client, arm):
    start = arm.at()
    client.send(client.goal((4.0, start[:1] + 1.0), names=NAMES[:1]))
    wait_for(lambda: np.abs(arm.at() - start).max() > 0.02, "motion")
    status, result = client.send(client.goal((0.4, start[1:] + 0.1), names=NAMES[1:])).end()
    assert status == GoalStatus.STATUS_SUCCEEDED, result.error_string
    assert arm.references[-1].velocity[0] > 0.0
    np.testing.assert_allclose(arm.at()[1], start[1] + 0.1, atol=EXACT)


def test_a_goal_that_is_slowed_down_ends_when_it_is_there(client, arm, peer):
    assert peer.set_parameter(NODE, "limits", "scale").successful
    target = arm.at() + [0.0, -1.0]
    too_soon = 0.3 / ROBOT.limits.velocity[1]
    goal = client.goal((too_soon, target[1:]), names=NAMES[1:], goal=[(x, 0.0) for x in NAMES])
    for tolerance in goal.goal_tolerance:
        tolerance.velocity = -1.0  # nothing but time says that it has ended
    status, _ = client.send(goal).end()
    assert peer.set_parameter(NODE, "limits", "warn").successful
    assert status == GoalStatus.STATUS_SUCCEEDED
    np.testing.assert_allclose(arm.at()[1], target[1], atol=EXACT)


def test_a_goal_is_republished_with_effort(client, arm, peer):
    filled = peer.listen(JointTrajectory, "joint_trajectory_with_effort")
    wait_for(lambda: peer.node.count_publishers("joint_trajectory_with_effort"), "the publisher")

    def arrives():  # efforts are filled in once the node has found the subscriber
        assert client.send(client.goal((0.2, arm.at()))).end()[0] == GoalStatus.STATUS_SUCCEEDED
        return filled

    wait_for(arrives, "the trajectory with effort")
    assert all(len(point.effort) == 2 for point in filled[-1].points)


def test_parameters_are_answered_while_a_goal_is_under_way(client, arm, peer):
    sent = client.send(client.goal((1.0, arm.at() + 0.1)))
    assert peer.set_parameter(NODE, "blend", 0.1).successful
    assert peer.get_parameter(NODE, "blend") == 0.1
    assert not sent.ended()
    assert sent.end()[0] == GoalStatus.STATUS_SUCCEEDED


def test_deactivating_the_node_aborts_the_goal_and_later_goals_are_followed(
    client, arm, node, peer, action
):
    def change(transition):
        request = ChangeState.Request(transition=Transition(id=transition))
        return peer.call(ChangeState, f"/{NODE}/change_state", request).success

    sent = client.send(client.goal((30.0, arm.at() + 0.1)))
    assert change(Transition.TRANSITION_DEACTIVATE)
    status, result = sent.end()
    assert status == GoalStatus.STATUS_ABORTED
    assert result.error_code == action.Result.INVALID_GOAL
    assert result.error_string == "feedforward_node was deactivated"
    assert not client.send(client.goal((0.5, arm.at()))).accepted
    assert change(Transition.TRANSITION_ACTIVATE)
    wait_for(lambda: client.send(client.goal((0.3, arm.at()))).accepted, "a goal to be accepted")


@pytest.fixture
def refuse(node, peer):
    """Publish a reason as controller_node does; clear it at the end."""
    publisher = peer.publisher(KeyValue, UNFOLLOWED_TOPIC, DESCRIPTION_QOS)

    def refuse(why):
        publisher.publish(KeyValue(key=peer.node.get_name(), value=why))

    yield refuse
    refuse("")
    peer.node.destroy_publisher(publisher)


def test_a_goal_is_rejected_while_no_controller_follows_the_reference(client, arm, refuse):
    goal = client.goal((0.2, arm.at()))  # which it has reached before it begins
    refuse("not active")
    wait_for(lambda: not client.send(goal).accepted, "a goal that is rejected")
    refuse("")
    wait_for(lambda: client.send(goal).accepted, "a goal that is accepted")


def test_a_goal_is_aborted_once_no_controller_follows_the_reference(client, arm, refuse, action):
    start = arm.at()
    sent = client.send(client.goal((30.0, start + 0.05)))
    assert sent.accepted
    refuse("stopped: tracking error too large")
    status, result = sent.end()
    assert status == GoalStatus.STATUS_ABORTED
    assert result.error_code == action.Result.INVALID_GOAL
    assert result.error_string == "peer: stopped: tracking error too large"
    arm.rests()


def test_a_reference_that_is_not_followed_stays_where_the_arm_is_led(client, arm, refuse):
    """Another mode of the controller would otherwise bring the arm back."""
    goal = client.goal((0.2, arm.at()))
    refuse("mode 'cartesian_impedance' follows no reference")
    wait_for(lambda: not client.send(goal).accepted, "a goal that is rejected")
    for _ in range(2):
        arm.led = arm.rests().position + np.array([0.3, -0.2])
        wait_for(lambda: np.abs(arm.at() - arm.led).max() < 0.01, "the reference at the arm")
    arm.rests()
    arm.led = None


def test_a_clock_that_jumps_back_aborts_the_goal(client, arm, action):
    sent = client.send(client.goal((30.0, arm.at() + 1.0)))
    wait_for(lambda: sent.feedback, "feedback")
    arm.clock.jump(-50.0)
    status, result = sent.end()
    assert status == GoalStatus.STATUS_ABORTED
    assert result.error_code == action.Result.INVALID_GOAL
    assert result.error_string == "the clock jumped back"
    assert client.send(client.goal((0.3, arm.at()))).end()[0] == GoalStatus.STATUS_SUCCEEDED


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_node_that_ends_says_so_to_its_client(action, start, peer, how):
    namespace = f"/ends_{how.name.lower()}"
    arm = EchoingArm(peer, f"{namespace}/")
    node = start(NODE, {"urdf_path": "planar_2r"}, ["-r", f"__ns:={namespace}"])
    node.wait_for_log("ready for trajectories")
    client = Client(peer, action, namespace + ACTION)
    sent = client.send(client.goal((30.0, arm.at() + 1.0)))
    assert node.stop(how) == 0, node.log
    status, result = sent.end()
    assert status == GoalStatus.STATUS_ABORTED
    assert result.error_string == "feedforward_node was deactivated"
    assert "Traceback" not in node.log


def test_an_executor_that_ends_once_a_result_is_sent_has_sent_it(
    action, context, peer, monkeypatch
):
    monkeypatch.setattr(nodes_action, "SEND_TIMEOUT_S", PATIENCE)
    node, handles, ending = Node("slow", context=context), [], threading.Event()
    server = ResultServer(
        node,
        action,
        "slow/goals",
        print,
        goal_callback=lambda _: GoalResponse.ACCEPT,
        handle_accepted_callback=lambda handle: (handle.execute(), handles.append(handle)),
    )
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)

    def spin():
        while not ending.wait(0.1):  # between the tasks that end a goal
            executor.spin_once(timeout_sec=0.1)

    thread = threading.Thread(target=spin)
    thread.start()
    client = Client(peer, action, "slow/goals")
    sent = client.send(client.goal((1.0, START)))
    wait_for(lambda: handles, "the goal")
    handles[0].abort()
    server.send_result(handles[0], action.Result(error_string="ended"))
    server.wait_until_sent()
    ending.set()
    thread.join()
    assert sent.end()[1].error_string == "ended"
    executor.shutdown()
    server.destroy()
    node.destroy_node()


def test_a_simulated_arm_reaches_its_goal_within_tolerance(action, start, peer):
    common = {"urdf_path": "planar_2r", "rate": 200.0}
    own = {"simulator": {"initial_positions": START.tolist()}}
    arm = ArmSystem(start, peer, common, own, namespace="/arm")
    client = Client(peer, action, f"/arm{ACTION}")
    target = START + [0.4, -0.4]
    goal = client.goal((1.0, target), goal=[(name, 0.02) for name in NAMES], time=20.0)
    status, result = client.ends(lambda: goal)
    assert (status, result.error_string) == (GoalStatus.STATUS_SUCCEEDED, "")
    np.testing.assert_allclose(arm.position(), target, atol=0.02)
