"""Messages of wrench, payload and gravity as arrays, and the load at a tool."""

from __future__ import annotations

import math
from collections.abc import Sequence
from time import monotonic
from typing import Any

import numpy as np
from geometry_msgs.msg import InertiaStamped, Vector3, WrenchStamped
from sensor_msgs.msg import Imu

from robot_dynamics.control.parameters import LARGEST_GRAVITY, LARGEST_LOAD
from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot import Inertia, Robot, merge_fixed
from robot_dynamics.spatial import Pose, cross
from robot_dynamics.statics.end_effector_statics import moved_wrench


def wrench_from_msg(msg: WrenchStamped) -> Array:
    """Return force (N) over moment (N m), shape (6,), in axes and about the origin of its frame.

    Raises:
        ArgumentError: If a number is not finite, or too large.
    """
    wrench = [*_xyz(msg.wrench.force), *_xyz(msg.wrench.torque)]
    check_sizes([f"{part}.{axis}" for part in ("force", "torque") for axis in "xyz"], wrench)
    return np.array(wrench)


def body_from_msg(msg: InertiaStamped) -> tuple[float, list[float], list[float]]:
    """Return mass, kg, mass centre, m, and moments about it xx, xy, xz, yy, yz, zz, kg m^2.

    All in axes of the frame of the message.

    Raises:
        ArgumentError: If a number is not finite or too large, or the mass is negative.
    """
    body = msg.inertia
    com = [*_xyz(body.com)]
    moments = [body.ixx, body.ixy, body.ixz, body.iyy, body.iyz, body.izz]
    names = ("m", "com.x", "com.y", "com.z", "ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    check_sizes(names, [body.m, *com, *moments])
    if body.m < 0.0:
        raise ArgumentError(f"m is {body.m:g} kg; a mass must be zero or positive")
    return body.m, com, moments


def inertia_matrix(moments: Sequence[float]) -> Array:
    """Return the matrix of the moments xx, xy, xz, yy, yz, zz, shape (3, 3), kg m^2."""
    xx, xy, xz, yy, yz, zz = moments
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def payload_msg(
    frame: str,
    mass: float,
    com: Sequence[float] | Array = (0.0, 0.0, 0.0),
    moments: Sequence[float] | Array = (0.0, 0.0, 0.0),
) -> InertiaStamped:
    """Return a payload message: mass, kg; centre, m; moments xx, yy, zz about it, kg m^2."""
    msg = InertiaStamped()
    msg.header.frame_id = frame
    msg.inertia.m = float(mass)
    msg.inertia.com.x, msg.inertia.com.y, msg.inertia.com.z = map(float, com)
    msg.inertia.ixx, msg.inertia.iyy, msg.inertia.izz = map(float, moments)
    return msg


def check_sizes(names: Sequence[str], values: Sequence[float]) -> None:
    """Check numbers of a message.

    Raises:
        ArgumentError: If a number is not finite, or too large.
    """
    for name, value in zip(names, values, strict=True):
        if not math.isfinite(value):
            raise ArgumentError(f"{name} is {value:g}; every number must be finite")
        if abs(value) > LARGEST_LOAD:
            raise ArgumentError(f"{name} is {value:g}; give {LARGEST_LOAD:g} at most, in SI units")


def measured_force(msg: Imu) -> Array:
    """Return the acceleration less gravity in axes of the IMU, shape (3,), m/s^2.

    Raises:
        ArgumentError: If the message has none.
    """
    if msg.linear_acceleration_covariance[0] == -1.0:
        raise ArgumentError("the message has no linear_acceleration")
    return np.array(_xyz(msg.linear_acceleration))


def imu_msg(base: Array, frame: str, stamp: Any) -> Imu:
    """Return what an IMU in the root link measures; `base` as `BaseMotion.numbers` has it."""
    gravity, v, w, a, _ = np.split(base, (3, 6, 9, 12))
    msg = Imu()
    msg.header.frame_id, msg.header.stamp = frame, stamp
    for part, values in (
        (msg.angular_velocity, w),
        (msg.linear_acceleration, a + cross(w, v) - gravity),
    ):
        part.x, part.y, part.z = values.tolist()
    return msg


def check_gravity(gravity: Sequence[float]) -> None:
    """Check number and size of the entries of the parameter `gravity`.

    Raises:
        ArgumentError: If it has neither three entries nor none, or is larger than on any planet.
    """
    if len(gravity) not in (0, 3):
        raise ArgumentError(
            f"parameter 'gravity' has {len(gravity)} entries; give three numbers, m/s^2, or an "
            "empty list for the gravity of the robot"
        )
    if (size := math.hypot(*gravity)) > LARGEST_GRAVITY:
        raise ArgumentError(
            f"parameter 'gravity' is {size:.4g} m/s^2; give {LARGEST_GRAVITY:g} m/s^2 at most"
        )


def _xyz(vector: Vector3) -> tuple[float, float, float]:
    return vector.x, vector.y, vector.z


WRENCH_LASTS_S = 0.5
"""Time after which a wrench that is not repeated ends, s; feedforward ends it earlier."""


class ToolLoad:
    """Holds payload and wrench in the axes of the tool.

    Args:
        robot: The robot.
        frame: Frame of the tool; messages may name any frame fixed to the same link, or none.

    Attributes:
        payload: Payload in axes of the tool; None before the first message.
    """

    def __init__(self, robot: Robot, frame: str) -> None:
        self._tree = merge_fixed(robot)
        self._frame = frame
        self.payload: Inertia | None = None
        self._wrench: Array | None = None
        self._until = 0.0

    @property
    def wrench(self) -> Array | None:
        """Force over moment about the tool, in its axes, shape (6,); None without a wrench."""
        return self._wrench if monotonic() < self._until else None

    def take_payload(self, msg: Any) -> None:
        """Use the payload of an InertiaStamped.

        Raises:
            ArgumentError: If it is physically impossible, or its frame moves against the tool.
            UnknownNameError: If there is no such frame.
        """
        mass, com, moments = body_from_msg(msg)
        body = Inertia.from_com(mass, np.array(com), inertia_matrix(moments))
        self.payload = body.expressed_in(self._pose(msg.header.frame_id))

    def take_wrench(self, msg: Any) -> None:
        """Use the wrench of a WrenchStamped.

        Raises:
            ArgumentError: If it is not finite, or its frame moves against the tool.
            UnknownNameError: If there is no such frame.
        """
        wrench = wrench_from_msg(msg)
        self._wrench = moved_wrench(self._pose(msg.header.frame_id), wrench)
        self._until = monotonic() + WRENCH_LASTS_S

    def _pose(self, frame: str) -> Pose:
        """Return the pose of a frame in the tool frame."""
        own, given = self._tree.frame(self._frame), self._tree.frame(frame or self._frame)
        if own.link != given.link:
            raise ArgumentError(
                f"frame '{frame}' moves against '{self._frame}', where the load is shown"
            )
        return own.pose.inverse() @ given.pose
