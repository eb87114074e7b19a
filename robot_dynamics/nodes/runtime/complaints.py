"""Complaints: faults that arrive a thousand times a second, told once."""

from __future__ import annotations

import re
from collections.abc import Callable
from time import monotonic

AGAIN = 10.0
"""Time after which a fault that goes on is told again, s."""

LINES_PER_SECOND = 20
"""Most lines about one topic, however many different faults arrive."""


_NUMBER = re.compile(r"(?<!\w)[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?!\w)")
"""A number by itself, not one in a name such as joint_1."""


class Complaints:
    """Logs faults, each one once until it changes or until a while has passed.

    Faults that differ in numbers only are one and the same.

    Args:
        log: Where a line goes.
    """

    def __init__(self, log: Callable[[str], object]) -> None:
        self._log = log
        self._last: dict[str, tuple[str, float]] = {}
        self._recent: dict[str, list[float]] = {}
        self._untold: dict[str, tuple[int, int]] = {}  # the last one again, and others
        self.count: dict[str, int] = {}
        """How many faults each topic has had."""

    def last(self, topic: str) -> str:
        """The fault of a topic that was logged last; empty if there was none."""
        return self._last.get(topic, ("", 0.0))[0]

    def say(self, topic: str, fault: object) -> None:
        """Log a fault of a topic, unless it is the one that was logged last."""
        text, now = str(fault), monotonic()
        self.count[topic] = self.count.get(topic, 0) + 1
        last, told = self._last.get(topic, ("", 0.0))
        is_last = _kind(text) == _kind(last)
        recent = [t for t in self._recent.get(topic, []) if now - t < 1.0]
        again, others = self._untold.get(topic, (0, 0))
        if (is_last and now - told < AGAIN) or len(recent) >= LINES_PER_SECOND:
            self._untold[topic] = (again + is_last, others + (not is_last))
            return
        self._last[topic] = (text, now)
        self._recent[topic] = [*recent, now]
        self._untold.pop(topic, None)
        if not is_last:
            again, others = 0, again + others
        untold = [f"{again} more since the last such line"] if again else []
        untold += [f"{others} other faults not shown"] if others else []
        self._log(text + (f" ({', '.join(untold)})" if untold else ""))


def _kind(text: str) -> str:
    """The text of a fault whatever the numbers in it are."""
    return _NUMBER.sub("#", text)
