"""EffortTrajectories: publish trajectories with efforts for a joint_trajectory_controller.

Such a controller ignores the reference and follows its last trajectory. So every accepted motion is
published, and also those that come from no message: a stop before the end of a motion and, with
hold_with_effort, the hold before the first one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.duration import Duration
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.nodes.feedforward.feedforward_parameters import FeedforwardParameters
from robot_dynamics.nodes.ros.messages import trajectory_msg
from robot_dynamics.nodes.ros.topics import TRAJECTORY_QOS
from robot_dynamics.nodes.runtime.robot_node import RobotNode
from robot_dynamics.trajectory import Follower, State, Trajectory
from robot_dynamics.trajectory.handover import Handover
from robot_dynamics.trajectory.waypoint_effort import with_effort

TOPIC = "joint_trajectory_with_effort"

MOVED = 0.01
"""Motion of a joint at rest that counts as external, rad or m."""

SUBSCRIBER_CHECK_PERIOD_S = 0.05
"""Period of checking for subscribers, s."""

DELIVERIES = 4
"""Most times that the last trajectory of a process is published."""

DELIVERY_S = 0.25
"""Longest wait for its delivery, s."""


class EffortTrajectories:
    """Publishes motions with their efforts.

    The loop calls `begin`, `update` and `join`; other threads call the rest.

    Args:
        node: The node that publishes.
        efforts: Returns the efforts, shape (N, n), N m or N, of a state of shape (N, n).
        present: Returns the follower and what is about to replace its motion; None before the
            first state.
        now: Returns the present time of the motions, s.
    """

    def __init__(
        self,
        node: RobotNode[FeedforwardParameters],
        efforts: Callable[[State], Array],
        present: Callable[[], Handover | None],
        now: Callable[[], float],
    ) -> None:
        self._node, self._efforts, self._present, self._now = node, efforts, present, now
        self._publisher = node.create_publisher(JointTrajectory, TOPIC, TRAJECTORY_QOS)
        self._wake = node.create_guard_condition(self._publish_ahead)
        self._done: Trajectory | None = None  # published, or need not be
        self._waiting: Trajectory | None = None  # waits for a subscriber
        self._next_check = 0.0  # of the subscribers, steady time, s
        self._sent: Trajectory | None = None

    @property
    def subscriber_count(self) -> int:
        """Number of subscriptions."""
        return int(self._publisher.get_subscription_count())

    # -- in the loop ------------------------------------------------------------------------

    def begin(self, follower: Follower) -> None:
        """Note that the arm is held; with hold_with_effort, `update` publishes that."""
        publishes = self._node.parameters.hold_with_effort
        self._done = None if publishes else follower.trajectory

    def update(self, follower: Follower, now: float) -> None:
        """Have the executor publish a new motion once the topic has a subscriber.

        Args:
            follower: The follower of the motion.
            now: Steady time, s.
        """
        trajectory = follower.trajectory
        if trajectory is self._done or (trajectory is self._waiting and now < self._next_check):
            return
        if self.subscriber_count:
            self._done = trajectory
            self._wake.trigger()
        else:  # asking the middleware takes time
            self._waiting, self._next_check = trajectory, now + SUBSCRIBER_CHECK_PERIOD_S

    def join(self, follower: Follower, q: Array, now: float) -> None:
        """Hold a resting arm where it was moved externally, so that the next motion begins there.

        This is not published, or an unknown load would make the arm creep down.
        """
        if not follower.moving(now) and np.abs(follower.sample(now).q - q).max() > MOVED:
            follower.hold(q.copy())
            self._done = follower.trajectory

    # -- beside the loop -------------------------------------------------------------------

    def send(self, trajectory: Trajectory, stamp: Time | None) -> None:
        """Publish a motion that starts at the stamp, or else on arrival."""
        self._sent = trajectory
        if self.subscriber_count:
            self._publish(trajectory, stamp)

    def stop(self, follower: Follower, *, ahead: bool) -> None:
        """Bring the present motion to rest before the node ends.

        Args:
            follower: The follower of the motion, which its loop no longer advances.
            ahead: Whether another motion was published that the follower did not begin.
        """
        now = self._now()
        if not self.subscriber_count or not (ahead or follower.moving(now)):
            return
        follower.stop(now)
        for _ in range(DELIVERIES):  # the middleware repeats a lost packet only after seconds
            self._publish(follower.ahead(self._now()))
            if self._publisher.wait_for_all_acked(Duration(seconds=DELIVERY_S)):
                return

    def _publish_ahead(self) -> None:
        """Publish the rest of a motion that came from no message."""
        handover = self._present()
        if handover is None or handover.pending or handover.follower.trajectory is self._sent:
            return  # its replacement has been sent
        self._sent = handover.follower.trajectory
        self._publish(handover.follower.ahead(self._now()))

    def _publish(self, trajectory: Trajectory, stamp: Time | None = None) -> None:
        tolerance = self._node.parameters.effort_tolerance
        try:
            filled = with_effort(trajectory, self._efforts, tolerance=tolerance)
        except RobotDynamicsError as error:
            self._node.throttled_log.warn(TOPIC, f"not published: {error}")
            return
        self._publisher.publish(trajectory_msg(filled, stamp))
