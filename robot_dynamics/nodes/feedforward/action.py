"""The action FollowJointTrajectory, as joint_trajectory_controller offers it to MoveIt.

Nothing here waits: goals are answered on arrival, a timer sends feedback and results, and
`trajectory.goal` decides the outcome in the thread that follows the motion.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics.errors import RobotDynamicsError, TrajectoryError
from robot_dynamics.foundation.numbers import counted
from robot_dynamics.foundation.units import NS_PER_S
from robot_dynamics.nodes.ros.diagnostics import one_line
from robot_dynamics.nodes.ros.messages import duration_msg, nanoseconds
from robot_dynamics.nodes.ros.node_parameters import Declared, parameter
from robot_dynamics.nodes.runtime.robot_node import RobotNode
from robot_dynamics.robot.kinematic_tree import Joint
from robot_dynamics.trajectory.goal import Goal, Goals, GoalSample, Tolerance, Tolerances, Verdict

ACTION_NAME = "~/follow_joint_trajectory"

RESULT_TIMEOUT_S = 60
"""Time for which goals and results are kept for a late client, s."""

SEND_TIMEOUT_S = 0.5
"""Longest wait for the delivery of a result at the end of a process, s."""

LARGEST_TOLERANCE = 1e9
"""Largest tolerance accepted, in SI units; a larger one is a mistake."""

GOAL_TOLERANCE = {True: 0.1, False: 0.01}
"""Default position tolerance at the goal of a revolute (True, rad) or prismatic (False, m) joint.

joint_trajectory_controller has none by default, so that a goal succeeds although nothing moved.
"""


@dataclass(frozen=True)
class Constraints:
    """Parameters of the group constraints, common to all joints."""

    stopped_velocity_tolerance: float = parameter(
        0.01,
        "Speed below which a joint stands still at the end of a goal, rad/s or m/s; 0 for any",
        low=0.0,
        high=LARGEST_TOLERANCE,
    )
    goal_time: float = parameter(
        2.0,
        "Time allowed for reaching a goal after its end, s; 0 to wait for ever",
        low=0.0,
        high=LARGEST_TOLERANCE,
    )


@dataclass(frozen=True)
class JointConstraints:
    """Parameters of the group constraints.<joint>: position tolerances."""

    trajectory: float = parameter(
        0.0,
        "Position error during motion at which a goal is aborted, rad or m; 0 for none",
        low=0.0,
        high=LARGEST_TOLERANCE,
    )
    goal: float = parameter(
        0.0,
        "Largest position error at which a goal is reached, rad or m; 0 for any. Default: 0.1 rad "
        "or 0.01 m",
        low=0.0,
        high=LARGEST_TOLERANCE,
    )


class DefaultTolerances:
    """Parameters of the tolerances of goals without their own.

    Args:
        group: Declares a group of parameters: `RobotNode.group`.
        joints: The n joints.
    """

    def __init__(self, group: Callable[..., Declared[Any]], joints: Sequence[Joint]) -> None:
        self._all: Declared[Constraints] = group(Constraints, "constraints")
        self._each: list[Declared[JointConstraints]] = [
            group(
                JointConstraints,
                f"constraints.{joint.name}",
                defaults=JointConstraints(goal=GOAL_TOLERANCE[joint.type.rotates]),
            )
            for joint in joints
        ]

    def now(self) -> Tolerances:
        """Return the tolerances of the present parameters."""
        every = self._all.value
        joints = [declared.value for declared in self._each]
        return Tolerances.from_parameters(
            [joint.trajectory for joint in joints],
            [joint.goal for joint in joints],
            [every.stopped_velocity_tolerance] * len(joints),
            every.goal_time,
        )


class Motions(NamedTuple):
    """The motions of a node.

    Args:
        goals: Its goals.
        execute: Follows a trajectory with tolerances, and returns the goal.
        stop: Comes to rest.
        stamp: Returns a time of the motions, s, as a stamp.
    """

    goals: Goals
    execute: Callable[[JointTrajectory, Tolerances], Goal]
    stop: Callable[[], None]
    stamp: Callable[[float], Time]


class GoalServer:
    """Serves the goals of a node, one at a time; a new goal replaces the active one.

    Args:
        node: The node.
        motions: Its motions.
        action: The type FollowJointTrajectory.
        tolerances: Tolerances of goals without their own.
        rate: Rate of feedback and of checking for the end of a goal, Hz.
    """

    def __init__(
        self,
        node: RobotNode[Any],
        motions: Motions,
        action: Any,
        tolerances: DefaultTolerances,
        rate: float,
    ) -> None:
        self._node, self._motions = node, motions
        self._action = action
        self._tolerances = tolerances
        self._server = ResultServer(
            node,
            action,
            ACTION_NAME,
            _never,
            goal_callback=self._on_goal,
            handle_accepted_callback=self._on_accepted,
            cancel_callback=self._on_cancel,
            result_timeout=RESULT_TIMEOUT_S,
        )
        node.call_every(1.0 / rate, self.report)

    def end(self, reason: str) -> None:
        """Abort the active goal, if any, and report it to its client."""
        self._motions.goals.end(Verdict.INVALID_GOAL, reason)
        self.report()
        self._server.wait_until_sent()

    def close(self) -> None:
        """Withdraw the action."""
        self.end("the action is no longer offered")
        self._server.destroy()

    # -- requests of clients ---------------------------------------------------------------

    def _on_goal(self, request: Any) -> GoalResponse:
        try:
            if request.multi_dof_trajectory.points:
                raise TrajectoryError(
                    "trajectory: multi_dof_trajectory is not followed; give the joints in "
                    "trajectory"
                )
            goal = self._motions.execute(request.trajectory, self._tolerances_of(request))
        except RobotDynamicsError as error:
            # The response to a client has no field for a reason
            self._node.throttled_log.warn("follow_joint_trajectory", f"goal rejected: {error}")
            return GoalResponse.REJECT
        before = self._motions.goals.accept(goal)
        if before is not None:
            self._send_result(before)
        return GoalResponse.ACCEPT

    def _tolerances_of(self, request: Any) -> Tolerances:
        path, goal = (
            {one.name: Tolerance(one.position, one.velocity) for one in given}
            for given in (request.path_tolerance, request.goal_tolerance)
        )
        time = nanoseconds(request.goal_time_tolerance) / NS_PER_S
        names = self._motions.goals.joint_names
        return self._tolerances.now().with_goal(names, path, goal, time)

    def _on_accepted(self, handle: ServerGoalHandle) -> None:
        goal = self._motions.goals.active
        if goal is not None:  # always true: nothing runs between acceptance and this call
            goal.client = handle
            handle.execute()
            self._node.get_logger().info(
                f"following a goal of {counted(len(goal.times), 'point')}, {goal.times[-1]:.3f} s"
            )

    def _on_cancel(self, handle: ServerGoalHandle) -> CancelResponse:
        goals = self._motions.goals
        if goals.active is None or goals.active.client != handle:
            return CancelResponse.REJECT
        if not goals.end(Verdict.CANCELED, "cancelled by its client; the arm comes to rest"):
            return CancelResponse.REJECT  # it has ended; its result follows
        self._motions.stop()
        return CancelResponse.ACCEPT

    # -- responses to clients -----------------------------------------------------------------

    def report(self) -> None:
        """Send feedback, or the result once the goal has ended."""
        goals = self._motions.goals
        ended, active = goals.collect(), goals.active
        if ended is not None:
            self._send_result(ended)
        if active is None:
            return
        if active.client is None:  # the response could not be sent
            goals.end(Verdict.INVALID_GOAL, "its client has gone")
            self._motions.stop()
        elif active.moment is not None:
            active.client.publish_feedback(self._feedback(active, active.moment))

    def _send_result(self, goal: Goal) -> None:
        handle, (verdict, reason) = goal.client, goal.progress
        if handle is None:
            return
        logger = self._node.get_logger()
        if verdict is Verdict.SUCCESSFUL:
            handle.succeed()
            logger.info("goal reached")
        elif verdict is Verdict.CANCELED:
            handle.canceled()
            logger.info(f"goal ended: {reason}")
        else:
            handle.abort()
            logger.warning(f"goal aborted: {reason}")
        result = self._action.Result()
        result.error_code = verdict.error_code
        result.error_string = reason
        self._server.send_result(handle, result)

    def _feedback(self, goal: Goal, moment: GoalSample) -> Any:
        time = moment.now - goal.start
        feedback = self._action.Feedback()
        feedback.header.stamp = self._motions.stamp(moment.now)
        feedback.joint_names = list(self._motions.goals.joint_names)
        feedback.desired = _point(time, *moment.desired, effort=moment.effort)
        feedback.actual = _point(time, moment.position, moment.velocity)
        feedback.error = _point(time, moment.position_error, moment.velocity_error)
        if hasattr(feedback, "index"):  # since control_msgs 6.3
            feedback.index = goal.point(moment.now)
        return feedback


def serve_goals(
    node: RobotNode[Any], motions: Motions, tolerances: DefaultTolerances, rate: float
) -> GoalServer | None:
    """Return the server of a node's goals, or None if control_msgs is missing or unusable."""
    without = "no action follow_joint_trajectory: control_msgs"
    try:
        from control_msgs.action import FollowJointTrajectory  # noqa: PLC0415

        return GoalServer(node, motions, FollowJointTrajectory, tolerances, rate)
    except Exception as error:  # of its Python modules, its libraries, or rclpy
        if isinstance(error, ModuleNotFoundError) and str(error.name).startswith("control_msgs"):
            node.get_logger().debug(f"{without} is not installed")
        else:
            node.get_logger().warning(
                f"{without} cannot be used ({one_line(repr(error))}); install the control_msgs of "
                "this ROS distribution"
            )
        return None


class ResultServer(ActionServer):  # type: ignore[misc]  # rclpy is untyped where it is absent
    """Sends the result of a goal when it has ended.

    ActionServer sends the return value of its execute callback. A callback that waits for the end
    would block the executor, and one that awaits it would make the executor spin.
    """

    _sent: threading.Event | None = None
    _executor_thread: int | None = None

    def notify_execute(self, goal_handle: ServerGoalHandle, execute_callback: object) -> None:
        """Do nothing: the goal is active already."""
        self._executor_thread = threading.get_ident()

    def send_result(self, goal_handle: ServerGoalHandle, result: Any) -> None:
        """Have the executor send the result of an ended goal."""
        self._sent = threading.Event()
        super().notify_execute(goal_handle, lambda _: result)

    def _send_result_response(self, *args: Any) -> None:
        """Respond to a client; the executor runs this after sending the result."""
        super()._send_result_response(*args)
        if self._sent is not None:
            self._sent.set()

    def wait_until_sent(self) -> None:
        """Wait until the executor, in another thread, has sent the result."""
        if self._sent is not None and threading.get_ident() != self._executor_thread:
            self._sent.wait(SEND_TIMEOUT_S)


def _never(_: ServerGoalHandle) -> Any:
    raise NotImplementedError


def _point(
    time: float,
    q: np.ndarray[Any, Any],
    qd: np.ndarray[Any, Any],
    qdd: Sequence[float] | np.ndarray[Any, Any] = (),
    effort: Sequence[float] | np.ndarray[Any, Any] = (),
) -> JointTrajectoryPoint:
    """Return a state at a time, without velocities unless all of them are known."""
    return JointTrajectoryPoint(
        time_from_start=duration_msg(time),
        positions=list(map(float, q)),
        velocities=list(map(float, qd)) if np.isfinite(qd).all() else [],
        accelerations=list(map(float, qdd)),
        effort=list(map(float, effort)),
    )
