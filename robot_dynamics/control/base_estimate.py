"""Motion of a base by its measurements: an IMU or an odometry, filtered, with a timeout."""

from __future__ import annotations

import numpy as np

from robot_dynamics.control.transitions import LowPass
from robot_dynamics.dynamics.base_motion import BaseMotion
from robot_dynamics.foundation.arrays import Array
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
        self._world, self._steady = gravity, LowPass(gravity)
        self._velocity: LowPass | None = None
        self._force = LowPass(-gravity)
        self._at = -np.inf
        self._motion = self._still = BaseMotion(gravity=gravity)

    def imu(self, force: Array, angular: Array, place: Array, now: float) -> None:
        """Take a measurement of an IMU.

        Args:
            force: What its accelerometer measures, acceleration less gravity, shape (3,), m/s^2.
            angular: Angular velocity, shape (3,), rad/s.
            place: Position of the IMU in the root link, shape (3,), m.
            now: Steady time, s.
        """
        w, wd = self._rates(angular, now)
        if not np.isfinite(self._at):  # the first one counts in full
            self._force, self._steady = LowPass(force), LowPass(-force)
        f = self._force.feed(force, self.time_constant, now)
        f = f - np.cross(wd, place) - np.cross(w, np.cross(w, place))
        direction = -self._steady.feed(-f, STEADY_S, now)
        size = np.linalg.norm(direction) or 1.0
        self._still = BaseMotion(gravity=-direction * (np.linalg.norm(self._world) / size))
        none = np.zeros(3)
        self._motion = BaseMotion(twist=np.append(none, w), acceleration=np.append(none, wd),
                                  gravity=-f)  # fmt: skip
        self._at = now

    def odometry(self, orientation: Array, twist: Array, now: float) -> None:
        """Take a measurement of an odometry.

        Args:
            orientation: Unit quaternion x, y, z, w of the root link in the world, shape (4,).
            twist: Linear over angular velocity in axes of the root link, shape (6,).
            now: Steady time, s.
        """
        v, vd = self._rates(twist, now)
        gravity = rotation_of(orientation).T @ self._world
        self._still = BaseMotion(gravity=gravity)
        self._motion = BaseMotion(twist=v, acceleration=vd, gravity=gravity)
        self._at = now

    def _rates(self, measured: Array, now: float) -> tuple[Array, Array]:
        """Filtered velocity and its derivative in time."""
        if self._velocity is None:
            self._velocity = LowPass(measured)
        before = self._velocity.value
        v = self._velocity.feed(measured, self.time_constant, now)
        passed = now - self._at
        return v, (v - before) / passed if 0.0 < passed < self.timeout else np.zeros_like(v)

    def stale(self, now: float) -> bool:
        """Whether the last measurement, if any, is too old at steady time `now`, s."""
        return now - self._at > self.timeout

    def at(self, now: float) -> BaseMotion:
        """Return the motion of the base at steady time `now`, s."""
        return self._still if self.stale(now) else self._motion
