"""Messages and parameters of what acts on an arm, to plain values: wrench, payload, gravity."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from geometry_msgs.msg import InertiaStamped, Vector3, WrenchStamped
from sensor_msgs.msg import Imu

from robot_dynamics.arrays import Array
from robot_dynamics.errors import ArgumentError

LARGEST = 1e5
"""What no load of an arm exceeds, in SI units: more is a slip of the unit or of the hand."""

PLAUSIBLE_GRAVITY = (5.0, 20.0)
"""Accelerations that an IMU may show and gravity is taken from, m/s^2; one in g shows 1."""


def wrench_from_msg(msg: WrenchStamped) -> Array:
    """Force (N) over moment (N m), shape (6,), in axes and about the origin of its frame.

    Raises:
        ArgumentError: If a number is not finite, or larger than any of an arm.
    """
    wrench = [*_xyz(msg.wrench.force), *_xyz(msg.wrench.torque)]
    _check_sizes([f"{part}.{axis}" for part in ("force", "torque") for axis in "xyz"], wrench)
    return np.array(wrench)


def body_from_msg(msg: InertiaStamped) -> tuple[float, list[float], list[float]]:
    """Mass, kg, mass centre x, y, z, m, and moments about it xx, xy, xz, yy, yz, zz, kg m^2.

    All in axes of the frame of the message.

    Raises:
        ArgumentError: If a number is not finite or larger than any of an arm, or the mass is
            negative.
    """
    body = msg.inertia
    com = [*_xyz(body.com)]
    moments = [body.ixx, body.ixy, body.ixz, body.iyy, body.iyz, body.izz]
    names = ("m", "com.x", "com.y", "com.z", "ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    _check_sizes(names, [body.m, *com, *moments])
    if body.m < 0.0:
        raise ArgumentError(f"m is {body.m:g} kg; a mass must be zero or positive")
    return body.m, com, moments


def _check_sizes(names: Sequence[str], values: Sequence[float]) -> None:
    for name, value in zip(names, values, strict=True):
        if not math.isfinite(value):
            raise ArgumentError(f"{name} is {value:g}; every number must be finite")
        if abs(value) > LARGEST:
            raise ArgumentError(f"{name} is {value:g}; give {LARGEST:g} at most, in SI units")


def gravity_from_msg(msg: Imu) -> Array:
    """Acceleration of free fall in axes of the IMU, shape (3,), m/s^2.

    At rest an accelerometer shows what holds it up.

    Raises:
        ArgumentError: If the message has no acceleration, or none that gravity could be part of.
    """
    acceleration = np.array(_xyz(msg.linear_acceleration))
    low, high = PLAUSIBLE_GRAVITY
    if msg.linear_acceleration_covariance[0] == -1.0:
        raise ArgumentError("imu: it says that it measures no linear_acceleration")
    if not low <= float(np.linalg.norm(acceleration)) <= high:  # NaN is not
        raise ArgumentError(
            f"imu: linear_acceleration of {np.linalg.norm(acceleration):.3g} m/s^2 is not from "
            f"{low:g} to {high:g}; the message is ignored"
        )
    return -acceleration


def check_gravity(gravity: Sequence[float]) -> None:
    """Refuse a parameter `gravity` of one or two numbers.

    Raises:
        ArgumentError: If there are neither three nor none.
    """
    if len(gravity) not in (0, 3):
        raise ArgumentError(
            f"parameter 'gravity' has {len(gravity)} entries; give three numbers, m/s^2, or an "
            "empty list for the gravity of the robot"
        )


def _xyz(vector: Vector3) -> tuple[float, float, float]:
    return vector.x, vector.y, vector.z
