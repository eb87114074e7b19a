"""Trajectory: joint positions, velocities and accelerations at any time.

Every motion of this package is a piecewise polynomial of degree five per joint,
which a loop at 1 kHz samples in a few microseconds.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple, overload

import numpy as np

from robot_dynamics.errors import TrajectoryError
from robot_dynamics.foundation.arrays import Array, frozen

ORDER = 6
"""Coefficients per polynomial of degree five, which fits three derivatives at both ends."""

MOMENT_S = 1e-9
"""Duration of a motion that is a single point, s."""

_POWERS = np.arange(ORDER)


class State(NamedTuple):
    """Joint positions, velocities and accelerations, shape (n,) each, or (N, n) at N times.

    Args:
        q: Positions, rad or m.
        qd: Velocities, rad/s or m/s.
        qdd: Accelerations, rad/s^2 or m/s^2.
    """

    q: Array
    qd: Array
    qdd: Array


class Trajectory:
    """A motion of n joints from `start` to `end`, at rest before and after.

    Args:
        joint_names: Names of the joints, in the order of all arrays.
        breaks: Times where one polynomial ends and the next begins, shape (m + 1,), s.
        coefficients: Shape (m, n, 6): coefficients[k, i, p] multiplies (t - breaks[k])^p in
            piece k of joint i.
        smoothness: Number of derivatives that are continuous, from rest to rest: 2, or 4 where
            `higher` may be used.

    Raises:
        TrajectoryError: If the shapes do not fit or the breaks do not increase.
    """

    def __init__(
        self,
        joint_names: Sequence[str],
        breaks: Array,
        coefficients: Array,
        smoothness: int = 2,
    ) -> None:
        self.joint_names = tuple(joint_names)
        self.smoothness = smoothness
        self.breaks = frozen(breaks)
        self.coefficients = frozen(coefficients)
        n, m = len(self.joint_names), len(self.breaks) - 1
        if self.coefficients.shape != (m, n, ORDER):
            raise TrajectoryError(
                f"trajectory: coefficients of shape {self.coefficients.shape} for {m} pieces of "
                f"{n} joints; expected {(m, n, ORDER)}"
            )
        if m < 1 or not np.all(np.diff(self.breaks) > 0.0):
            raise TrajectoryError("trajectory: two or more breaks that increase are needed")
        self._times: list[float] = self.breaks.tolist()
        self._last = m  # of the breaks
        # One product per sample: rows give q, then qd, then qdd; columns are powers of time
        c = self.coefficients
        self._rows = q, qd, qdd = slice(n), slice(n, 2 * n), slice(2 * n, None)
        self._pieces = np.zeros((m, 3 * n, ORDER))
        self._pieces[:, q] = c
        self._pieces[:, qd, :-1] = c[..., 1:] * _POWERS[1:]
        self._pieces[:, qdd, :-2] = c[..., 2:] * (_POWERS[2:] * _POWERS[1:-1])
        rest = np.zeros(n)
        rest.setflags(write=False)
        first, last = self._inside(self.start).q, self._inside(self.end).q
        first.setflags(write=False)
        last.setflags(write=False)
        self._before = State(first, rest, rest)
        self._after = State(last, rest, rest)

    @staticmethod
    def hold(joint_names: Sequence[str], q: Array) -> Trajectory:
        """Return a motion at rest for all times.

        Args:
            joint_names: Names of the n joints.
            q: Position, shape (n,), rad or m.

        Returns:
            Trajectory that ends at time zero.
        """
        c = np.zeros((1, len(joint_names), ORDER))
        c[0, :, 0] = q
        return Trajectory(joint_names, np.array([-MOMENT_S, 0.0]), c)  # ends at time zero

    @property
    def start(self) -> float:
        """Start of the motion, s."""
        return self._times[0]

    @property
    def end(self) -> float:
        """End of the motion, s."""
        return self._times[-1]

    @property
    def duration(self) -> float:
        """Time from zero to the end of the motion, s."""
        return self.end

    @overload
    def sample(self, t: float) -> State: ...
    @overload
    def sample(self, t: Array) -> State: ...
    def sample(self, t: float | Array) -> State:
        """Return positions, velocities and accelerations at time t.

        The joints are at rest before the start and after the end.

        Args:
            t: Time, s: one number, or an array of shape (N,).

        Returns:
            State of arrays of shape (n,), or (N, n). Arrays may be read-only.
        """
        if type(t) is not float:  # control loops pass a float and skip these checks
            if isinstance(t, np.ndarray) and t.ndim:
                return self._sample_all(t)
            t = float(t)
        if t < self._times[0]:
            return self._before
        if t > self._times[-1]:
            return self._after
        return self._inside(t)

    def higher(self, t: float | Array) -> tuple[Array, Array]:
        """Return jerk and snap at time t, zero outside the motion.

        They jump at the points of a motion of smoothness 2.

        Args:
            t: Time, s: one number, or an array of shape (N,).

        Returns:
            Jerk, rad/s^3 or m/s^3, and snap, rad/s^4 or m/s^4, shape (n,) or (N, n) each.
        """
        t = np.asarray(t, dtype=np.float64)
        k = np.clip(np.searchsorted(self.breaks, t, side="right") - 1, 0, len(self.breaks) - 2)
        u = (np.clip(t, self.start, self.end) - self.breaks[k])[..., None]
        c3, c4, c5 = np.moveaxis(self.coefficients[k][..., 3:], -1, 0)
        moves = ((t >= self.start) & (t <= self.end))[..., None]
        return moves * (6.0 * c3 + u * (24.0 * c4 + u * 60.0 * c5)), moves * (
            24.0 * c4 + u * 120.0 * c5
        )

    def _inside(self, t: float) -> State:
        k = bisect_right(self._times, t, 0, self._last) - 1
        u = t - self._times[k]
        u2 = u * u
        x = self._pieces[k].dot(np.array((1.0, u, u2, u2 * u, u2 * u2, u2 * u2 * u)))
        q, qd, qdd = self._rows
        return State(x[q], x[qd], x[qdd])

    def _sample_all(self, t: Array) -> State:
        k = np.clip(np.searchsorted(self.breaks, t, side="right") - 1, 0, len(self.breaks) - 2)
        u = (np.clip(t, self.start, self.end) - self.breaks[k])[:, None]
        c = self.coefficients[k]
        q, qd, qdd = (np.zeros(c.shape[:2]) for _ in range(3))
        for p in reversed(range(ORDER)):  # Horner's rule, and its first and second derivative
            qdd = qdd * u + 2.0 * qd
            qd = qd * u + q
            q = q * u + c[..., p]
        resting = (t < self.start) | (t > self.end)
        qd[resting] = 0.0
        qdd[resting] = 0.0
        return State(q, qd, qdd)
