"""ThrottledLog: faults that arrive a thousand times a second, logged once."""

from __future__ import annotations

import re
from collections.abc import Callable
from time import monotonic

REPEAT_AFTER_S = 10.0
"""Time after which a fault that goes on is logged again, s."""

MAX_LINES_PER_S = 20
"""Most lines about one topic, however many different faults arrive."""


_NUMBER = re.compile(r"(?<!\w)[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?!\w)")
"""A number by itself, not one in a name such as joint_1."""


class ThrottledLog:
    """Logs faults, each one once until it changes or until a while has passed.

    Faults that differ in numbers only are one and the same.

    Args:
        log: Where a line goes.
    """

    def __init__(self, log: Callable[[str], object]) -> None:
        self._log = log
        self._last: dict[str, tuple[str, float]] = {}
        self._recent: dict[str, list[float]] = {}
        self._suppressed: dict[str, tuple[int, int]] = {}  # the last one again, and others
        self.count: dict[str, int] = {}
        """How many faults each topic has had."""

    def last(self, topic: str) -> str:
        """The fault of a topic that was logged last; empty if there was none."""
        return self._last.get(topic, ("", 0.0))[0]

    def warn(self, topic: str, fault: object) -> None:
        """Log a fault of a topic, unless it is the one that was logged last."""
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
    """The text of a fault whatever the numbers in it are."""
    return _NUMBER.sub("#", text)
