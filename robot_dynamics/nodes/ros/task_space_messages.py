"""Messages of pose and twist as arrays, and back."""

from __future__ import annotations

import math

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, TwistStamped

from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.nodes.ros.load_messages import check_sizes
from robot_dynamics.spatial import UNIT_LENGTH, Pose, rotation_from_quaternion


def pose_from_msg(msg: PoseStamped) -> Pose:
    """Return a pose in its frame.

    Raises:
        ArgumentError: If a number is not finite or too large, or the quaternion is not of length 1.
    """
    p, o = msg.pose.position, msg.pose.orientation
    numbers = [p.x, p.y, p.z, o.x, o.y, o.z, o.w]
    names = [*(f"position.{axis}" for axis in "xyz"), *(f"orientation.{axis}" for axis in "xyzw")]
    check_sizes(names, numbers)
    length = math.hypot(*numbers[3:])
    if abs(length - 1.0) > UNIT_LENGTH:
        raise ArgumentError(f"the quaternion has the length {length:.4g}; give one of length 1")
    rotation = rotation_from_quaternion(np.array(numbers[3:]) / length)
    return Pose(rotation, np.array(numbers[:3]))


def twist_from_msg(msg: TwistStamped) -> Array:
    """Return linear (m/s) over angular velocity (rad/s), shape (6,), in axes of its frame.

    Raises:
        ArgumentError: If a number is not finite, or too large.
    """
    v, w = msg.twist.linear, msg.twist.angular
    twist = [v.x, v.y, v.z, w.x, w.y, w.z]
    check_sizes([f"{part}.{axis}" for part in ("linear", "angular") for axis in "xyz"], twist)
    return np.array(twist)


def pose_msg(frame: str, stamp: Time, pose: Pose) -> PoseStamped:
    """Return the message of a pose in a frame."""
    msg = PoseStamped()
    msg.header.frame_id, msg.header.stamp = frame, stamp
    p, o = msg.pose.position, msg.pose.orientation
    p.x, p.y, p.z = pose.translation.tolist()
    o.x, o.y, o.z, o.w = _quaternion(pose.rotation)
    return msg


def twist_msg(frame: str, stamp: Time, twist: Array) -> TwistStamped:
    """Return the message of six numbers in axes of a frame, shape (6,)."""
    msg = TwistStamped()
    msg.header.frame_id, msg.header.stamp = frame, stamp
    v, w = msg.twist.linear, msg.twist.angular
    v.x, v.y, v.z, w.x, w.y, w.z = twist.tolist()
    return msg


def _quaternion(R: Array) -> tuple[float, ...]:
    """Return the quaternion x, y, z, w of a rotation, by its largest component."""
    (a, b, c), (d, e, f), (g, h, i) = R.tolist()
    columns = (
        (1.0 + a - e - i, b + d, c + g, h - f),
        (b + d, 1.0 - a + e - i, f + h, c - g),
        (c + g, f + h, 1.0 - a - e + i, d - b),
        (h - f, c - g, d - b, 1.0 + a + e + i),
    )
    largest = max(range(4), key=lambda k: columns[k][k])
    size = math.hypot(*columns[largest])
    return tuple(number / size for number in columns[largest])
