"""The action FollowJointTrajectory: one feedforward process, and a client as MoveIt is one.

The arm is this process: it is where the reference says, give or take an error on purpose.
"""

import re
import sys
from functools import partial
from types import ModuleType

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

import rclpy
from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Time
from rclpy.parameter import Parameter

from action_client import (
    DYNAMICS,
    EXACT,
    JUMP,
    NAMES,
    NODE,
    ROBOT,
    largest_jump,
)
from robot_dynamics.nodes.feedforward.action import DefaultTolerances, serve_goals
from robot_dynamics.nodes.ros.messages import nanoseconds
from robot_dynamics.nodes.ros.node_parameters import Declared
from ros_system import wait_for


def test_without_control_msgs_there_is_no_action_and_no_fault(context, monkeypatch):
    for module in ("control_msgs", "control_msgs.action"):  # which another test may have imported
        monkeypatch.setitem(sys.modules, module, None)
    node = rclpy.create_node("node", context=context)
    assert serve_goals(node, None, None, 20.0) is None
    node.destroy_node()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ({}, "ImportError(\"cannot import name 'FollowJointTrajectory' from 'control_msgs.action'"),
        ({"FollowJointTrajectory": type("FollowJointTrajectory", (), {})}, "AttributeError("),
    ],
    ids=["of another version", "without type support"],
)
def test_with_an_unusable_control_msgs_there_is_no_action_and_one_line(
    context, monkeypatch, capfd, content, reason
):
    module = ModuleType("control_msgs.action")
    vars(module).update(content)
    monkeypatch.setitem(sys.modules, "control_msgs", ModuleType("control_msgs"))
    monkeypatch.setitem(sys.modules, "control_msgs.action", module)
    node = rclpy.create_node("node", context=context)
    assert serve_goals(node, None, None, 20.0) is None
    node.destroy_node()
    lines = [line for line in capfd.readouterr().err.splitlines() if "control_msgs" in line]
    (line,) = lines
    assert f"no action follow_joint_trajectory: control_msgs cannot be used ({reason}" in line
    assert line.endswith("; install the control_msgs of this ROS distribution")


def test_default_tolerances_are_parameters_named_as_those_of_joint_trajectory_controller(context):
    given = {
        "constraints.goal_time": 2.0,
        "constraints.joint_1.goal": 0.2,
        "constraints.joint_2.trajectory": 0.2,
    }
    overrides = [Parameter(name, value=value) for name, value in given.items()]
    node = rclpy.create_node("node", context=context, parameter_overrides=overrides)
    tolerances = DefaultTolerances(partial(Declared, node), ROBOT.independent_joints).now()
    assert tolerances.path.tolist() == [np.inf, 0.2]
    assert tolerances.goal.tolist() == [0.2, 0.1]  # never infinite unless requested
    assert tolerances.stopped_velocity.tolist() == [0.01, 0.01]  # its default there
    assert tolerances.goal_time == 2.0
    node.destroy_node()


def test_a_goal_is_followed_to_its_end_and_has_succeeded(client, arm, action):
    target = [0.1, 0.6]
    sent = client.send(client.goal((0.3, [0.2, 0.5]), (0.6, target)))
    assert sent.accepted
    status, result = sent.end()
    assert status == GoalStatus.STATUS_SUCCEEDED
    assert result.error_code == action.Result.SUCCESSFUL
    last = arm.rests()
    np.testing.assert_allclose(last.position, target, atol=EXACT)
    np.testing.assert_allclose(last.effort, DYNAMICS.gravity(target), atol=EXACT)


def test_feedback_tells_what_is_desired_and_what_is_measured(client, arm):
    arm.error = np.array([0.01, -0.02])
    start, target = arm.at(), arm.at() + [0.3, -0.3]
    sent = client.send(client.goal((0.3, start + 0.1), (0.6, target)))
    sent.end()
    assert len(sent.feedback) > 3
    for one in sent.feedback:
        assert list(one.joint_names) == NAMES
        assert nanoseconds(one.header.stamp) > 0
        for field in ("positions", "velocities"):
            desired, actual, error = (
                np.array(getattr(point, field)) for point in (one.desired, one.actual, one.error)
            )
            np.testing.assert_allclose(error, desired - actual, atol=EXACT)
        # Measured some cycles earlier, where the reference was then
        past = np.array([msg.position for msg in list(arm.references)])
        assert np.abs(past - (one.actual.positions - arm.error)).max(axis=1).min() < EXACT
        assert len(one.desired.effort) == len(one.desired.accelerations) == 2
    times = [nanoseconds(one.desired.time_from_start) for one in sent.feedback]
    assert times == sorted(times)
    if hasattr(sent.feedback[0], "index"):
        points = [one.index for one in sent.feedback]
        assert points == sorted(points) and set(points) <= {0, 1, 2}


def test_a_goal_may_name_some_of_the_joints(client, arm):
    other = arm.at()[0]
    status, _ = client.send(client.goal((0.3, [0.5]), names=[NAMES[1]])).end()
    assert status == GoalStatus.STATUS_SUCCEEDED
    np.testing.assert_allclose(arm.rests().position, [other, 0.5], atol=EXACT)


def _unknown(goal):
    goal.trajectory.joint_names[0] = "joint_3"


def _empty(goal):
    goal.trajectory.points = []


def _past(goal):
    goal.trajectory.header.stamp = Time(sec=5)


def _nan(goal):
    goal.trajectory.points[0].positions[1] = np.nan


def _moving(goal):
    goal.trajectory.points[-1].velocities[0] = 0.5


def _tolerance(goal):
    goal.path_tolerance[0].name = "joint_3"


def _multi_dof(goal):
    from trajectory_msgs.msg import MultiDOFJointTrajectoryPoint

    goal.multi_dof_trajectory.points = [MultiDOFJointTrajectoryPoint()]


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (_unknown, "no joint 'joint_3'"),
        (_empty, "no points"),
        (_past, "it ended"),
        (_nan, "positions of joint 'joint_2' is nan"),
        (_moving, "joint 'joint_1' still moves at 0.5 at the end"),
        (_tolerance, "path tolerance: no joint 'joint_3' among joint_1, joint_2"),
        (_multi_dof, "multi_dof_trajectory is not followed"),
    ],
)
def test_a_goal_that_cannot_be_followed_is_rejected_and_the_one_before_goes_on(
    client, node, arm, spoil, reason
):
    target = arm.at() + [0.1, -0.1]
    good = client.send(client.goal((0.5, target)))
    bad = client.goal((0.5, target + 1.0), path=[(NAMES[0], 0.5)])
    spoil(bad)
    assert not client.send(bad).accepted
    node.wait_for_log("goal rejected: ")
    wait_for(lambda: reason in node.log, reason)
    assert good.end()[0] == GoalStatus.STATUS_SUCCEEDED
    np.testing.assert_allclose(arm.rests().position, target, atol=EXACT)


def test_leaving_the_path_aborts_the_goal_and_the_arm_rests_where_it_is(client, arm, action):
    start = arm.at()
    sent = client.send(client.goal((4.0, start + 1.0), path=[(NAMES[1], 0.05)]))
    wait_for(lambda: sent.feedback and np.abs(arm.at() - start).max() > 0.05, "motion")
    before = len(arm.references)
    arm.error = np.array([0.0, -0.2])  # something holds it back
    status, result = sent.end()
    arm.error = np.zeros(2)
    assert status == GoalStatus.STATUS_ABORTED
    assert result.error_code == action.Result.PATH_TOLERANCE_VIOLATED
    assert result.error_string.startswith("joint 'joint_2' is 0.")
    last = arm.rests()
    # 1 rad in 4 s, and 0.2 rad behind: where it was when the goal was lost, within a few cycles
    at_loss = np.array(arm.references[before].position)
    np.testing.assert_allclose(last.position, at_loss + [0.0, -0.2], atol=0.05)
    np.testing.assert_allclose(last.effort, DYNAMICS.gravity(last.position), atol=EXACT)
    assert largest_jump(arm.references[before - 5 :]) < JUMP


def test_the_path_tolerance_of_the_parameters_holds_where_the_goal_gives_none(
    client, arm, peer, action
):
    name = f"constraints.{NAMES[0]}.trajectory"
    assert peer.set_parameter(NODE, name, 0.03).successful
    arm.error = np.array([0.06, 0.0])  # within the tolerance of the goal
    strict = client.send(client.goal((0.5, arm.at()))).end()
    free = client.send(client.goal((0.5, arm.at()), path=[(NAMES[0], -1.0)])).end()
    assert peer.set_parameter(NODE, name, 0.0).successful
    assert strict[1].error_code == action.Result.PATH_TOLERANCE_VIOLATED
    assert free[0] == GoalStatus.STATUS_SUCCEEDED


def test_a_negative_tolerance_is_refused(peer, node):
    assert not peer.set_parameter(NODE, "constraints.goal_time", -1.0).successful
    assert peer.get_parameter(NODE, "constraints.goal_time") == 2.0


def test_not_arriving_in_time_aborts_the_goal(client, arm, action):
    arm.error = np.array([0.0, 0.05])
    # Time enough that even a late state is of the end
    goal = client.goal((0.3, arm.at() + 0.1), goal=[(NAMES[1], 0.01)], time=1.0)
    status, result = client.send(goal).end()
    assert status == GoalStatus.STATUS_ABORTED
    assert result.error_code == action.Result.GOAL_TOLERANCE_VIOLATED
    (off,) = re.findall("^joint 'joint_2' is (.*) off its goal", result.error_string)
    assert float(off) == pytest.approx(0.05, abs=1e-3)


def test_arriving_late_but_in_time_is_success(client, arm):
    arm.error = np.array([0.0, 0.05])
    sent = client.send(client.goal((0.3, arm.at() + 0.1), goal=[(NAMES[1], 0.01)], time=30.0))
    wait_for(
        lambda: sent.feedback and nanoseconds(sent.feedback[-1].desired.time_from_start) > 0.4e9,
        "the end of the motion",
    )
    assert not sent.ended()
    arm.error = np.zeros(2)
    assert sent.end()[0] == GoalStatus.STATUS_SUCCEEDED


def test_states_from_before_the_end_do_not_show_that_the_arm_has_arrived(client, arm, action):
    arm.talking = False
    status, result = client.send(client.goal((0.3, arm.at() + 0.1), time=0.3)).end()
    assert status == GoalStatus.STATUS_ABORTED
    assert result.error_code == action.Result.GOAL_TOLERANCE_VIOLATED
    assert result.error_string.startswith("no joint_states for ")
