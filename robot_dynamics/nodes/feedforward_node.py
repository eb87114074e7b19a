"""feedforward_node: trajectories in, the joint efforts that they take out.

It follows the trajectory that came last and publishes, at a steady rate, where
the joints are to be and what efforts the model asks for there, with the payload
that the arm carries and the wrench that it is to exert. Until the first
trajectory it holds the joints where they are.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from time import monotonic

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.control import Gains, Model, Watchdog, continuous_joints
from robot_dynamics.control.transitions import Fade
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import RobotDynamicsError, TrajectoryError
from robot_dynamics.nodes.arm_model import ArmModel, ModelParameters, check_gravity
from robot_dynamics.nodes.loop import Loop
from robot_dynamics.nodes.messages import (
    SECOND,
    JointReader,
    effort_msg,
    joint_state_msg,
    nanoseconds,
    time_msg,
    trajectory_msg,
    waypoints_from_msg,
    wrench_from_msg,
)
from robot_dynamics.nodes.parameters import parameter
from robot_dynamics.nodes.process import run
from robot_dynamics.nodes.qos import LATEST, PUBLISHED, STATES, TRAJECTORIES
from robot_dynamics.nodes.robot_node import RobotNode, moved
from robot_dynamics.robot import Robot
from robot_dynamics.robot.robot import Array
from robot_dynamics.trajectory import Follower, State, Trajectory, Waypoints
from robot_dynamics.trajectory.effort import with_effort
from robot_dynamics.trajectory.limits import check_limits, slowed_to_fit, violations

CLOCK_JUMP = 0.1
"""Step back of the clock that is more than a correction: trajectories are then forgotten, s."""

Plan = Callable[[Waypoints], Trajectory]
"""Makes a motion of all joints of waypoints, from the present motion on."""

PATIENCE = 2 * SECOND
"""Time without the states of all joints after which the node says so, ns."""


@dataclass(frozen=True)
class FeedforwardParameters(ModelParameters):
    """Parameters of feedforward_node."""

    blend: float = parameter(
        0.2,
        "Time to join a trajectory that does not start at the present state, s",
        low=1e-3,
        high=10.0,
    )
    preparation: float = parameter(
        0.01,
        "Least time between the arrival of a trajectory and its start, in which it is prepared, s",
        low=0.0,
        high=10.0,
    )
    limits: str = parameter(
        "warn",
        "What becomes of a trajectory beyond the limits of the URDF",
        one_of=("reject", "warn", "scale", "ignore"),
    )
    empty_trajectory: str = parameter(
        "reject",
        "What a trajectory without points means: stop comes to rest and holds",
        one_of=("reject", "stop"),
    )
    effort_tolerance: float = parameter(
        0.1,
        "How far a straight line between two points of joint_trajectory_with_effort may be from "
        "the true effort, N m or N",
        low=1e-6,
        high=1e6,
    )
    wrench_ramp: float = parameter(0.1, "Time to pass to another wrench, s", low=0.0, high=60.0)
    wrench_timeout: float = parameter(
        0.2, "Age of the last wrench at which it goes back to zero, s", low=1e-3, high=3600.0
    )
    fade: float = parameter(
        0.2, "Time to pass to other terms of the model, such as friction, s", low=0.0, high=10.0
    )


class FeedforwardNode(RobotNode[FeedforwardParameters]):
    """Publishes the desired motion and the efforts that it takes."""

    NAME = "feedforward_node"
    PARAMETERS = FeedforwardParameters

    def begin(self, robot: Robot) -> None:
        """Compile the equations and open the topics."""
        self.robot, self._order = moved(robot, self.parameters.joints)
        n = self.robot.dof
        self.dynamics = Dynamics(self.robot, self.parameters.formulation)
        no_feedback = Gains(np.zeros(n), np.zeros(n))
        self.arm = ArmModel(self, Model(self.dynamics, no_feedback))
        self.arm.load.wrench.duration = self.parameters.wrench_ramp
        self._model = self.arm.at(monotonic())
        self._terms = self.arm.base
        self._fade = Fade(n, self.parameters.fade)
        self._tau = np.zeros(n)
        for shape in ((n,), (1, n)):  # compile before the first cycle and the first trajectory
            self._efforts_of(State(*np.zeros((3, *shape))))
        self._wrench_watch = Watchdog(self.parameters.wrench_timeout)
        self._states = JointReader("joint_states", self.robot.joint_names)
        self._follower: Follower | None = None
        self._next: tuple[Trajectory, float] | None = None
        self._stop = False
        self._taken = threading.Event()
        self._last = 0.0
        self._epoch = self.get_clock().now().nanoseconds

        self._reference = self.create_publisher(JointState, "reference", PUBLISHED)
        self._effort = self.create_publisher(Float64MultiArray, "feedforward_effort", PUBLISHED)
        self._with_effort = self.create_publisher(
            JointTrajectory, "joint_trajectory_with_effort", TRAJECTORIES
        )
        self._states_in = self.fast_subscription(
            JointState, "joint_states", self._on_joint_states, STATES
        )
        self._wrench_in = self.create_subscription(WrenchStamped, "wrench", self._on_wrench, LATEST)
        self.get_logger().info(
            f"feedforward of robot '{robot.name}': {', '.join(self.robot.joint_names)}; "
            f"{self.parameters.formulation} at {self.parameters.rate:g} Hz, gravity "
            f"{self.arm.load.describe()['gravity']}"
            + ("" if self.parameters.compensate_gravity else " as compensate_gravity is false")
        )

    def attach(self, loop: Loop) -> None:
        """See `RobotNode.attach`."""
        loop.add(self.NAME, self.parameters.rate, self.tick, inputs=[self._states_in])

    # -- the fast work ----------------------------------------------------------------------

    def tick(self) -> None:
        """Publish what is due now."""
        stamp = self.get_clock().now()
        follower = self._follower or self._start_following(stamp.nanoseconds)
        if follower is None:
            return
        now = self._seconds(stamp.nanoseconds)
        if now < self._last - CLOCK_JUMP:
            follower.clock_jumped(self._last, now)
            self._next = None
            self._taken.set()
            self.get_logger().warning(
                f"the clock jumped back by {self._last - now:.3f} s; trajectories are forgotten"
            )
        self._last = now
        if self._stop:
            follower.stop(now)
            self._next = None
            self._stop = False  # not before: what comes next is planned from the stop on
            self._taken.set()
        if self._next is not None and now >= self._next[1]:
            follower.follow(*self._next)
            self._next = None
            self._taken.set()
        state = follower.sample(now)
        tau = self._tau = self._efforts_now(state, monotonic())
        self._reference.publish(
            joint_state_msg(self.robot.joint_names, state.q, state.qd, tau, stamp.to_msg())
        )
        self._effort.publish(effort_msg(tau[self._order]))

    def _start_following(self, ns: int) -> Follower | None:
        """Hold the joints where they are, once that is known."""
        if not self._states.complete:
            if ns - self._epoch > PATIENCE:
                self.complaints.say(
                    "joint_states",
                    f"waiting for {', '.join(self._states.missing)} on "
                    f"{self.resolve_topic_name('joint_states')}; if the robot does not have them, "
                    "name those that it has in the parameter joints",
                )
            return None
        self._follower = Follower(
            self.robot.joint_names,
            self._states.position,
            continuous=continuous_joints(self.robot),
            blend=self.parameters.blend,
        )
        self._terms = self.arm.base  # there is no effort yet to pass over from
        # Not before: a trajectory that came earlier could not be joined to where the robot is
        self.create_subscription(
            JointTrajectory, "joint_trajectory", self._on_trajectory, TRAJECTORIES
        )
        self.get_logger().info("holding the measured position; ready for trajectories")
        return self._follower

    def _efforts_now(self, state: State, now: float) -> Array:
        """Efforts of the state that is due, shape (n,), under the load of this moment."""
        if self._wrench_watch.change(now) == "stale":
            self.arm.load.wrench.aim(np.zeros(6))
            self.get_logger().warning(
                f"no wrench for {self._wrench_watch.timeout:g} s; it goes back to zero"
            )
        self._model = self.arm.at(now)
        tau = self._efforts_of(state)
        if self._terms is not self.arm.base:
            self._terms = self.arm.base
            self._fade.begin(self._tau - tau, now)
        return tau + self._fade.value(now)

    def _efforts_of(self, state: State) -> Array:
        """Efforts that a motion takes under the present load, shape (n,) or (N, n), N m or N."""
        return self._model.feedforward(*state)

    def _on_joint_states(self, msg: JointState) -> None:
        try:
            self._states.read(msg)
        except RobotDynamicsError as error:
            self.complaints.say("joint_states", error)

    # -- load and terms, in the executor's thread -------------------------------------------

    def check(self, value: FeedforwardParameters) -> None:
        """See `RobotNode.check`."""
        check_gravity(value)

    def changed(self, value: FeedforwardParameters) -> None:
        """Use new terms, another gravity and other times from now on."""
        self._fade.duration = value.fade
        self._wrench_watch.timeout = value.wrench_timeout
        self.arm.load.wrench.duration = value.wrench_ramp
        self.arm.changed()

    def _on_wrench(self, msg: WrenchStamped) -> None:
        if self._follower is None:
            return
        load = self.arm.load
        try:
            q = self._follower.sample(self._last).q
            load.exert(wrench_from_msg(msg), load.pose(msg.header.frame_id, q))
        except RobotDynamicsError as error:
            self.complaints.say("wrench", error)
            return
        self._wrench_watch.feed(monotonic())

    def diagnostics(self) -> Mapping[str, object]:
        """What it does, and with which terms and load."""
        follower, parameters = self._follower, self.parameters
        doing = "waiting for joint_states"
        if follower is not None:
            doing = "following" if follower.moving(self._now()) else "holding"
        return {
            "motion": doing,
            "compensate_gravity": parameters.compensate_gravity,
            "compensate_friction": parameters.compensate_friction,
            "compensate_rotor_inertia": parameters.compensate_rotor_inertia,
            **self.arm.load.describe(),
        }

    # -- trajectories, in the executor's thread ---------------------------------------------

    def _on_trajectory(self, msg: JointTrajectory) -> None:
        if self._follower is None:
            return
        if not msg.points and self.parameters.empty_trajectory == "stop":
            self._taken.clear()
            self._stop = True
            self.get_logger().info("stopping: a trajectory without points came")
            return
        try:
            waypoints = waypoints_from_msg(msg, self.robot.joint_names)
            trajectory, begin = self._plan(self._follower, waypoints, nanoseconds(msg.header.stamp))
        except RobotDynamicsError as error:
            self.complaints.say("joint_trajectory", f"refused: {error}")
            return
        if self._with_effort.get_subscription_count() > 0:
            try:
                filled = with_effort(
                    trajectory, self._efforts_of, tolerance=self.parameters.effort_tolerance
                )
            except RobotDynamicsError as error:
                self.complaints.say("joint_trajectory_with_effort", f"not published: {error}")
                return
            on_arrival = nanoseconds(msg.header.stamp) == 0  # as the input, so the output
            stamp = None if on_arrival else self._stamp(begin)
            self._with_effort.publish(trajectory_msg(filled, stamp))
        self.get_logger().info(
            f"following a trajectory of {len(waypoints.times)} points, "
            f"{waypoints.duration:.3f} s, of {', '.join(waypoints.joint_names)}",
            throttle_duration_sec=1.0,
        )

    def _plan(
        self, follower: Follower, waypoints: Waypoints, stamp_ns: int
    ) -> tuple[Trajectory, float]:
        """Have the loop follow waypoints from a moment shortly ahead, without a jump.

        Returns:
            The motion of all joints and its time zero, s on the clock of the follower.
        """
        lead = self.parameters.preparation
        while self.begun and self.context.ok():
            if self._stop or self._next is not None:  # begins in a moment; plan on from there
                self._taken.wait(0.1)
                continue
            begin = self._now() + lead
            # A stamp of exactly zero would mean now
            stamp = (self._seconds(stamp_ns) or 1e-9) if stamp_ns else 0.0
            plan = partial(follower.plan, now=begin, stamp=stamp)
            trajectory = LIMITS[self.parameters.limits](self, waypoints, plan)
            self._refuse_not_finite(trajectory)
            self._taken.clear()
            if self._now() <= begin:
                self._next = (trajectory, begin)
                return trajectory, begin
            lead += 2.0 * (self._now() - begin)  # planning took longer than that
        raise TrajectoryError("trajectory: the node is shutting down")

    def _refuse_not_finite(self, trajectory: Trajectory) -> None:
        """Refuse numbers that are finite themselves but make motions or efforts that are not.

        Raises:
            TrajectoryError: One line.
        """
        with np.errstate(all="ignore"):
            state = trajectory.sample(np.linspace(trajectory.start, trajectory.end, 65))
            finite = all(np.all(np.isfinite(part)) for part in state)
            if not finite or not np.all(np.isfinite(self._efforts_of(state))):
                raise TrajectoryError(
                    "trajectory: its numbers are so large that the motion or its efforts "
                    "overflow; check the units"
                )

    def reject_beyond_limits(self, waypoints: Waypoints, plan: Plan) -> Trajectory:
        """Refuse a motion beyond the limits of the URDF; the efforts of the model included.

        Raises:
            TrajectoryError: One line that names the joint, the time and the limit.
        """
        trajectory = plan(waypoints)
        check_limits(trajectory, self.robot, self._efforts_of)
        return trajectory

    def warn_of_limits(self, waypoints: Waypoints, plan: Plan) -> Trajectory:
        """Say which limit a motion goes beyond, and let it pass."""
        trajectory = plan(waypoints)
        try:
            check_limits(trajectory, self.robot, self._efforts_of)
        except TrajectoryError as error:
            self.complaints.say("joint_trajectory", f"beyond a limit: {error}")
        return trajectory

    def slow_down(self, waypoints: Waypoints, plan: Plan) -> Trajectory:
        """Give a motion the time that it needs to stay within the limits.

        Raises:
            TrajectoryError: If no time is enough.
        """
        trajectory, factor = slowed_to_fit(
            waypoints, plan, lambda trajectory: violations(trajectory, self.robot, self._efforts_of)
        )
        if factor > 1.0:
            self.get_logger().warning(
                f"trajectory slowed down {factor:.3g} times to fit the limits"
            )
        return trajectory

    # -- time -------------------------------------------------------------------------------

    def _seconds(self, ns: int) -> float:
        """A time of the node's clock on the clock of the follower: seconds since we began."""
        return (ns - self._epoch) / SECOND

    def _stamp(self, seconds: float) -> Time:
        return time_msg(self._epoch + round(seconds * SECOND))

    def _now(self) -> float:
        return self._seconds(self.get_clock().now().nanoseconds)


LIMITS: Mapping[str, Callable[[FeedforwardNode, Waypoints, Plan], Trajectory]] = {
    "reject": FeedforwardNode.reject_beyond_limits,
    "warn": FeedforwardNode.warn_of_limits,
    "scale": FeedforwardNode.slow_down,
    "ignore": lambda node, waypoints, plan: plan(waypoints),
}
"""What the parameter `limits` makes of a trajectory."""


def main(args: list[str] | None = None) -> None:
    """Run the node."""
    sys.exit(run(FeedforwardNode, args))


if __name__ == "__main__":
    main()
