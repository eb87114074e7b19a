"""The action FollowJointTrajectory: one feedforward process, and a client as MoveIt is one.

The arm is this process: it is where the reference says, give or take an error on purpose.
"""

import signal
import sys
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

import rclpy
from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Time
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rclpy.parameter import Parameter
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from arm_system import ArmSystem
from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.nodes.feedforward.action import DefaultTolerances, serve_goals
from robot_dynamics.nodes.ros.messages import duration_msg, nanoseconds, time_msg
from robot_dynamics.nodes.ros.node_parameters import Declared
from robot_dynamics.robot import find_robot
from ros_system import wait_for

ROBOT = read_urdf(find_robot("planar_2r"))
DYNAMICS = Dynamics(ROBOT)
NAMES = list(ROBOT.joint_names)
START = np.array([0.3, 0.4])
NODE = "feedforward_node"
ACTION = f"/{NODE}/follow_joint_trajectory"

EXACT = 1e-9  # doubles survive messages; torques below 100 N m


def test_without_control_msgs_there_is_no_action_and_no_fault(context, monkeypatch):
    monkeypatch.setitem(sys.modules, "control_msgs", None)
    node = rclpy.create_node("node", context=context)
    assert serve_goals(node, None, 20.0) is None
    node.destroy_node()


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
    assert tolerances.goal.tolist() == [0.2, 0.1]  # never infinite unless told so
    assert tolerances.stopped_velocity.tolist() == [0.01, 0.01]  # its default there
    assert tolerances.goal_time == 2.0
    node.destroy_node()


@pytest.fixture(scope="module")
def action():
    """The types of the action."""
    return pytest.importorskip(
        "control_msgs.action",
        reason="the action needs control_msgs, of ROS 2 (ros-<distro>-control-msgs)",
    ).FollowJointTrajectory


class EchoingArm:
    """An arm that is where `reference` says, but for `error`; mute while not `talking`."""

    def __init__(self, peer, prefix=""):
        self.error, self.talking = np.zeros(2), True
        self.references = peer.listen(JointState, f"{prefix}reference")
        self._states = peer.node.create_publisher(JointState, f"{prefix}joint_states", 1)
        peer.node.create_timer(0.005, self._publish)

    def _publish(self):
        q, qd = START, np.zeros(2)
        if self.references:
            q, qd = self.references[-1].position, self.references[-1].velocity
        if self.talking:
            self._states.publish(
                JointState(name=NAMES, position=list(q + self.error), velocity=list(qd))
            )

    def at(self):
        """Where it is to be now, shape (n,), rad."""
        wait_for(lambda: self.references, "a reference")
        return np.array(self.references[-1].position)

    def rests(self):
        """Wait until it is to rest; the last reference."""
        wait_for(lambda: not np.any(self.references[-1].velocity), "rest")
        return self.references[-1]


class Client:
    """Sends goals and waits for what becomes of them."""

    def __init__(self, peer, action, name):
        from rclpy.action import ActionClient

        self._client = ActionClient(peer.node, action, name)
        self._action = action
        wait_for(lambda: self._client.wait_for_server(0.1), f"the action {name}")

    def goal(self, *points, names=NAMES, **tolerances):
        """A goal of (time, positions); tolerances as (joint, position) or numbers."""
        from control_msgs.msg import JointTolerance

        goal = self._action.Goal()
        goal.trajectory.joint_names = list(names)
        for moment, q in points:
            goal.trajectory.points.append(
                JointTrajectoryPoint(
                    positions=[float(x) for x in q],
                    velocities=[0.0] * len(q),
                    time_from_start=duration_msg(moment),
                )
            )
        for kind in ("path", "goal"):
            for joint, tolerance in tolerances.get(kind, ()):
                one = JointTolerance(name=joint, position=tolerance)
                getattr(goal, f"{kind}_tolerance").append(one)
        goal.goal_time_tolerance = duration_msg(tolerances.get("time", 0.0))
        return goal

    def send(self, goal):
        """Send a goal; whether it was accepted, feedback so far, and how to wait and cancel."""
        feedback = []
        answer = self._client.send_goal_async(goal, lambda msg: feedback.append(msg.feedback))
        wait_for(answer.done, "an answer to the goal")
        handle = answer.result()
        coming = handle.get_result_async() if handle.accepted else None

        def end():
            wait_for(coming.done, "the result of the goal")
            return coming.result().status, coming.result().result

        def cancel():
            cancelled = handle.cancel_goal_async()
            wait_for(cancelled.done, "an answer to the cancelling")
            return len(cancelled.result().goals_canceling) == 1

        return SimpleNamespace(
            accepted=handle.accepted,
            feedback=feedback,
            end=end,
            cancel=cancel,
            ended=lambda: coming.done(),  # noqa: PLW0108  # a rejected goal has none
        )


@pytest.fixture(scope="module")
def arm(peer):
    return EchoingArm(peer)


@pytest.fixture(scope="module")
def node(action, start_for_module, peer, arm):
    parameters = {"urdf_path": "planar_2r", "rate": 200.0, "action_monitor_rate": 50.0}
    node = start_for_module(NODE, parameters)
    node.wait_for_log("ready for trajectories")
    return node


@pytest.fixture(scope="module")
def client(node, peer, action):
    return Client(peer, action, ACTION)


@pytest.fixture(autouse=True)
def _sound(request):
    """The arm follows without error again after every test."""
    yield
    if "arm" in request.fixturenames:
        arm = request.getfixturevalue("arm")
        arm.error, arm.talking = np.zeros(2), True


def largest_jump(references):
    """How far positions are from the integral of velocities between neighbours, rad.

    The trapezoidal rule leaves dt^3/12 of the jerk: at 0.02 s and 300 rad/s^3, 2e-4 rad.
    """
    t = np.array([nanoseconds(msg.header.stamp) * 1e-9 for msg in references])
    q = np.array([msg.position for msg in references])
    qd = np.array([msg.velocity for msg in references])
    near = np.diff(t) < 0.02
    steps = np.diff(q, axis=0) - (qd[1:] + qd[:-1]) / 2.0 * np.diff(t)[:, None]
    return np.abs(steps[near]).max()


JUMP = 2e-3  # rad: ten times the above; errors on purpose are 0.05 rad and more


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
        # Measured one or two cycles earlier, at up to 2 rad/s
        np.testing.assert_allclose(
            one.actual.positions - arm.error, one.desired.positions, atol=0.1
        )
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
    goal = client.goal((0.3, arm.at() + 0.1), goal=[(NAMES[1], 0.01)], time=0.2)
    status, result = client.send(goal).end()
    assert status == GoalStatus.STATUS_ABORTED
    assert result.error_code == action.Result.GOAL_TOLERANCE_VIOLATED
    assert result.error_string.startswith("joint 'joint_2' is 0.05 off its goal")


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


def test_many_goals_in_a_row_all_end(client, arm):
    start = arm.at()
    sent = [client.send(client.goal((0.5, start + 0.01 * k))) for k in range(30)]
    statuses = [one.end()[0] for one in sent]
    assert statuses == [GoalStatus.STATUS_ABORTED] * 29 + [GoalStatus.STATUS_SUCCEEDED]


def test_a_goal_of_some_joints_ends_by_itself_while_the_others_still_move(client, arm):
    start = arm.at()
    client.send(client.goal((4.0, start[:1] + 1.0), names=NAMES[:1]))
    wait_for(lambda: np.abs(arm.at() - start).max() > 0.02, "motion")
    status, _ = client.send(client.goal((0.4, start[1:] + 0.1), names=NAMES[1:])).end()
    assert status == GoalStatus.STATUS_SUCCEEDED
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

    def arrives():  # efforts are filled in once the node has seen that somebody listens
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


def test_a_clock_that_jumps_back_aborts_the_goal(action, start, peer):
    clock = peer.node.create_publisher(Clock, "/clock", 10)
    time = [100.0]

    def tick():
        time[0] += 0.005
        clock.publish(Clock(clock=time_msg(round(time[0] * 1e9))))

    timer = peer.node.create_timer(0.005, tick)
    arm = EchoingArm(peer, "/other/")
    other = start(
        NODE,
        {"urdf_path": "planar_2r", "rate": 200.0, "use_sim_time": True},
        ["-r", "__ns:=/other"],
    )
    other.wait_for_log("ready for trajectories")
    client = Client(peer, action, f"/other{ACTION}")
    sent = client.send(client.goal((30.0, arm.at() + 1.0)))
    wait_for(lambda: sent.feedback, "feedback")
    time[0] -= 50.0
    status, result = sent.end()
    assert status == GoalStatus.STATUS_ABORTED
    assert result.error_code == action.Result.INVALID_GOAL
    assert result.error_string == "the clock jumped back"
    assert client.send(client.goal((0.3, arm.at()))).end()[0] == GoalStatus.STATUS_SUCCEEDED
    timer.cancel()


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


def test_a_simulated_arm_reaches_its_goal_within_tolerance(action, start, peer):
    namespace = ["-r", "__ns:=/arm"]
    arm = ArmSystem(
        start,
        SimpleNamespace(listen=lambda kind, topic, qos: peer.listen(kind, f"/arm/{topic}", qos)),
        {"urdf_path": "planar_2r", "rate": 200.0},
        {"simulator": {"initial_positions": START.tolist()}},
        dict.fromkeys(ArmSystem.NODES, namespace),
    )
    client = Client(peer, action, f"/arm{ACTION}")
    target = START + [0.4, -0.4]
    # No path tolerance: a busy machine may let the arm lag for a while
    goal = client.goal((1.0, target), goal=[(name, 0.02) for name in NAMES], time=20.0)
    status, result = client.send(goal).end()
    assert (status, result.error_string) == (GoalStatus.STATUS_SUCCEEDED, "")
    np.testing.assert_allclose(arm.position(), target, atol=0.02)
