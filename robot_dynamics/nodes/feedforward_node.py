"""feedforward_node: trajectories in, the joint efforts that they take out.

It follows the trajectory that came last and publishes, at a steady rate, where
the joints are to be and what efforts the model asks for there. Until the first
trajectory it holds the joints where they are.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from builtin_interfaces.msg import Time
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.control import Friction, continuous_joints
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import RobotDynamicsError, TrajectoryError
from robot_dynamics.formulations import DEFAULT_FORMULATION, FORMULATIONS
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
)
from robot_dynamics.nodes.parameters import parameter
from robot_dynamics.nodes.process import run
from robot_dynamics.nodes.qos import PUBLISHED, STATES, TRAJECTORIES
from robot_dynamics.nodes.robot_node import LoopParameters, RobotNode, moved
from robot_dynamics.robot import Robot
from robot_dynamics.robot.robot import Array
from robot_dynamics.trajectory import Follower, State, Trajectory, Waypoints
from robot_dynamics.trajectory.effort import with_effort
from robot_dynamics.trajectory.limits import check_limits

CLOCK_JUMP = 0.1
"""Step back of the clock that is more than a correction: trajectories are then forgotten, s."""

PATIENCE = 2 * SECOND
"""Time without the states of all joints after which the node says so, ns."""


@dataclass(frozen=True)
class FeedforwardParameters(LoopParameters):
    """Parameters of feedforward_node."""

    formulation: str = parameter(
        DEFAULT_FORMULATION,
        "Equations that the kernels are compiled from",
        one_of=FORMULATIONS,
        read_only=True,
    )
    compensate_friction: bool = parameter(
        True, "Add the friction of the URDF at the desired velocity"
    )
    friction_width: float = parameter(
        0.01,
        "Speed at which compensated Coulomb friction reaches 76 %, rad/s or m/s",
        low=1e-6,
        high=10.0,
    )
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
        one_of=("reject", "warn", "ignore"),
    )
    effort_tolerance: float = parameter(
        0.1,
        "How far a straight line between two points of joint_trajectory_with_effort may be from "
        "the true effort, N m or N",
        low=1e-6,
        high=1e6,
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
        self._friction = Friction.of(self.robot)
        for shape in ((n,), (1, n)):  # compile before the first cycle and the first trajectory
            self._efforts_of(State(*np.zeros((3, *shape))))
        self._states = JointReader("joint_states", self.robot.joint_names)
        self._follower: Follower | None = None
        self._next: tuple[Trajectory, float] | None = None
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
        self.get_logger().info(
            f"feedforward of robot '{robot.name}': {', '.join(self.robot.joint_names)}; "
            f"{self.parameters.formulation} at {self.parameters.rate:g} Hz, gravity "
            f"{', '.join(f'{x:g}' for x in robot.gravity)} m/s^2"
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
        if self._next is not None and now >= self._next[1]:
            follower.follow(*self._next)
            self._next = None
            self._taken.set()
        state = follower.sample(now)
        tau = self._efforts_of(state)
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
        # Not before: a trajectory that came earlier could not be joined to where the robot is
        self.create_subscription(
            JointTrajectory, "joint_trajectory", self._on_trajectory, TRAJECTORIES
        )
        self.get_logger().info("holding the measured position; ready for trajectories")
        return self._follower

    def _efforts_of(self, state: State) -> Array:
        """Efforts that a motion takes, shape (n,) or (N, n), N m or N."""
        tau = self.dynamics.inverse(*state)
        parameters = self.parameters
        if parameters.compensate_friction:
            tau = tau + self._friction.smooth(state.qd, parameters.friction_width)
        return tau

    def _on_joint_states(self, msg: JointState) -> None:
        try:
            self._states.read(msg)
        except RobotDynamicsError as error:
            self.complaints.say("joint_states", error)

    # -- trajectories, in the executor's thread ---------------------------------------------

    def _on_trajectory(self, msg: JointTrajectory) -> None:
        if self._follower is None:
            return
        try:
            waypoints = waypoints_from_msg(msg, self.robot.joint_names)
            trajectory, begin = self._plan(self._follower, waypoints, nanoseconds(msg.header.stamp))
        except RobotDynamicsError as error:
            self.complaints.say("joint_trajectory", f"refused: {error}")
            return
        if self._with_effort.get_subscription_count() > 0:
            filled = with_effort(
                trajectory, self._efforts_of, tolerance=self.parameters.effort_tolerance
            )
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
            if self._next is not None:  # the last one starts in a moment; plan on from there
                self._taken.wait(0.1)
                continue
            begin = self._now() + lead
            # A stamp of exactly zero would mean now
            stamp = (self._seconds(stamp_ns) or 1e-9) if stamp_ns else 0.0
            trajectory = follower.plan(waypoints, begin, stamp)
            LIMITS[self.parameters.limits](self, trajectory)
            self._taken.clear()
            if self._now() <= begin:
                self._next = (trajectory, begin)
                return trajectory, begin
            lead += 2.0 * (self._now() - begin)  # planning took longer than that
        raise TrajectoryError("trajectory: the node is shutting down")

    def check_limits(self, trajectory: Trajectory) -> None:
        """Refuse a motion beyond the limits of the URDF; the efforts of the model included.

        Raises:
            TrajectoryError: One line that names the joint, the time and the limit.
        """
        check_limits(trajectory, self.robot, self._efforts_of)

    def warn_of_limits(self, trajectory: Trajectory) -> None:
        """Say which limit a motion goes beyond, and let it pass."""
        try:
            self.check_limits(trajectory)
        except TrajectoryError as error:
            self.complaints.say("joint_trajectory", f"beyond a limit: {error}")

    # -- time -------------------------------------------------------------------------------

    def _seconds(self, ns: int) -> float:
        """A time of the node's clock on the clock of the follower: seconds since we began."""
        return (ns - self._epoch) / SECOND

    def _stamp(self, seconds: float) -> Time:
        return time_msg(self._epoch + round(seconds * SECOND))

    def _now(self) -> float:
        return self._seconds(self.get_clock().now().nanoseconds)


LIMITS: Mapping[str, Callable[[FeedforwardNode, Trajectory], None]] = {
    "reject": FeedforwardNode.check_limits,
    "warn": FeedforwardNode.warn_of_limits,
    "ignore": lambda node, trajectory: None,
}
"""What the parameter `limits` makes of a trajectory."""


def main(args: list[str] | None = None) -> None:
    """Run the node."""
    sys.exit(run(FeedforwardNode, args))


if __name__ == "__main__":
    main()
