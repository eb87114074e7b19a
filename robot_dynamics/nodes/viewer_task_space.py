"""TaskSpaceRequests: targets that the page of viewer_node sends to a controller."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped
from rclpy.publisher import Publisher

from robot_dynamics.control.target_motion import pose_error
from robot_dynamics.errors import ArgumentError
from robot_dynamics.nodes.ros.task_space_messages import pose_from_msg, pose_msg
from robot_dynamics.nodes.ros.topics import OUTPUT_QOS
from robot_dynamics.nodes.runtime.robot_node import RobotNode
from robot_dynamics.spatial import Pose

TARGET, MEASURED = "target_pose", "cartesian_pose"
"""Topics of the end effector: its target, and where it is while a controller controls it."""

SILENCE_S = 0.5
"""Time without poses of the end effector after which no controller is in task space, s."""

NEAR = np.array([5e-3, 5e-3, 5e-3, 0.03, 0.03, 0.03])
"""Distance at which the end effector has reached its target, m and rad."""

MATCH_S = 1.0
"""Time for a new publisher to find its subscribers, and for the last message to arrive, s."""


class TaskSpaceRequests:
    """Leads the end effector of a controller; publishes `target_pose` only from the first pose on.

    A controller follows one publisher of targets, so this one exists only while the page leads.

    Args:
        node: Node that sends.
        say: Shows a line on the page.
    """

    def __init__(self, node: RobotNode[Any], say: Callable[[str], None]) -> None:
        self._node, self._say = node, say
        self._measured, self._at = Pose.identity(), -np.inf
        self._goal: Pose | None = None
        self._unsent: tuple[Pose, float] | None = None
        self._out: Publisher | None = None
        self._close_at = np.inf

    def read(self, msg: PoseStamped) -> None:
        """Take up where the end effector is.

        Raises:
            ArgumentError: If it is no pose in the root link.
        """
        root = self._node.robot.links[0].name
        if msg.header.frame_id not in ("", root):
            raise ArgumentError(
                f"{MEASURED} is ignored: it is in '{msg.header.frame_id}', not in '{root}'"
            )
        self._measured, self._at = pose_from_msg(msg), monotonic()

    @property
    def pose(self) -> Pose | None:
        """Target of the page until it is reached, then the pose; None in a mode of joints."""
        if monotonic() - self._at > SILENCE_S:
            self._goal = None
            return None
        goal = self._goal
        if goal is not None and np.all(np.abs(pose_error(self._measured, goal)) < NEAR):
            self._goal = goal = None
        return self._measured if goal is None else goal

    @property
    def leads(self) -> bool:
        """True from the first pose that the page gives until it has stopped the end effector."""
        return self._out is not None

    def lead(self, pose: Pose) -> None:
        """Lead the end effector to a pose in the root link."""
        self._goal, self._close_at = pose, np.inf
        self._send(pose)

    def stop(self) -> None:
        """Hold the end effector where it is, and lead it no more; nothing in a mode of joints."""
        self._goal = self._unsent = None
        if self.pose is not None:
            self._send(self._measured)
        self._close_at = monotonic() + MATCH_S

    def _send(self, pose: Pose) -> None:
        if self._out is None:
            self._out = self._node.create_publisher(PoseStamped, TARGET, OUTPUT_QOS)
        self._unsent = pose, monotonic()

    def tick(self) -> None:
        """Send what is to be sent once a controller has been discovered."""
        now, out = monotonic(), self._out
        if out is None:
            return
        if self._unsent is not None:
            pose, since = self._unsent
            if out.get_subscription_count():
                root, stamp = self._node.robot.links[0].name, self._node.get_clock().now().to_msg()
                out.publish(pose_msg(root, stamp, pose))
                self._unsent = None
            elif now - since > MATCH_S:
                self._say(f"no node follows {TARGET}")
                self._unsent = None
        if now > self._close_at:
            self._node.destroy_publisher(out)
            self._out = None
