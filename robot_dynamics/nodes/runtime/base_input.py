"""Motion of the base from the topic imu or odom."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from sensor_msgs.msg import Imu

from robot_dynamics.control import Load
from robot_dynamics.control.base_estimate import BaseEstimate
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.units import NS_PER_S
from robot_dynamics.nodes.ros.diagnostics import Fault, Level
from robot_dynamics.nodes.ros.load_messages import measured_force
from robot_dynamics.nodes.ros.messages import StampCheck, nanoseconds
from robot_dynamics.nodes.ros.topics import STATE_QOS, publishers_of, undiscovered
from robot_dynamics.nodes.runtime.robot_node import RobotNode

WATCH_PERIOD_S = 0.1
"""Period of looking whether measurements come, s."""

ANOTHER_CLOCK_S = 1.0
"""Age on arrival from which a stamp comes from another clock, s."""


class BaseInput:
    """Motion of the base, as the parameter base_motion says.

    Args:
        node: Node that subscribes.
        gravity: Acceleration of gravity in the world, shape (3,), m/s^2.
        load: Returns the load of the arm, which knows the frames of its root link.

    Attributes:
        estimate: The motion by the messages so far.
        source: Subscriber of the measurements, for the loop to read before it uses the motion.

    Raises:
        ArgumentError: If nav_msgs is needed and not installed.
    """

    def __init__(self, node: RobotNode[Any], gravity: Array, load: Callable[[], Load]) -> None:
        self._node, self._load, parameters = node, load, node.parameters
        self._topic: str = parameters.base_motion
        self.estimate = BaseEstimate(gravity, parameters.base_filter, parameters.base_timeout)
        self._stamps = StampCheck(self._topic, node.get_logger().warning)
        self._begun, self._logged = self._node.now(), ""
        self._allowed, self._rivals = 1, ""
        kind, take = Imu, self._take_imu
        if self._topic == "odom":
            try:
                kind, take = import_module("nav_msgs.msg").Odometry, self._take_odom
            except ImportError:
                raise ArgumentError(
                    "base_motion odom needs the package nav_msgs; install it, or take imu"
                ) from None
        self._take: Callable[[Any, float, float], None] = take
        self.source = node.create_loop_subscriber(
            kind, self._topic, self._on_message, STATE_QOS, one_source=True
        )
        count = partial(node.count_publishers, self._topic)  # Humble counts no others
        self._publishers = getattr(self.source.handle, "get_publisher_count", count)
        node.call_every(WATCH_PERIOD_S, self._watch)

    def _on_message(self, msg: Any) -> bool:
        """Take a message; whether it counts."""
        if self._publishers() > self._allowed:
            return False
        now = self._node.now()
        try:
            self._take(msg, self._measured_at(msg, now), now)
        except RobotDynamicsError as error:
            self._node.throttled_log.warn(
                self._topic, f"{self._topic}: {error}; the message is ignored"
            )
            return False
        return True

    def _measured_at(self, msg: Any, now: float) -> float:
        """Time of a measurement, s; that of its arrival if it has none."""
        stamp = self._stamps.usable(nanoseconds(msg.header.stamp)) / NS_PER_S
        age = self._node.nanoseconds / NS_PER_S - stamp if stamp else 0.0
        if self.estimate.timeout < age < ANOTHER_CLOCK_S:
            raise ArgumentError(f"it is {age:.2g} s old")
        return stamp or now

    def _take_imu(self, msg: Imu, stamp: float, now: float) -> None:
        place = self._load().place_in_root(msg.header.frame_id)
        R, w = place.rotation, msg.angular_velocity
        force, angular = R @ measured_force(msg), R @ np.array([w.x, w.y, w.z])
        self.estimate.imu(force, angular, place.translation, stamp, now)

    def _take_odom(self, msg: Any, stamp: float, now: float) -> None:
        if msg.child_frame_id not in ("", root := self._node.robot.root):
            raise ArgumentError(f"child_frame_id is '{msg.child_frame_id}', not '{root}'")
        pose, twist = msg.pose.pose, msg.twist.twist
        quaternion = np.array([getattr(pose.orientation, axis) for axis in "xyzw"])
        v = np.array([getattr(x, a) for x in (twist.linear, twist.angular) for a in "xyz"])
        self.estimate.odometry(quaternion, v, stamp, now)

    def _look_for_rivals(self) -> None:
        """Find several nodes that publish: of them none is followed.

        A driver that ends without a word counts for a while; a new one of its name is followed.
        """
        self._allowed, self._rivals, count = 1, "", self._publishers()
        if count > 1 and not undiscovered(self._node, self.source.topic):
            publishers = publishers_of(self._node, [self.source.topic])
            if len(names := sorted(set(publishers))) > 1:
                self._rivals, self._begun = " and ".join(names), self._node.now()
            elif len(publishers) >= count:
                self._allowed = count

    def _missing(self) -> str:
        """Return that no measurement counts, in words; an empty text if one does."""
        estimate, now = self.estimate, self._node.now()
        last = "in the last known direction" if estimate.received else "as the robot has it"
        still = f"the base counts as still, under gravity {last}"
        if self._rivals:
            return f"{self._topic} is published by {self._rivals}; {still}, until one is left"
        if not estimate.stale(now) or now - self._begun < estimate.timeout:
            return ""
        return f"no {self._topic} for {estimate.timeout:g} s; {still}"

    def _watch(self) -> None:
        """Log once when measurements stop or are ignored, and once when they count again."""
        self._look_for_rivals()
        if not self._node.active:  # its loop reads no messages
            self._begun, self._logged = self._node.now(), ""
            return
        missing, log = self._missing(), self._node.get_logger()
        if missing == self._logged:
            return
        self._logged = missing
        if missing:
            log.warning(missing)
        else:
            log.info(f"{self._topic} again: the base moves as measured")

    def faults(self) -> list[Fault]:
        """Return a fault if no measurement comes."""
        missing = self._missing()
        return [Fault(Level.STALE, missing)] if missing else []
