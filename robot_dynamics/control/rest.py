"""Rest: detects that an arm stands still for a while, and the effort that holds it there."""

from __future__ import annotations

from collections import deque

import numpy as np

from robot_dynamics.foundation.arrays import Array

REST_S = 0.5
"""Time for which rest must last, s: feedback at 10 rad/s leaves 1 % of a motion."""

SPEED = 0.01
"""Largest mean speed at rest, rad/s or m/s; a mean, because velocities are noisy."""

WAY = 2e-3
"""Largest range of positions at rest, rad or m."""

EFFORT_SHARE = 0.01
"""Largest change of the mean effort at rest, as a share of its limit."""

UNKNOWN_SHARE = 0.1
"""Share of the effort limit from which an effort that the model does not explain is a load.
Feedback at rest also pushes against friction: held by that, an arm would be about to move."""

FEWEST = 6
"""Fewest states by which rest is known."""


class Rest:
    """Detects rest by the latest states and commands. Reads no clock.

    One slow state is no rest: the arm may be at a turning point.

    Args:
        limit: Largest effort of each joint, shape (n,), N m or N.
    """

    def __init__(self, limit: Array) -> None:
        self._limit = limit
        self._kept: deque[tuple[float, Array]] = deque()

    def feed(self, now: float, q: Array, qd: Array, tau: Array) -> None:
        """Note a state that arrived at time now, s, and the present command, shape (n,) each."""
        kept = self._kept
        if kept and now <= kept[-1][0]:
            return
        kept.append((now, np.array((q, qd, tau))))
        while len(kept) > FEWEST and now - kept[1][0] >= REST_S:
            kept.popleft()

    @property
    def lasts(self) -> bool:
        """Return whether position, velocity and effort have been steady for `REST_S`."""
        kept = self._kept
        if len(kept) < FEWEST or kept[-1][0] - kept[0][0] < REST_S:
            return False
        rows = np.array([row for _, row in kept])  # (N, 3, n)
        early, late = (half.mean(axis=0) for half in np.array_split(rows, 2))
        slow = max(np.abs(early[1]).max(), np.abs(late[1]).max()) <= SPEED
        steady = (np.abs(late[2] - early[2]) <= EFFORT_SHARE * self._scale(rows[:, 2])).all()
        return bool(slow and steady and np.ptp(rows[:, 0], axis=0).max() <= WAY)

    def holding_effort(self, gravity: Array) -> Array:
        """Return the effort that holds the arm without feedback, shape (n,), N m or N.

        That is the effort of the model, without what is left of the motion, and the load that
        the model does not know, without which the arm would fall.

        Args:
            gravity: Effort of the model at rest, shape (n,), N m or N.
        """
        if not self.lasts:
            return gravity
        efforts = np.array([row[2] for _, row in self._kept])
        unknown = efforts.mean(axis=0) - gravity
        loaded = np.abs(unknown) > UNKNOWN_SHARE * self._scale(efforts)
        return np.asarray(gravity + np.where(loaded, unknown, 0.0))

    def _scale(self, efforts: Array) -> Array:
        """Return the effort limits, or where there is none the largest of efforts (N, n)."""
        return np.where(np.isfinite(self._limit), self._limit, np.abs(efforts).max())
