"""ThrottledLog: log faults once that occur a thousand times a second."""

from __future__ import annotations

import re
from collections.abc import Callable
from time import monotonic

REPEAT_AFTER_S = 10.0
"""Period of repeating a persistent fault, s."""

MAX_LINES_PER_S = 20
"""Largest number of lines about one topic."""

_NUMBER = re.compile(r"(?<!\w)[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?!\w)")
"""A number by itself, not one in a name such as joint_1."""


class ThrottledLog:
    """Logs each fault once, and again when it changes or after `REPEAT_AFTER_S`.

    Faults that differ only in numbers count as the same.

    Args:
        log: Function that writes a line.

    Attributes:
        count: Number of faults by topic.
    """

    def __init__(self, log: Callable[[str], object]) -> None:
        self._log = log
        self._last: dict[str, tuple[str, float]] = {}
        self._recent: dict[str, list[float]] = {}
        self._suppressed: dict[str, tuple[int, int]] = {}  # repetitions, and other faults
        self.count: dict[str, int] = {}

    def last(self, topic: str) -> str:
        """Return the last logged fault of a topic; empty if there was none."""
        return self._last.get(topic, ("", 0.0))[0]

    def warn(self, topic: str, fault: object) -> None:
        """Log a fault of a topic unless it repeats the last one."""
        text, now = str(fault), monotonic()
        self.count[topic] = self.count.get(topic, 0) + 1
        last, logged_at = self._last.get(topic, ("", 0.0))
        is_last = _kind(text) == _kind(last)
        recent = [t for t in self._recent.get(topic, []) if now - t < 1.0]
        again, others = self._suppressed.get(topic, (0, 0))
        if (is_last and now - logged_at < REPEAT_AFTER_S) or len(recent) >= MAX_LINES_PER_S:
            self._suppressed[topic] = (again + is_last, others + (not is_last))
            return
        self._last[topic] = (text, now)
        self._recent[topic] = [*recent, now]
        self._suppressed.pop(topic, None)
        if not is_last:
            again, others = 0, again + others
        suppressed = [f"{again} more since the last such line"] if again else []
        suppressed += [f"{others} other faults not shown"] if others else []
        self._log(text + (f" ({', '.join(suppressed)})" if suppressed else ""))


def _kind(text: str) -> str:
    """Return the text of a fault without its numbers."""
    return _NUMBER.sub("#", text)
