"""Motion of a base by its measurements: an IMU or an odometry, filtered, with a timeout."""

from __future__ import annotations

from math import exp

import numpy as np

from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.base_motion import BaseMotion
from robot_dynamics.robot.free_joints import rotation_of

STEADY_S = 2.0
"""Time constant of the direction of gravity that is left when an IMU stops, s."""


class BaseEstimate:
    """Motion of the root link, in its axes, by the latest measurements.

    Accelerations are derivatives of velocities behind a low-pass. When measurements stop, the
    base counts as still, under gravity in the last known direction.

    Args:
        gravity: Acceleration of gravity in the world, and in the root link until the first
            measurement, shape (3,), m/s^2.
        time_constant: Of the low-pass, s.
        timeout: Age at which the last measurement counts no more, s.
    """

    def __init__(self, gravity: Array, time_constant: float, timeout: float) -> None:
        self.time_constant, self.timeout = time_constant, timeout
        self._world = self._steady = gravity
        self._force, self._velocity = -gravity, np.zeros(0)
        self._stamp = self._at = -np.inf
        self._passed = 0.0  # since the measurement before, s; 0 where the filters begin anew
        self._motion = self._still = BaseMotion(gravity=gravity)

    def imu(self, force: Array, angular: Array, place: Array, stamp: float, now: float) -> None:
        """Take a measurement of an IMU.

        Args:
            force: What its accelerometer measures, acceleration less gravity, shape (3,), m/s^2.
            angular: Angular velocity, shape (3,), rad/s.
            place: Position of the IMU in the root link, shape (3,), m.
            stamp: Time of the measurement, s.
            now: Steady time, s.
        """
        w, wd = self._rates(angular, stamp, now)
        self._force = self._filtered(self._force, force, self.time_constant)
        f = self._force - np.cross(wd, place) - np.cross(w, np.cross(w, place))
        self._steady = self._filtered(self._steady, -f, STEADY_S)
        size = np.linalg.norm(self._steady) or 1.0
        self._still = BaseMotion(gravity=self._steady * (np.linalg.norm(self._world) / size))
        twist, acceleration = (np.append(np.zeros(3), x) for x in (w, wd))
        self._motion = BaseMotion(twist=twist, acceleration=acceleration, gravity=-f)

    def odometry(self, orientation: Array, twist: Array, stamp: float, now: float) -> None:
        """Take a measurement of an odometry.

        Args:
            orientation: Unit quaternion x, y, z, w of the root link in the world, shape (4,).
            twist: Linear over angular velocity in axes of the root link, shape (6,).
            stamp: Time of the measurement, s.
            now: Steady time, s.
        """
        v, vd = self._rates(twist, stamp, now)
        gravity = rotation_of(orientation).T @ self._world
        self._still = BaseMotion(gravity=gravity)
        self._motion = BaseMotion(twist=v, acceleration=vd, gravity=gravity)

    def _rates(self, measured: Array, stamp: float, now: float) -> tuple[Array, Array]:
        """Filtered velocity and its derivative in time."""
        passed = stamp - self._stamp
        self._passed = passed if 0.0 < passed <= self.timeout else 0.0
        self._stamp, self._at, before = stamp, now, self._velocity
        self._velocity = self._filtered(before, measured, self.time_constant)
        if not self._passed:
            return self._velocity, np.zeros(len(measured))
        return self._velocity, (self._velocity - before) / self._passed

    def _filtered(self, before: Array, measured: Array, time_constant: float) -> Array:
        if not self._passed:
            return measured
        return before + (1.0 - exp(-self._passed / time_constant)) * (measured - before)

    def stale(self, now: float) -> bool:
        """Return whether the last measurement, if any, is too old at steady time `now`, s."""
        return now - self._at > self.timeout

    def at(self, now: float) -> BaseMotion:
        """Return the motion of the base at steady time `now`, s."""
        return self._still if self.stale(now) else self._motion
