"""Trajectories with their efforts, for a controller that follows them by itself.

A joint_trajectory_controller goes on with what it was given last, whatever becomes of the
reference. So it is told of every motion that is accepted, and of what nobody has sent too: that a
motion ends on its way, and, if asked for, where the arm is held before the first one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.duration import Duration
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.arrays import Array
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes.feedforward.feedforward_parameters import FeedforwardParameters
from robot_dynamics.nodes.ros.messages import trajectory_msg
from robot_dynamics.nodes.ros.qos import TRAJECTORY_QOS
from robot_dynamics.nodes.runtime.robot_node import RobotNode
from robot_dynamics.trajectory import Follower, State, Trajectory
from robot_dynamics.trajectory.waypoint_effort import with_effort

TOPIC = "joint_trajectory_with_effort"

MOVED = 0.01
"""Way of a joint at rest from which on somebody else has moved it, rad or m."""

LOOK_S = 0.05
"""Time from one look whether anybody reads a motion to the next, s."""

DELIVERY_TIMEOUT_S = 0.5
"""Longest time that the end of a process waits for its last trajectory to be taken, s."""


class EffortTrajectories:
    """Publishes what the arm is to do, with the efforts that it takes.

    `begin`, `watch` and `join` belong to the loop that follows, all else to the threads beside it.

    Args:
        node: The node that publishes.
        efforts: Efforts that a motion takes, shape (N, n) of a state of shape (N, n), N m or N.
        coming: What is followed, and whether another motion is about to take its place; None
            before it is known where the arm is.
        now: Present time of the motions, s.
    """

    def __init__(
        self,
        node: RobotNode[FeedforwardParameters],
        efforts: Callable[[State], Array],
        coming: Callable[[], tuple[Follower, bool] | None],
        now: Callable[[], float],
    ) -> None:
        self._node, self._efforts, self._coming, self._now = node, efforts, coming, now
        self._publisher = node.create_publisher(JointTrajectory, TOPIC, TRAJECTORY_QOS)
        self._wake = node.create_guard_condition(self._tell)
        self._seen: Trajectory | None = None  # what was told, or need not be
        self._unread: Trajectory | None = None  # what nobody reads yet
        self._next_look = 0.0  # whether somebody reads it, steady time
        self._sent: Trajectory | None = None

    @property
    def readers(self) -> int:
        """How many subscriptions receive what is published."""
        return int(self._publisher.get_subscription_count())

    # -- in the loop ------------------------------------------------------------------------

    def begin(self, follower: Follower) -> None:
        """The arm is held where it is, which is worth telling if that was asked for."""
        told = not self._node.parameters.hold_with_effort
        self._seen = follower.trajectory if told else None

    def watch(self, follower: Follower, now: float) -> None:
        """Have the executor tell of another motion, as soon as anybody reads that.

        Args:
            follower: What follows the motion.
            now: Steady time, s.
        """
        trajectory = follower.trajectory
        if trajectory is self._seen or (trajectory is self._unread and now < self._next_look):
            return
        if self.readers:
            self._seen = trajectory
            self._wake.trigger()
        else:  # asking the middleware takes time
            self._unread, self._next_look = trajectory, now + LOOK_S

    def join(self, follower: Follower, q: Array, now: float) -> None:
        """Hold a resting arm where somebody else has moved it: there the next motion begins.

        Nobody is told, or a load that is not known would have the arm creep down.
        """
        if not follower.moving(now) and np.abs(follower.sample(now).q - q).max() > MOVED:
            follower.hold(q.copy())
            self._seen = follower.trajectory

    # -- beside the loop -------------------------------------------------------------------

    def send(self, trajectory: Trajectory, stamp: Time | None) -> None:
        """Publish a motion whose time zero is the stamp, or else the arrival of the message."""
        self._sent = trajectory
        if self.readers:
            self._publish(trajectory, stamp)

    def stop(self, follower: Follower) -> None:
        """Bring a motion to rest that is followed no longer, as the node is about to end."""
        now = self._now()
        if self.readers and follower.moving(now):
            follower.stop(now)
            self._publish(follower.ahead(now))
            self._publisher.wait_for_all_acked(Duration(seconds=DELIVERY_TIMEOUT_S))

    def _tell(self) -> None:
        """Publish what is left of a motion that nobody has sent."""
        coming = self._coming()
        if coming is None:
            return
        follower, replaced = coming
        if replaced or follower.trajectory is self._sent:
            return  # what takes its place has been sent
        self._sent = follower.trajectory
        self._publish(follower.ahead(self._now()))

    def _publish(self, trajectory: Trajectory, stamp: Time | None = None) -> None:
        tolerance = self._node.parameters.effort_tolerance
        try:
            filled = with_effort(trajectory, self._efforts, tolerance=tolerance)
        except RobotDynamicsError as error:
            self._node.throttled_log.warn(TOPIC, f"not published: {error}")
            return
        self._publisher.publish(trajectory_msg(filled, stamp))
