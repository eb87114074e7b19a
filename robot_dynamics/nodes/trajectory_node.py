"""trajectory_node: send a motion on `joint_trajectory`."""

from __future__ import annotations

import sys
from math import cos, isfinite, nan
from time import monotonic

from rclpy.subscription import Subscription
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.units import NS_PER_S
from robot_dynamics.nodes.ros.graph import followers_of, subscribers_of
from robot_dynamics.nodes.ros.messages import trajectory_msg
from robot_dynamics.nodes.ros.qos import TRAJECTORY_QOS
from robot_dynamics.nodes.runtime.process import run
from robot_dynamics.nodes.runtime.robot_description import REMINDER_PERIOD_S
from robot_dynamics.nodes.runtime.robot_node import RobotNode
from robot_dynamics.nodes.trajectory_motions import MOTIONS, TrajectoryParameters
from robot_dynamics.robot import Robot

FOLLOWER_CHECK_PERIOD_S = 0.1
"""Period of checking for followers and for the next transmission, s."""

ACKNOWLEDGEMENT_TIMEOUT_S = 1.0
"""Time limit for the acknowledgement of a motion, s."""

ACKNOWLEDGEMENT_TOPIC = "joint_trajectory_with_effort"
"""Topic on which feedforward_node publishes every trajectory that it follows."""

DISCOVERY_S = 0.3
"""Time for discovery of the acknowledging node, s."""

SAME_END_COS = 1.0 - 1e-9
"""Cosine of the difference of two positions that count as the same: 5e-5 rad or m."""

MAX_ATTEMPTS = 5
"""Attempts before an unacknowledged motion counts as refused."""


class TrajectoryNode(RobotNode[TrajectoryParameters]):
    """Sends one motion, once or repeatedly."""

    NAME = "trajectory_node"
    PARAMETERS = TrajectoryParameters

    def check(self, value: TrajectoryParameters) -> None:
        """See `RobotNode.check`."""
        if value.motion in ("file", "poses") and not value.file:
            kinds = ".yaml or .csv" if value.motion == "file" else ".csv"
            raise ArgumentError(
                f"parameter 'motion' is '{value.motion}' but parameter 'file' is empty; give the "
                f"path of a {kinds} file in 'file'"
            )

    def configure(self) -> None:
        """Plan the motion and create the topics."""
        super().configure()
        parameters, robot = self.parameters, self.robot
        self._plan(robot)
        self._due = False
        self._ends_at: int | None = None
        self._attempts = 0
        self._next_attempt = self._remind_at = 0.0  # steady times, s
        self._acknowledgements: Subscription | None = None
        self._publisher = self.create_publisher(JointTrajectory, "joint_trajectory", TRAJECTORY_QOS)
        self.every(FOLLOWER_CHECK_PERIOD_S, self._update)
        self.create_service(Trigger, "~/send", self._on_send)
        self.get_logger().info(
            f"motion '{parameters.motion}' of robot '{robot.name}': "
            f"{self.waypoints.duration:.2f} s" + ("; waiting for ~/send" if parameters.wait else "")
        )

    def activate(self) -> None:
        """See `ManagedNode.activate`: the motion is sent once a node follows it."""
        self._ends_at = None
        if not self.parameters.wait:
            self._start_sending()

    def update_robot(self, robot: Robot) -> None:
        """See `RobotNode.update_robot`: the next transmission uses the new robot."""
        self._plan(robot)

    def _plan(self, robot: Robot) -> None:
        motion, remarks = MOTIONS[self.parameters.motion](robot, self.parameters)
        for remark in remarks:
            self.get_logger().warning(f"'{self.parameters.motion}' meets, {remark}")
        self.waypoints = motion.delayed(self.parameters.approach)
        self._msg = trajectory_msg(self.waypoints)

    def send(self) -> None:
        """Send the motion."""
        self._publisher.publish(self._msg)
        duration = round((self.waypoints.duration + FOLLOWER_CHECK_PERIOD_S) * NS_PER_S)
        self._ends_at = self.get_clock().now().nanoseconds + duration
        self.get_logger().info(
            f"sent '{self.parameters.motion}': {len(self.waypoints.times)} points, "
            f"{self.waypoints.duration:.2f} s"
        )

    @property
    def _followers(self) -> list[str]:
        """Nodes that follow joint_trajectory, as far as is known."""
        topic = self._publisher.topic_name
        if not self.parameters.acknowledged:
            return subscribers_of(self, topic)
        return followers_of(self, topic, self.resolve_topic_name(ACKNOWLEDGEMENT_TOPIC))

    def _start_sending(self) -> None:
        self._due, self._attempts = True, 0
        self._next_attempt = monotonic() + DISCOVERY_S
        self._remind_at = monotonic() + 1.0
        if self.parameters.acknowledged and self._acknowledgements is None:
            self._acknowledgements = self.create_subscription(
                JointTrajectory, ACKNOWLEDGEMENT_TOPIC, self._on_acknowledgement, TRAJECTORY_QOS
            )

    def _on_acknowledgement(self, msg: JointTrajectory) -> None:
        """Accept the acknowledgement of a motion that ends at the same positions."""
        if not (self._due and self._attempts and msg.points):
            return
        end = dict(zip(msg.joint_names, msg.points[-1].positions, strict=False))
        ours = dict(
            zip(self.waypoints.joint_names, self.waypoints.positions[-1].tolist(), strict=True)
        )
        # Continuous joints may differ by multiples of 2 pi
        apart = [end.get(name, nan) - q for name, q in ours.items()]
        if all(isfinite(x) and cos(x) > SAME_END_COS for x in apart):
            self._due = False
            self.get_logger().info(f"'{self.parameters.motion}' is followed")

    def _update(self) -> None:
        if not self.active:
            return
        ended = self._ends_at is not None and self.get_clock().now().nanoseconds > self._ends_at
        if ended and self.parameters.repeat and not self._due:
            self._start_sending()
        if self._due:
            self._try_to_send()
        elif self._acknowledgements is not None:
            self.destroy_subscription(self._acknowledgements)
            self._acknowledgements = None

    def _try_to_send(self) -> None:
        """Send the motion if a node follows, and repeat it until it is acknowledged."""
        now = monotonic()
        if not self._followers:
            self._remind(now)
        elif now >= self._next_attempt and self._attempts == MAX_ATTEMPTS:
            self._due = False
            self.get_logger().warning(
                f"{', '.join(self._followers)} has not accepted '{self.parameters.motion}' in "
                f"{MAX_ATTEMPTS} attempts; see its log, and call {self.get_name()}/send"
            )
        elif now >= self._next_attempt:
            self._attempts += 1
            self._next_attempt = now + ACKNOWLEDGEMENT_TIMEOUT_S
            self.send()
            self._due = self.parameters.acknowledged

    def _remind(self, now: float) -> None:
        if now < self._remind_at:
            return
        self._remind_at = now + REMINDER_PERIOD_S
        topic = self._publisher.topic_name
        readers = subscribers_of(self, topic)
        beside = f", but only {', '.join(readers)} subscribes to it" if readers else ""
        what = "feedforward_node with joint_states" if self.parameters.acknowledged else "a node"
        self.get_logger().info(f"waiting for {what} to follow {topic}{beside}")

    def _on_send(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if not self.active:
            response.success, response.message = False, f"{self.get_name()} is not active"
            return response
        followers = self._followers
        response.success = bool(followers)
        response.message = (
            f"sent to {', '.join(followers)}" if followers else "no node follows joint_trajectory"
        )
        if followers:
            self._start_sending()
        return response


def main(args: list[str] | None = None) -> None:
    """Run the node."""
    sys.exit(run(TrajectoryNode, args=args))


if __name__ == "__main__":
    main()
