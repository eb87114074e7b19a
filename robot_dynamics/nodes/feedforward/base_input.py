"""Motion of the base from the topic imu or odom."""

from __future__ import annotations

from importlib import import_module
from time import monotonic
from typing import Any

import numpy as np
from sensor_msgs.msg import Imu

from robot_dynamics.control.base_estimate import BaseEstimate
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.foundation.units import NS_PER_S
from robot_dynamics.nodes.feedforward.feedforward_parameters import FeedforwardParameters
from robot_dynamics.nodes.ros.diagnostics import Fault, Level
from robot_dynamics.nodes.ros.load_messages import gravity_from_msg
from robot_dynamics.nodes.ros.messages import nanoseconds
from robot_dynamics.nodes.ros.topics import STATE_QOS
from robot_dynamics.nodes.runtime.online_model import OnlineModel
from robot_dynamics.nodes.runtime.robot_node import RobotNode


class BaseInput:
    """Applies the motion of the base to the model of an arm, as the parameter base_motion says.

    Args:
        node: Node that subscribes.
        arm: Model of the arm, with equations of a moving base.

    Raises:
        ArgumentError: If nav_msgs is needed and not installed.
    """

    def __init__(self, node: RobotNode[FeedforwardParameters], arm: OnlineModel) -> None:
        self._node, self._arm, parameters = node, arm, node.parameters
        self.estimate = BaseEstimate(
            node.robot.gravity, parameters.base_filter, parameters.base_timeout
        )
        arm.move_base(self.estimate.at)
        if parameters.base_motion == "imu":
            node.create_subscription(Imu, "imu", self._on_imu, STATE_QOS)
            return
        try:
            kind = import_module("nav_msgs.msg").Odometry
        except ImportError:
            raise ArgumentError(
                "base_motion odom needs the package nav_msgs; install it, or take imu"
            ) from None
        node.create_subscription(kind, "odom", self._on_odom, STATE_QOS)

    def _on_imu(self, msg: Imu) -> None:
        try:
            force = -gravity_from_msg(msg)
            place = self._arm.load.place_in_root(msg.header.frame_id)
            w = np.array([getattr(msg.angular_velocity, axis) for axis in "xyz"])
            if not np.isfinite(w).all():
                raise ArgumentError("imu: angular_velocity is not finite; the message is ignored")
        except RobotDynamicsError as error:
            self._node.throttled_log.warn("imu", error)
            return
        R = place.rotation
        stamp = _seconds(msg)
        self.estimate.imu(R @ force, R @ w, place.translation, stamp, monotonic())

    def _on_odom(self, msg: Any) -> None:
        pose, twist = msg.pose.pose, msg.twist.twist
        quaternion = np.array([getattr(pose.orientation, axis) for axis in "xyzw"])
        v = np.array([getattr(x, a) for x in (twist.linear, twist.angular) for a in "xyz"])
        try:
            root, size = self._node.robot.root, float(np.linalg.norm(quaternion))
            if not (0.9 < size < 1.1 and np.isfinite(v).all()):
                raise ArgumentError("odom: no unit quaternion or no finite twist; it is ignored")
            if msg.child_frame_id not in ("", root):
                raise ArgumentError(f"odom: child_frame_id is not '{root}'; it is ignored")
        except RobotDynamicsError as error:
            self._node.throttled_log.warn("odom", error)
            return
        self.estimate.odometry(quaternion / size, v, _seconds(msg), monotonic())

    def faults(self) -> list[Fault]:
        """Return a fault if no measurement comes."""
        if not self.estimate.stale(monotonic()):
            return []
        topic = self._node.parameters.base_motion
        return [Fault(Level.STALE, f"no {topic}; the base counts as still, gravity as last known")]


def _seconds(msg: Any) -> float:
    """Time of a measurement; that of its arrival if it has none."""
    return nanoseconds(msg.header.stamp) / NS_PER_S or monotonic()
