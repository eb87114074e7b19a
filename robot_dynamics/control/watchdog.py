"""Watchdog: detects that messages have stopped."""

from __future__ import annotations

import numpy as np


class Watchdog:
    """Detects that messages have stopped. Reads no clock.

    Args:
        timeout: Age at which the last message is stale, s; infinite for never.
    """

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout
        self._last = -np.inf
        self._was_stale = True

    def feed(self, now: float) -> None:
        """Note a message.

        Args:
            now: Present time, s, of the clock of the caller.
        """
        self._last = now

    def forget(self) -> None:
        """Forget the last message."""
        self._last = -np.inf

    def age(self, now: float) -> float:
        """Return the time since the last message.

        Args:
            now: Present time, s, of the clock of the caller.

        Returns:
            Age, s; infinite before the first.
        """
        return now - self._last

    def stale(self, now: float) -> bool:
        """Return whether no message has come within the timeout.

        Args:
            now: Present time, s, of the clock of the caller.

        Returns:
            True if none has come.
        """
        return self._last == -np.inf or now - self._last > self.timeout

    def change(self, now: float) -> str | None:
        """Return "stale" or "fresh" on the first call after a change, else None: to log it once.

        A watchdog is stale before the first message, which is no change.

        Args:
            now: Present time, s, of the clock of the caller.

        Returns:
            "stale", "fresh" or None.
        """
        stale = self.stale(now)
        if stale == self._was_stale:
            return None
        self._was_stale = stale
        return "stale" if stale else "fresh"
