"""Motion of a base by its measurements: an IMU or an odometry, filtered, with a timeout."""

from __future__ import annotations

from math import exp

import numpy as np

from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import Array, frozen
from robot_dynamics.spatial import cross, rotation_from_quaternion

STEADY_S = 2.0
"""Time constant of the direction of gravity that is left when an IMU stops, s."""

FADE_S = 0.2
"""Time to pass from a base that stands to one that moves as measured, and back, s."""

PLAUSIBLE_FORCE = (3.0, 100.0)
"""Range of accelerations less gravity that a base may have, m/s^2; an IMU in units of g shows 1."""

LARGEST_TWIST = np.repeat([50.0, 35.0], 3)
"""Largest velocities of a base, m/s and rad/s; few gyroscopes measure more."""

LARGEST_RATE = np.repeat([100.0, 1000.0], 3)
"""Largest accelerations of a base, m/s^2 and rad/s^2; a velocity that jumps has more."""

NONE = frozen(np.zeros(6))


class BaseEstimate:
    """Motion of the root link, in its axes, by the latest measurements.

    Accelerations are derivatives of velocities behind a low-pass. When measurements stop, the
    base counts as still, under gravity in the last known direction.

    Args:
        gravity: Acceleration of gravity in the world, and in the root link until the first
            measurement, shape (3,), m/s^2.
        time_constant: Of the low-pass, s.
        timeout: Age at which the last measurement counts no more, s.

    Attributes:
        still: Motion of a base that stands under gravity in the last known direction; see `at`.
    """

    def __init__(self, gravity: Array, time_constant: float, timeout: float) -> None:
        self.time_constant, self.timeout = time_constant, timeout
        self._world = self._steady = np.asarray(gravity)
        self._force, self._velocity = -self._world, np.zeros(0)
        self._stamp = self._at = self._last_call = -np.inf
        self._passed = 0.0  # since the measurement before, s; 0 where the filters begin anew
        self._share = 0.0  # of the motion, the rest being of a base that stands
        self._motion = self.still = self._rest = self._given = _numbers(self._world)

    def imu(self, force: Array, angular: Array, place: Array, stamp: float, now: float) -> None:
        """Take a measurement of an IMU.

        Args:
            force: What its accelerometer measures, acceleration less gravity, shape (3,), m/s^2.
            angular: Angular velocity, shape (3,), rad/s.
            place: Position of the IMU in the root link, shape (3,), m.
            stamp: Time of the measurement, s.
            now: Steady time, s.

        Raises:
            ArgumentError: If it is no plausible measurement, or not newer than the one before.
        """
        (low, high), size = PLAUSIBLE_FORCE, float(np.linalg.norm(force))
        if not low <= size <= high:  # NaN is not
            raise ArgumentError(
                f"linear_acceleration of {size:.3g} m/s^2 is not within {low:g} to {high:g}"
            )
        w, wd = self._rates(angular, stamp, now)
        self._force = self._filtered(self._force, force, self.time_constant)
        f = self._force - cross(wd, place) - cross(w, cross(w, place))
        self._steady = self._filtered(self._steady, -f, STEADY_S)
        size = float(np.linalg.norm(self._steady)) or 1.0
        self.still = _numbers(self._steady * (np.linalg.norm(self._world) / size))
        none = np.zeros(3)
        self._motion = _numbers(-f, np.append(none, w), np.append(none, wd))

    def odometry(self, orientation: Array, twist: Array, stamp: float, now: float) -> None:
        """Take a measurement of an odometry.

        Args:
            orientation: Quaternion x, y, z, w of the root link in the world, shape (4,).
            twist: Linear over angular velocity in axes of the root link, shape (6,).
            stamp: Time of the measurement, s.
            now: Steady time, s.

        Raises:
            ArgumentError: As `imu`.
        """
        size = float(np.linalg.norm(orientation))
        if not 0.9 < size < 1.1:
            raise ArgumentError(f"orientation is a quaternion of length {size:.3g}, not 1")
        v, vd = self._rates(twist, stamp, now)
        gravity = rotation_from_quaternion(orientation / size).T @ self._world
        self.still, self._motion = _numbers(gravity), _numbers(gravity, v, vd)

    def _rates(self, measured: Array, stamp: float, now: float) -> tuple[Array, Array]:
        """Filtered velocity and its derivative in time; refuses an implausible one."""
        k = len(measured)
        if not (np.abs(measured) <= LARGEST_TWIST[-k:]).all():  # NaN is not
            raise ArgumentError(
                f"a velocity is not finite, or above {LARGEST_TWIST[0]:g} m/s, "
                f"{LARGEST_TWIST[-1]:g} rad/s"
            )
        passed = stamp - self._stamp
        if -self.timeout < passed <= 0.0:
            raise ArgumentError("the stamp is not after that of the message before")
        passed = passed if 0.0 < passed <= self.timeout else 0.0
        before, velocity = self._velocity, measured
        rate = np.zeros(k)
        if passed:
            velocity = _filtered(before, measured, passed / self.time_constant)
            rate = (velocity - before) / passed
            if (np.abs(rate) > LARGEST_RATE[-k:]).any():
                raise ArgumentError("a velocity jumps")
        self._passed, self._stamp, self._at, self._velocity = passed, stamp, now, velocity
        return velocity, rate

    def _filtered(self, before: Array, measured: Array, time_constant: float) -> Array:
        return _filtered(before, measured, self._passed / time_constant or np.inf)

    @property
    def received(self) -> bool:
        """Return whether any measurement has come."""
        return bool(np.isfinite(self._at))

    def stale(self, now: float) -> bool:
        """Return whether the last measurement, if any, is too old at steady time `now`, s."""
        return now - self._at > self.timeout

    def at(self, now: float) -> Array:
        """Return the motion of the base at steady time `now`, s, as `BaseMotion.numbers` does.

        The same object until it changes. From call to call, the motion fades into that of a base
        that stands, and back; at first from one under the gravity that was given.
        """
        passed, self._last_call = now - self._last_call, now
        step, goal = max(passed, 0.0) / FADE_S, 0.0 if self.stale(now) else 1.0
        share = self._share = min(max(goal, self._share - step), self._share + step)
        begins = passed == np.inf and self.received  # without a motion before
        if share == 1.0 or begins or self._rest is not self._given:
            self._rest = self.still
        if share in (0.0, 1.0):
            return self._motion if share else self._rest
        return self._rest + share * (self._motion - self._rest)


def _filtered(before: Array, measured: Array, periods: float) -> Array:
    return before + (1.0 - exp(-periods)) * (measured - before)


def _numbers(gravity: Array, twist: Array = NONE, rate: Array = NONE) -> Array:
    return np.concatenate([gravity, twist, rate])
