"""Watchdog: detects that messages have stopped."""

from __future__ import annotations

import numpy as np

MISSED = 2.0
"""Gap between two messages, as a multiple of the timeout, that counts although no cycle saw it."""


class Watchdog:
    """Detects that messages have stopped. Reads no clock.

    Args:
        timeout: Age at which the last message is stale, s; infinite for never.

    Attributes:
        missed: Whether messages had stopped for `MISSED` timeouts before the last one, since the
            last `take_missed`: the process itself may have stood still.
    """

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout
        self._last = -np.inf
        self._was_stale, self.missed = True, False

    def feed(self, now: float) -> None:
        """Note a message."""
        self.missed |= MISSED * self.timeout < now - self._last < np.inf
        self._last = now

    def take_missed(self) -> bool:
        """Return `missed`, and reset it."""
        missed, self.missed = self.missed, False
        return missed

    def forget(self) -> None:
        """Forget the last message."""
        self._last = -np.inf

    def age(self, now: float) -> float:
        """Return the time since the last message, s; infinite before the first."""
        return now - self._last

    def stale(self, now: float) -> bool:
        """Return whether no message has come within the timeout."""
        return self._last == -np.inf or now - self._last > self.timeout

    def change(self, now: float) -> str | None:
        """Return "stale" or "fresh" on the first call after a change, else None: to log it once.

        A watchdog is stale before the first message, which is no change.
        """
        stale = self.stale(now)
        if stale == self._was_stale:
            return None
        self._was_stale = stale
        return "stale" if stale else "fresh"
