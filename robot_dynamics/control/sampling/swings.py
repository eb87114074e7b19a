"""Swings: notices a loop that does not come to rest, whatever its gains were computed for."""

from __future__ import annotations

from math import atan2, log, pi
from typing import NamedTuple

import numpy as np

from robot_dynamics.arrays import Array

LEAST_SWING = 1e-3
"""Change of an error between two turns that is a swing, rad or m; smaller ones are noise."""


class Rule(NamedTuple):
    """What is a swing, and not an answer to a push.

    Args:
        turns: Turns of an error in a row.
        growth: Size of each swing, at least, over that of the one before.
        longest: Time that so many turns take at most, s: PD near its edge swings fast.
    """

    turns: int
    growth: float
    longest: float


TURNS = 6
RULES = (Rule(TURNS, 0.0, 1.0), Rule(4, 1.5, 0.3))
"""A swing that goes on, and one that grows fast, where there is no time to wait for more turns."""

STEADY = 0.8
"""Share of the first swing that all others have, and of the largest that the last one has, if the
swing does not die out."""

UNEVEN = 0.5
"""Share by which the times between turns may be longer or shorter than their mean: a loop near its
edge swings evenly, what pushes the arm again and again does not."""

SHORTEST_STEP_S = 4e-3
"""Time from one look to the next."""


class Swing(NamedTuple):
    """How a joint swings.

    Args:
        joint: Its index.
        half_period: Time from one turn to the next, s.
        growth: Size of a swing, from turn to turn, over that of the one before.
    """

    joint: int
    half_period: float
    growth: float

    @property
    def lag(self) -> float:
        """Delay with which a loop swings so, s: the phase of exp(s d) for s e = -mu e(t - d)."""
        growth = log(max(self.growth, 1.0))
        return self.half_period * (1.0 - atan2(pi, growth) / pi)


class SwingWatch:
    """Counts the turns of each joint's error, with what it has gone in between.

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

    def swinging(self, error: Array, now: float) -> Swing | None:
        """The swing of a joint that does not come to rest, or None.

        Args:
            error: Position error, shape (n,), rad or m.
            now: Present time, s.
        """
        if now < self._next:
            return None
        self._next = now + SHORTEST_STEP_S
        further = np.where(self._rising, error > self._extreme, error < self._extreme)
        self._extreme = np.where(further, error, self._extreme)
        turned = np.abs(error - self._extreme) > LEAST_SWING
        if not turned.any():
            return None
        size = np.abs(self._extreme - self._turn)
        for i in np.flatnonzero(turned):
            self._sizes[:-1, i], self._times[:-1, i] = self._sizes[1:, i], self._times[1:, i]
            self._sizes[-1, i] = max(size[i], LEAST_SWING)
            self._times[-1, i] = now
            self._turn[i], self._extreme[i] = self._extreme[i], error[i]
            self._rising[i] = not self._rising[i]
            for turns, growth, longest in RULES:
                times, sizes = self._times[-turns:, i], self._sizes[-turns:, i]
                if (sizes[1:] >= growth * sizes[:-1]).all() and _lasts(times, sizes, longest):
                    swing = Swing(
                        int(i),
                        float(times[-1] - times[0]) / (turns - 1),
                        float(sizes[-1] / sizes[0]) ** (1.0 / (turns - 1)),
                    )
                    self._times[:, i] = -np.inf  # told; count anew
                    return swing
        return None


def _lasts(times: Array, sizes: Array, longest: float) -> bool:
    """Whether turns at these times, after swings of these sizes, are those of an even swing."""
    if times[-1] - times[0] > longest:
        return False
    passed = np.diff(times)
    uneven = np.abs(passed - passed.mean()) > UNEVEN * passed.mean() + SHORTEST_STEP_S
    lasts = min(sizes.min() / sizes[0], sizes[-1] / sizes.max()) >= STEADY
    return lasts and not uneven.any()
