"""Transitions without a step: what was commanded fades into what is wanted."""

from __future__ import annotations

import numpy as np

from robot_dynamics.arrays import Array


def smooth_step(u: float) -> float:
    """Rise from 0 to 1 over u from 0 to 1, with zero slope and curvature at both ends."""
    u = min(max(u, 0.0), 1.0)
    return u**3 * (10.0 - 15.0 * u + 6.0 * u**2)


class Fade:
    """A step in effort that is spread over time.

    When what is wanted jumps, `begin` with the size of the jump; adding `value`
    to what is wanted then goes on from the old effort and ends at the new one.

    Args:
        n: Number of joints.
        duration: Time from the one to the other, s.
    """

    def __init__(self, n: int, duration: float) -> None:
        self.duration = duration
        self._none = np.zeros(n)
        self._gap = self._none
        self._began = 0.0

    def begin(self, gap: Array, now: float) -> None:
        """Start to fade out `gap`, shape (n,): old effort minus new effort at time `now`."""
        self._gap = gap
        self._began = now

    def value(self, now: float) -> Array:
        """What is left of the gap, shape (n,)."""
        if self._gap is self._none:
            return self._none
        elapsed = now - self._began
        if self.duration <= 0.0 or not 0.0 <= elapsed < self.duration:  # over, or the clock jumped
            self._gap = self._none
            return self._none
        return (1.0 - smooth_step(elapsed / self.duration)) * self._gap
