"""Swings: notices a loop that does not come to rest, whatever its gains were computed for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics.arrays import Array

LEAST_SWING = 1e-3
"""Change of an error between two turns that is a swing, rad or m; smaller ones are noise."""

TURNS = 6
"""Turns of an error in a row that are a swing and not an answer to a push."""

LONGEST_S = 1.0
"""Time that so many turns take at most: PD near the edge of its stability swings fast."""

STEADY = 0.8
"""Share of the first swing that the last one still has, if the swing does not die out."""

SHORTEST_STEP_S = 4e-3
"""Time from one look to the next."""


class Swing(NamedTuple):
    """Index of a joint that swings, and the time from one turn to the next, s."""

    joint: int
    half_period: float


class SwingWatch:
    """Counts the turns of each joint's error, with what it has gone in between.

    Args:
        n: Number of joints.
    """

    def __init__(self, n: int) -> None:
        self._joints = np.arange(n)
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
            self._sizes[-1, i], self._times[-1, i] = size[i], now
            self._turn[i], self._extreme[i] = self._extreme[i], error[i]
            self._rising[i] = not self._rising[i]
            passed = now - self._times[0, i]
            if passed <= LONGEST_S and self._sizes[-1, i] >= STEADY * self._sizes[0, i]:
                self._times[:, i] = -np.inf  # told; count anew
                return Swing(int(i), float(passed) / (TURNS - 1))
        return None
