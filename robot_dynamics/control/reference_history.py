"""References: the segment at the time of a state, and the history from which it is taken.

References are compared with the states that they belong to.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

import numpy as np

from robot_dynamics.foundation.arrays import Array

KEPT = 256
"""Number of references that a history keeps at least."""

ANOTHER_CLOCK_S = 1.0
"""Time outside the history beyond which a stamp comes from another clock, s."""


class ReferenceSegment(NamedTuple):
    """The reference at a time, between two known states.

    Args:
        before: First state, q and qd, shape (2, n).
        after: Second state, shape (2, n).
        share: Share of the motion from the first to the second that is made.
        ahead: Time for which the motion continues from there with its velocity, s.
        tau: Efforts that the model asks for, shape (n,).
    """

    before: Array
    after: Array
    share: float
    ahead: float
    tau: Array

    @classmethod
    def at(cls, q: Array, qd: Array, tau: Array) -> ReferenceSegment:
        """Return the segment of one state."""
        state = np.array((q, qd))
        return cls(state, state, 0.0, 0.0, tau)

    def desired(self) -> Array:
        """Return positions and velocities, shape (2, n)."""
        state = self.before + self.share * (self.after - self.before)
        state[0] += self.ahead * state[1]
        return state


class ReferenceHistory:
    """Latest desired positions and velocities.

    A late state belongs to the time at which it was measured. Compared with the
    present reference, an arm in motion would show an error that feedback would push.

    Args:
        farthest: Longest extrapolation of a motion with its velocity, s.
    """

    def __init__(self, farthest: float) -> None:
        self._farthest = farthest
        self.forget()

    def forget(self) -> None:
        """Forget all references."""
        self._times: list[float] = []
        self._states: list[Array] = []  # q and qd, shape (2, n)

    def add(self, time: float, state: Array) -> None:
        """Add the reference of a time, s: q and qd, shape (2, n), which are copied."""
        if self._times and time <= self._times[-1]:
            if time == self._times[-1]:
                return
            self.forget()  # the clock was set back
        self._times.append(time)
        self._states.append(state.copy())
        if len(self._times) >= 2 * KEPT:  # all at once, for the cost of a few copies
            del self._times[:KEPT], self._states[:KEPT]

    def around(self, time: float, tau: Array) -> ReferenceSegment | None:
        """Return the segment on which the motion desired at a time lies, with efforts, shape (n,).

        Between two entries it is interpolated; before the first and after the last one it goes on
        with its velocity, for a while. None if nothing is known, or if the time is so far off that
        it must come from another clock.
        """
        times, states = self._times, self._states
        if not times or not times[0] - ANOTHER_CLOCK_S <= time <= times[-1] + ANOTHER_CLOCK_S:
            return None
        if time >= times[-1]:
            ahead = min(time - times[-1], self._farthest)
            return ReferenceSegment(states[-1], states[-1], 0.0, ahead, tau)
        k = bisect_right(times, time)
        if k == 0:
            ahead = max(time - times[0], -self._farthest)
            return ReferenceSegment(states[0], states[0], 0.0, ahead, tau)
        share = (time - times[k - 1]) / (times[k] - times[k - 1])
        return ReferenceSegment(states[k - 1], states[k], share, 0.0, tau)
