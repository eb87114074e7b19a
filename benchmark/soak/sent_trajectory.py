"""A trajectory as it was sent, and how well the reference follows it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

FIRST, SEGMENT, SEGMENTS = 0.8, 1.0, 3
"""Time to the first waypoint, s, time between two, s, and number of waypoints after the first."""

DURATION = FIRST + SEGMENTS * SEGMENT
"""Of a trajectory, s."""


@dataclass
class SentTrajectory:
    """A trajectory that was sent, and what has been seen of it.

    Args:
        begin: When it starts, s of the system's clock.
        knots: Its waypoints, at rest, shape (SEGMENTS + 1, n), rad.
        until: When another one takes its place, s.
        seen: How many references have been compared with it.
        deviation: Largest distance of one of them from it, rad.
    """

    begin: float
    knots: np.ndarray
    until: float = np.inf
    seen: int = 0
    deviation: float = 0.0

    def expected(self, t: float) -> np.ndarray:
        """Where the joints are to be, shape (n,), from the first waypoint on."""
        s = (t - self.begin - FIRST) / SEGMENT
        k = min(int(s), SEGMENTS - 1)
        s = min(s - k, 1.0)
        rise = s**3 * (10.0 - 15.0 * s + 6.0 * s**2)
        return self.knots[k] + rise * (self.knots[k + 1] - self.knots[k])

    def compare(self, t: float, q: np.ndarray) -> None:
        """Compare the reference q, shape (n,), of time t."""
        if self.begin + FIRST <= t < self.until:
            self.seen += 1
            self.deviation = max(self.deviation, float(np.abs(q - self.expected(t)).max()))
