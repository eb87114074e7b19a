"""Streams: points that are sent one after another, each as if it were the whole motion.

MoveIt Servo and similar senders publish trajectories of one point, again and again. Alone, each of
them asks for a motion to rest. Together they are one motion, with velocities that no message has.
Control of the end effector follows streams of poses by the same filter.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.compiler.graph.piecewise import maximum, minimum
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.trajectory.waypoints import Waypoints

STREAM_S, GAP = 0.25, 4.0
"""Longest time between two points of one motion, s; while it lasts, multiple of its interval."""

MARGIN, BEYOND = 0.5, 1.0
"""Intervals that a motion is further behind its points than one; intervals for which it goes on
without a new point."""

AVERAGED_S, FORGOTTEN_S = 5.0, 5.0
"""Times over which intervals are averaged and in which the largest lateness is forgotten, s."""

LONGEST = 1.5
"""Multiple of the mean interval that counts at most: a longer one is that of a lost point."""

FILTER_S = 0.05
"""Time over which points are filtered, s, or one interval if that is longer."""

SOON_S = 0.5
"""Time ahead from which a point is a goal of its own, s."""

REST_S = 0.2
"""Time in which a motion whose stream has ended returns to its last point, s."""


def filter_gains(passed: Any, over: Any) -> tuple[Any, Any, Any]:
    """Return the gains of the filter of a stream, of numbers or symbols.

    A critically damped filter of third order: older points weigh less by a power of theta. It is
    not late while the acceleration is constant, and takes the noise from the velocity.

    Args:
        passed: Time since the last point, s.
        over: Time over which points are filtered, s.

    Returns:
        Factors from the difference between a point and what the points before foretell, to the
        corrections of position, velocity (1/s) and acceleration (1/s^2).
    """
    theta = np.exp(-passed / over)
    new = 1.0 - theta
    return (
        1.0 - theta * theta * theta,
        1.5 * new * new * (1.0 + theta) / passed,
        2.0 * new * new * new / (passed * passed),
    )


def mean_interval(mean: Any, passed: Any, age: Any) -> Any:
    """Return the mean time between two points after a new one, s, of numbers or symbols.

    Args:
        mean: The mean before, s.
        passed: Time since the last point, s.
        age: Time since the first point, s.
    """
    share = passed / maximum(minimum(age, AVERAGED_S), passed)
    return mean + share * (minimum(passed, LONGEST * mean) - mean)


class PointStream:
    """Makes one motion of trajectories of one point with positions alone.

    From the third one on, points get the velocity and acceleration with which the stream passes
    them. If new points would come too late, all are delayed; if none comes, the motion goes on for
    one interval and returns to the last point.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Forget the stream."""
        self._names: tuple[str, ...] = ()
        self._at = self._age = self._interval = self._ahead = 0.0
        self._state = np.zeros((3, 0))

    def take(self, waypoints: Waypoints, now: float, start: float) -> Waypoints:
        """Return the motion through a point, or the waypoints if they are no part of a stream.

        Args:
            waypoints: Motion that came.
            now: Time of its arrival, s.
            start: Time zero of its waypoints, s, on the same clock.
        """
        alone = len(waypoints.times) == 1 and waypoints.duration < SOON_S
        if not alone or waypoints.velocities is not None or waypoints.accelerations is not None:
            self.forget()
            return waypoints
        q, at = waypoints.positions[0], start + waypoints.duration
        passed, ahead = at - self._at, at - now
        if self._names != waypoints.joint_names or not (
            0.0 < passed < max(STREAM_S, GAP * self._interval)
        ):
            self._names, self._at, self._ahead = waypoints.joint_names, at, ahead
            self._age = self._interval = 0.0
            self._state = np.array((q, 0.0 * q, 0.0 * q))
            return waypoints
        self._at, self._age = at, self._age + passed
        self._ahead += min(passed / FORGOTTEN_S, 1.0) * (ahead - self._ahead)
        self._ahead = min(self._ahead, ahead)
        if not self._filter(q, passed):
            return waypoints
        later = max((1.0 + MARGIN) * self._interval - self._ahead, 0.0)
        return self._motion(waypoints.delayed(later))

    def _filter(self, q: Array, passed: float) -> bool:
        """Take a point; return whether it is the third one, or a later one."""
        second = self._interval == 0.0
        expected, qd, qdd = self._state
        expected = expected + passed * (qd + passed / 2.0 * qdd)
        off = q - expected
        if second:
            self._interval = passed
            self._state = np.array((q, off / passed, 0.0 * q))
            return False
        self._interval = mean_interval(self._interval, passed, self._age)
        gains = filter_gains(passed, max(FILTER_S, self._interval))
        before = np.array((expected, qd + passed * qdd, qdd))
        self._state = before + np.outer(gains, off)
        return True

    def _motion(self, point: Waypoints) -> Waypoints:
        """Return the motion through a point with the present state of the stream, and to rest."""
        on, none = BEYOND * self._interval, np.zeros(len(point.joint_names))
        q, qd, qdd = self._state
        return Waypoints(
            point.joint_names,
            point.duration + np.array([0.0, on, on + REST_S + on]),
            np.array([q, q + on * (qd + on / 2.0 * qdd), point.positions[0]]),
            np.array([qd, qd + on * qdd, none]),
            np.array([qdd, qdd, none]),
        )
