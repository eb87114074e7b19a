"""Detection of a loop that oscillates instead of coming to rest, for any gains."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics.foundation.arrays import Array

LEAST_SIZE = 1e-3
"""Least change of an error between two turning points, rad or m; smaller ones are noise."""


class Rule(NamedTuple):
    """A rule that tells an oscillation from the response to a push.

    Args:
        turns: Number of consecutive turning points, at most `TURNS`.
        growth: Least size of each half wave, relative to the one before.
        longest: Longest time of these turns, s: PD near its stability limit oscillates fast.
    """

    turns: int
    growth: float
    longest: float


TURNS = 6
"""Turning points that are remembered for each joint."""

RULES = (Rule(TURNS, 0.0, 1.0), Rule(4, 1.5, 0.3))
"""A sustained oscillation, and one that grows fast and must be found early."""

STEADY = 0.8
"""Least size, in an oscillation that does not die out, of every half wave relative to the first and
of the last relative to the largest."""

UNEVEN = 0.5
"""Largest relative deviation of the times between turns from their mean: a loop near its stability
limit oscillates evenly, an arm under repeated pushes does not."""

SHORTEST_STEP_S = 4e-3
"""Least time between two samples of the error, s."""


class Oscillation(NamedTuple):
    """An oscillation of a joint.

    Args:
        joint: Index of the joint.
        size: Change of its error from one turn to the next, rad or m.
        frequency: Number of periods in a second, Hz.
    """

    joint: int
    size: float
    frequency: float


class OscillationDetector:
    """Records the turning points of each joint's error and the size of the half waves between.

    Args:
        n: Number of joints.
    """

    def __init__(self, n: int) -> None:
        self.forget(np.zeros(n))

    def forget(self, error: Array) -> None:
        """Start anew from an error, shape (n,)."""
        n = len(error)
        self._turn, self._extreme = error.copy(), error.copy()
        self._rising = np.ones(n, dtype=bool)
        self._sizes = np.zeros((TURNS, n))
        self._times = np.full((TURNS, n), -np.inf)
        self._next = -np.inf

    def detect(self, error: Array, now: float) -> Oscillation | None:
        """Return the oscillation of a joint that does not come to rest, or None.

        Args:
            error: Position error, shape (n,), rad or m.
            now: Present time, s.
        """
        if now < self._next:
            return None
        self._next = now + SHORTEST_STEP_S
        further = np.where(self._rising, error > self._extreme, error < self._extreme)
        self._extreme = np.where(further, error, self._extreme)
        turned = np.abs(error - self._extreme) > LEAST_SIZE
        if not turned.any():
            return None
        size = np.abs(self._extreme - self._turn)
        for i in np.flatnonzero(turned):
            self._sizes[:-1, i], self._times[:-1, i] = self._sizes[1:, i], self._times[1:, i]
            self._sizes[-1, i] = max(size[i], LEAST_SIZE)
            self._times[-1, i] = now
            self._turn[i], self._extreme[i] = self._extreme[i], error[i]
            self._rising[i] = not self._rising[i]
            for turns, growth, longest in RULES:
                times, sizes = self._times[-turns:, i], self._sizes[-turns:, i]
                if (sizes[1:] >= growth * sizes[:-1]).all() and _sustained(times, sizes, longest):
                    frequency = (turns - 1) / (2.0 * float(times[-1] - times[0]))
                    self._times[:, i] = -np.inf  # reported; count anew
                    return Oscillation(int(i), float(sizes[-1]), frequency)
        return None


def _sustained(times: Array, sizes: Array, longest: float) -> bool:
    """Return whether half waves are fast enough, evenly spaced and do not die out."""
    if times[-1] - times[0] > longest:
        return False
    passed = np.diff(times)
    uneven = np.abs(passed - passed.mean()) > UNEVEN * passed.mean() + SHORTEST_STEP_S
    lasts = min(sizes.min() / sizes[0], sizes[-1] / sizes.max()) >= STEADY
    return lasts and not uneven.any()
