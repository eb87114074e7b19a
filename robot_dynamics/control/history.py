"""History: what was desired a moment ago, to compare a measured state with what was due then."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np

from robot_dynamics.arrays import Array

ANOTHER_CLOCK = 1.0
"""Time before all and after all that is known from where on a stamp means nothing, s."""


class History:
    """Desired positions and velocities of the last moments.

    A state that comes late, or is the last for a while, belongs to the time at
    which it was measured. Compared with what is desired now, an arm in motion
    would seem to be off its way, and feedback would push it.

    Args:
        farthest: Longest time over which a motion goes on with its velocity, where nothing is
            known of it, s.
        length: Number of entries that are kept.
    """

    def __init__(self, farthest: float, length: int = 256) -> None:
        self._farthest = farthest
        self._length = length
        self.forget()

    def forget(self) -> None:
        """Start again."""
        self._times: list[float] = []
        self._states: list[tuple[Array, Array]] = []

    def add(self, time: float, q: Array, qd: Array) -> None:
        """Note what is desired at a time, s: q and qd, shape (n,), which are copied."""
        if self._times and time <= self._times[-1]:
            if time == self._times[-1]:
                return
            self.forget()  # the clock was set back
        self._times.append(time)
        self._states.append((q.copy(), qd.copy()))
        if len(self._times) >= 2 * self._length:  # all at once, for the cost of a few copies
            del self._times[: self._length], self._states[: self._length]

    def at(self, time: float) -> tuple[Array, Array] | None:
        """Positions and velocities, shape (n,), that were desired at a time.

        Between two entries they are interpolated; before the first and after the last one the
        motion goes on with its velocity, for a while. None if nothing is known, or if the time is
        so far off that it must come from another clock.
        """
        times, states = self._times, self._states
        if not times or not times[0] - ANOTHER_CLOCK <= time <= times[-1] + ANOTHER_CLOCK:
            return None
        k = bisect_right(times, time)
        if k in (0, len(times)):
            k = max(k - 1, 0)
            q, qd = states[k]
            return q + min(max(time - times[k], -self._farthest), self._farthest) * qd, qd
        (q_0, qd_0), (q_1, qd_1) = states[k - 1], states[k]
        s = (time - times[k - 1]) / (times[k] - times[k - 1])
        return np.asarray(q_0 + s * (q_1 - q_0)), np.asarray(qd_0 + s * (qd_1 - qd_0))
