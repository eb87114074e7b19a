"""feedforward_node: trajectories in, reference and feedforward efforts out.

It follows the latest trajectory and publishes, at a steady rate, the desired motion and the efforts
that the model needs for it, with the payload of the arm and the desired wrench. Until the first
trajectory it holds the measured position.

Sections 1 and 2 follow a trajectory message down to its efforts. Planning takes longer than a cycle
of the loop, so that two threads are at work; `Handover` is all that they share of a motion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from time import monotonic

import numpy as np
import scipy.interpolate  # takes 0.5 s; imported before the first motion
import scipy.spatial.transform  # noqa: F401
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.control import Gains, Model, continuous_joints, position_error
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.errors import RobotDynamicsError, TrajectoryError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.numbers import counted
from robot_dynamics.foundation.units import NS_PER_S
from robot_dynamics.nodes.feedforward.action import DefaultTolerances, Motions, serve_goals
from robot_dynamics.nodes.feedforward.believed_states import BelievedStates
from robot_dynamics.nodes.feedforward.desired_motion import DesiredMotion, WrenchInput
from robot_dynamics.nodes.feedforward.effort_trajectories import EffortTrajectories
from robot_dynamics.nodes.feedforward.feedforward_parameters import FeedforwardParameters
from robot_dynamics.nodes.feedforward.reference_refusals import ReferenceRefusals
from robot_dynamics.nodes.ros.diagnostics import Fault, one_line
from robot_dynamics.nodes.ros.joint_values import Efforts, JointValues, order_label, run_of
from robot_dynamics.nodes.ros.messages import (
    ANSWER_TOPIC,
    nanoseconds,
    time_msg,
)
from robot_dynamics.nodes.ros.topics import OUTPUT_QOS, STATE_QOS, TRAJECTORY_QOS
from robot_dynamics.nodes.runtime.drive_parameters import DeclaredDriveGains
from robot_dynamics.nodes.runtime.friction_input import FrictionInput
from robot_dynamics.nodes.runtime.model_agreement import ModelAnnouncement
from robot_dynamics.nodes.runtime.online_model import OnlineModel
from robot_dynamics.nodes.runtime.robot_node import RobotNode
from robot_dynamics.robot import Robot
from robot_dynamics.trajectory import Follower, State, Trajectory
from robot_dynamics.trajectory.goal import Goal, Goals, GoalSample, Tolerances, Verdict
from robot_dynamics.trajectory.handover import Handover
from robot_dynamics.trajectory.motion_clock import MotionClock
from robot_dynamics.trajectory.motion_limits import check_start
from robot_dynamics.trajectory.motion_plan import PlannedMotion, Rules
from robot_dynamics.trajectory.streams import PointStream
from robot_dynamics.trajectory.waypoints import Waypoints, waypoints_from_msg

IDLE_STATES_PERIOD_S = 0.05
"""Period of reading the states while no goal is active, s."""

STRAYED = 0.004
"""Distance of the arm from a reference that it does not follow at which the reference comes to it,
rad or m."""


class FeedforwardNode(RobotNode[FeedforwardParameters]):
    """Publishes the desired motion and its feedforward efforts."""

    NAME = "feedforward_node"
    PARAMETERS = FeedforwardParameters

    def configure(self) -> None:
        """Compile the equations and create the topics."""
        super().configure()
        robot, n = self.robot, self.robot.dof
        no_feedback = Gains(np.zeros(n), np.zeros(n))
        model = Model(Dynamics(robot, self.parameters.formulation), no_feedback)
        self.arm = OnlineModel(self, model, self._motion_ahead, FrictionInput(self))
        compile_kernels(self.arm.at(self.now()))
        self._desired = DesiredMotion(self.arm, self.now(), self.parameters.fade)
        self._states = BelievedStates(robot, self.parameters.velocity_filter)
        self._measurements = 0
        continuous = continuous_joints(robot)
        self._continuous = continuous if continuous.any() else None
        self.goals = Goals(robot.joint_names)
        self._holds_with_effort = self.parameters.hold_with_effort
        self._limits = self.parameters.limits
        self._trajectories: Subscription | None = None
        self._forget()

        self._reference = self.create_loop_publisher(JointState, "reference", OUTPUT_QOS)
        self._effort = self.create_loop_publisher(
            Float64MultiArray, "feedforward_effort", OUTPUT_QOS
        )
        self._answers = self.create_publisher(DiagnosticStatus, ANSWER_TOPIC, TRAJECTORY_QOS)
        self._places = run_of(self._order.tolist(), n)
        self._order_label = order_label([robot.joint_names[i] for i in self._order])
        self._drives = DeclaredDriveGains(self, lambda: None) if self.parameters.by_drives else None
        self._with_effort = EffortTrajectories(
            self, self._efforts_for_drives, lambda: self._handover, self._now
        )
        self._states_in = self.create_loop_subscriber(
            JointState, "joint_states", self._on_joint_states, STATE_QOS, one_source=True
        )
        self._reference_refusals = ReferenceRefusals(self)
        self.begin_anew_on_reset()
        ModelAnnouncement(self, self.arm)
        self._wrench = WrenchInput(self, self.arm, self._desired_q)
        tolerances = DefaultTolerances(self.group, robot.independent_joints)
        motions = Motions(self.goals, self.execute, self.stop, self.stamp)
        self._server = serve_goals(self, motions, tolerances, self.parameters.action_monitor_rate)
        self.get_logger().info(
            f"feedforward of robot '{robot.name}': {', '.join(self.robot.joint_names)}; "
            f"{self.parameters.formulation} at {self.parameters.rate:g} Hz, gravity "
            f"{self.arm.load.describe()['gravity']}"
            + ("" if self.parameters.compensate_gravity else " as compensate_gravity is false")
        )
        if self._states.estimates:
            self.get_logger().info(self._states.estimates)

    def _forget(self) -> None:
        self._states.forget()
        self._handover: Handover | None = None  # from the first state on
        self._unfollowed = ""
        self._stream = PointStream()
        self._read_states_at = 0.0  # steady time, s
        self._motion_clock = MotionClock(self.get_clock().now().nanoseconds, monotonic())

    # -- 1. a message is read, planned and offered: the executor's thread ---------------------

    def _on_trajectory(self, msg: JointTrajectory) -> None:
        if self._handover is None:
            return
        if not msg.points and self.parameters.empty_trajectory == "stop":
            self.goals.end(Verdict.INVALID_GOAL, "stopped by a trajectory without points")
            self.stop()
            self.get_logger().info("stopping: received a trajectory without points")
            self._answer(DiagnosticStatus.OK)
            return
        try:
            source = "a trajectory on the topic joint_trajectory"
            motion = self._follow(msg, source, self._stream)
        except RobotDynamicsError as error:
            self.throttled_log.warn("joint_trajectory", f"refused: {error}")
            self._answer(DiagnosticStatus.ERROR, one_line(error))
            return
        waypoints = motion.waypoints
        self._answer(DiagnosticStatus.OK, motion.remark)
        self.get_logger().info(
            f"following a trajectory of {counted(len(waypoints.times), 'point')}, "
            f"{waypoints.duration:.3f} s, of {', '.join(waypoints.joint_names)}",
            throttle_duration_sec=1.0,
        )

    def _answer(self, level: bytes, message: str = "") -> None:
        """Answer a trajectory of the topic; never throttled, as a client may wait for it."""
        self._answers.publish(DiagnosticStatus(level=level, name=self.get_name(), message=message))

    def execute(self, msg: JointTrajectory, tolerances: Tolerances) -> Goal:
        """Follow the trajectory of a goal.

        Raises:
            RobotDynamicsError: If it cannot be followed.
        """
        if not (self._reference.subscriber_count or self._with_effort.subscriber_count):
            raise TrajectoryError(
                "no node subscribes to reference; start or configure controller_node"
            )
        self._stream.forget()
        motion = self._follow(msg, "a new goal")
        times = motion.waypoints.times.tolist()
        return Goal(motion.trajectory, motion.begin, motion.start, motion.end, times, tolerances)

    def _follow(
        self, msg: JointTrajectory, source: str, stream: PointStream | None = None
    ) -> PlannedMotion:
        """Have the loop follow a trajectory, and publish it with effort.

        Args:
            msg: The trajectory.
            source: Its source, for the result of the goal that it replaces.
            stream: Stream of which it may be a part.

        Raises:
            RobotDynamicsError: If it cannot be followed.
        """
        handover = self._handover
        if not self.active or handover is None:
            raise TrajectoryError(
                f"trajectory: {self.get_name()} is not active or has no joint_states yet"
            )
        waypoints, stamp = self._read(msg)
        self._reference_refusals.check()
        motion = self._planned(handover, waypoints, stamp, stream)
        if motion.remark:
            self.get_logger().warning(motion.remark, throttle_duration_sec=1.0)
        self.goals.end(Verdict.INVALID_GOAL, f"{source} has taken its place")
        handover.offer(motion)  # `tick` takes it over when it begins
        self._with_effort.send(motion.trajectory, self.stamp(motion.begin) if stamp else None)
        return motion

    def _read(self, msg: JointTrajectory) -> tuple[Waypoints, int]:
        """Return the waypoints of a message, and its stamp, ns; zero means now."""
        waypoints = waypoints_from_msg(
            msg,
            self.robot.joint_names,
            followers=self.robot.followers,
            speeds=self.robot.limits.velocity,
            allow_partial=self.parameters.allow_partial_joints_goal,
            allow_end_velocity=self.parameters.allow_nonzero_velocity_at_trajectory_end,
        )
        stamp = nanoseconds(msg.header.stamp)
        if stamp:
            now = self.get_clock().now().nanoseconds
            check_start(stamp / NS_PER_S, waypoints.duration, now / NS_PER_S)
        return waypoints, stamp

    def _planned(
        self, handover: Handover, waypoints: Waypoints, stamp: int, stream: PointStream | None
    ) -> PlannedMotion:
        """Plan a motion within the limits; it passes a point of a stream without coming to rest."""
        given = self.parameters
        effort = self._desired.efforts_of
        rules = Rules(given.limits, self.robot, effort, self._continuous, given.blend)
        plan = partial(handover.planned, stamp_ns=stamp, rules=rules, lead=given.preparation)
        if stream is not None:
            now = self._now()
            start = self._motion_clock.seconds(stamp) if stamp else now
            through = stream.take(waypoints, now, start)
            if through is not waypoints:
                with suppress(TrajectoryError):  # it may leave the limits behind the point
                    return plan(through)
        return plan(waypoints)

    # -- 2. its motion is taken over and its efforts published: the loop's thread -------------

    def tick(self) -> None:
        """Publish the present reference."""
        steady, stamp = self.now(), self.nanoseconds
        if reads_states := steady >= self._read_states_at:
            self._states_in.take()
        if (handover := self._handover or self._start_following(stamp)) is None:
            return
        follower, clock = handover.follower, self._motion_clock
        before, jump = clock.now, clock.tick(stamp, monotonic())
        if jump:
            self._on_clock_jump(handover, jump, before)
        now = clock.now
        if not handover.take(now):
            self.get_logger().warning(
                "trajectory dropped because its motion was stopped; send it again"
            )
        self._with_effort.update(follower, steady)
        if self._reference_refusals.refusal != self._unfollowed:
            self._on_unfollowed(handover, now)
        elif self._unfollowed and reads_states and not follower.moving(now):
            self._come_to_arm(follower, now)
        state = follower.sample(now)
        tau = self._publish(state, stamp, steady)
        if reads_states:
            self._read_states_at = steady + IDLE_STATES_PERIOD_S
        if self.goals.active is not None:
            self._read_states_at = 0.0
            if reads_states:  # else the states may be old
                self._judge(follower, now, state, tau)
        elif self._holds_with_effort and not handover.pending:
            self._with_effort.join(follower, self._links(), now)

    def _start_following(self, ns: int) -> Handover | None:
        """Hold the joints where they are, once that is known."""
        if not self._states.complete:
            self.warn_of_missing_joints(self._states, self._motion_clock.seconds(ns))
            return None
        follower = Follower(
            self.robot.joint_names,
            self._links(),
            continuous=self._continuous,
            blend=self.parameters.blend,
            within=(self.robot.limits.lower, self.robot.limits.upper),
        )
        self._handover = Handover(follower, self._motion_clock, self._now, self._works)
        self._with_effort.begin(follower)
        self._desired.forget()
        self._motion_clock.start(ns, monotonic())
        # A trajectory that came earlier could not be joined to the position of the robot
        self._trajectories = self.create_subscription(
            JointTrajectory, "joint_trajectory", self._on_trajectory, TRAJECTORY_QOS
        )
        self.get_logger().info("holding the measured position; ready for trajectories")
        return self._handover

    def _publish(self, state: State, stamp: int, steady: float) -> Array:
        """Publish a desired state with its efforts, and return these, shape (n,), N m or N."""
        if self._wrench.received:
            self._wrench.check(steady)
        rows = self._desired.rows_at(state, steady)
        self._reference.publish(JointValues(self.robot.joint_names, stamp, rows))
        if self._effort.subscriber_count:
            self._effort.publish(Efforts(self._order_label, rows[2, self._places]))
        return np.asarray(rows[2])

    # -- what ends a motion early -------------------------------------------------------------

    def stop(self) -> None:
        """Come to rest and hold."""
        self._stream.forget()
        if self._handover is not None:
            self._handover.stop()

    def _on_clock_jump(self, handover: Handover, jump: float, before: float) -> None:
        if jump > 0.0:
            self.get_logger().warning(
                f"the clock jumped ahead by {jump:.3f} s; the motion goes on where it was"
            )
            return
        self.goals.end(Verdict.INVALID_GOAL, "the clock jumped back")
        handover.follower.clock_jumped(before, self._motion_clock.now)
        handover.forget()
        self._stream.forget()
        self.get_logger().warning(
            f"the clock jumped back by {-jump:.3f} s; pending trajectories are dropped"
        )

    def _on_unfollowed(self, handover: Handover, now: float) -> None:
        """Cancel the motion once the arm does not follow: only a new one is to move it."""
        self._unfollowed = why = self._reference_refusals.refusal
        if not why or not self._states.complete:
            return
        moving = handover.follower.moving(now)
        self.goals.end(Verdict.INVALID_GOAL, why)
        handover.follower.go_to(self._links().copy(), now)
        handover.forget()
        self._stream.forget()
        if moving:
            self.get_logger().warning(f"motion cancelled: {why}")

    def _come_to_arm(self, follower: Follower, now: float) -> None:
        """Keep the reference where the arm is, or it would move an arm that follows it again."""
        q = self._links()
        error = position_error(follower.sample(now).q, q, self._continuous)
        if self._states.complete and np.abs(error).max() > STRAYED:
            follower.go_to(q.copy(), now)

    def _judge(self, follower: Follower, now: float, state: State, tau: Array) -> None:
        """Update the goal, and stop if the arm has missed it."""
        q, qd = self._links().copy(), self._states.velocity.copy()
        error = position_error(state.q, q, self._continuous)
        moment = GoalSample(now, follower.trajectory, state, tau, q, qd, error, self._measurements)
        progress = self.goals.judge(moment)
        if progress is not None and progress.verdict.missed:
            follower.go_to(q, now)  # the arm must not push against an obstacle
            self._stream.forget()

    # -- measured states and efforts ----------------------------------------------------------

    def _on_joint_states(self, data: bytes) -> bool:
        ours = self._states.read(data)
        self._measurements += ours
        return ours and self._states.whole

    def _links(self) -> Array:
        """Return the measured positions of the links, shape (n,)."""
        return self._desired.links_at(self._states.q)

    def _efforts_for_drives(self, state: State) -> Array:
        """Return efforts, shape (N, n), for a controller that passes them on to the drives.

        Drives that close the loop but take no velocities damp the whole motion, not its error.
        """
        efforts = self._desired.efforts_of(state)
        if self._drives is None or self.parameters.drive_velocity:
            return efforts
        return efforts + self._drives.gains.kd * state.qd

    @property
    def _follower(self) -> Follower | None:
        return None if self._handover is None else self._handover.follower

    def _motion_ahead(self) -> Trajectory | None:
        """Return the rest of the desired motion; None before the first state."""
        follower = self._follower
        return None if follower is None else follower.ahead(self._motion_clock.now)

    def _desired_q(self) -> Array | None:
        """Return the desired positions, shape (n,); None before the first state."""
        follower = self._follower
        return None if follower is None else follower.sample(self._motion_clock.now).q

    # -- lifecycle, parameters and diagnostics ------------------------------------------------

    def activate(self) -> None:
        """See `ManagedNode.activate`."""
        self._forget()
        self.arm.forget()
        self.start_task(self.tick, inputs=self.arm.inputs)

    def deactivate(self) -> None:
        """See `ManagedNode.deactivate`: also end the goal and stop reading trajectories."""
        super().deactivate()
        self._end(f"{self.get_name()} was deactivated")

    def begin_anew(self) -> None:
        """See `RobotNode.begin_anew`: the motion ends."""
        RobotNode.deactivate(self)
        self._end("the robot was reset by its simulator")
        self.activate()

    def _end(self, reason: str) -> None:
        """End the goal and the motion, and stop reading trajectories."""
        if self._server is not None:
            self._server.end(reason)
        if self._handover is not None and self.context.ok():
            # Who follows trajectories has been sent an offered motion, too
            sent = self._handover.finish()
            self._with_effort.stop(self._handover.follower, ahead=sent)
        self._handover = None
        if self._trajectories is not None:
            self.destroy_subscription(self._trajectories)
            self._trajectories = None

    def cleanup(self) -> None:
        """See `ManagedNode.cleanup`."""
        if self._server is not None:
            self._server.close()
        super().cleanup()

    def update_robot(self, robot: Robot) -> None:
        """See `RobotNode.update_robot`: compile the equations and use them once at rest."""
        dynamics = Dynamics(robot, self.parameters.formulation)
        compile_kernels(replace(self.arm.base, dynamics=dynamics))
        self._come_to_rest()
        self.arm.use(dynamics)

    def _come_to_rest(self) -> None:
        """Stop the present motion and wait until the arm is at rest."""
        handover = self._handover
        if handover is None or not handover.follower.moving(self._now()):
            return
        self.get_logger().info("coming to rest for a new robot_description")
        self.goals.end(Verdict.INVALID_GOAL, "stopped for a new robot_description")
        self.stop()
        handover.wait_for_rest()

    def changed(self, value: FeedforwardParameters) -> None:
        """See `RobotNode.changed`."""
        self._desired.use(value.fade)
        if value.limits != self._limits:
            self.get_logger().info(f"limits '{value.limits}', before '{self._limits}'")
            self._limits = value.limits
        self._wrench.use(value)
        self.arm.changed()

    def diagnostics(self) -> Mapping[str, object]:
        """See `RobotNode.diagnostics`."""
        follower, parameters = self._follower, self.parameters
        doing = "waiting for joint_states"
        if follower is not None:
            doing = "following" if follower.moving(self._now()) else "holding"
        return {
            "motion": doing,
            "goal": "none" if self.goals.active is None else "under way",
            "compensate_gravity": parameters.compensate_gravity,
            "compensate_friction": parameters.compensate_friction,
            "compensate_velocity_terms": parameters.compensate_velocity_terms,
            "compensate_rotor_inertia": parameters.compensate_rotor_inertia,
            **self.arm.describe(),
        }

    def faults(self) -> Sequence[Fault]:
        """See `RobotNode.faults`."""
        return [*super().faults(), *self.arm.faults()]

    def _works(self) -> bool:
        return bool(self.active and self.context.ok())

    def stamp(self, seconds: float) -> Time:
        """Return a time of the motion clock, s, as a stamp."""
        return time_msg(self._motion_clock.nanoseconds(seconds))

    def _now(self) -> float:
        return self._motion_clock.seconds(self.get_clock().now().nanoseconds)


def compile_kernels(model: Model) -> None:
    """Compile the kernels that the loop and trajectories need."""
    for shape in ((3, model.dynamics.robot.dof), (3, 1, model.dynamics.robot.dof)):
        model.feedforward(*np.zeros(shape))
