"""Diagnostics: the report of a node on /diagnostics, once a second, and its log of faults.

Reports are made beside the loop from its counters, so that the loop never waits for one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
from time import monotonic
from typing import Any, NamedTuple

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

DIAGNOSTICS_TOPIC = "/diagnostics"

REPORT_PERIOD_S = 1.0
"""Period of the reports, s."""


class Level(IntEnum):
    """Severity of a fault, least first."""

    OK = 0
    WARN = 1
    STALE = 2
    ERROR = 3


_BYTES = {
    Level.OK: DiagnosticStatus.OK,
    Level.WARN: DiagnosticStatus.WARN,
    Level.STALE: DiagnosticStatus.STALE,
    Level.ERROR: DiagnosticStatus.ERROR,
}
"""Levels of the message, in which STALE is last."""


class Fault(NamedTuple):
    """A present fault, in a few words."""

    level: Level
    text: str


class CounterDeltas:
    """Growth of counters since the last call of `of`."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}

    def of(self, name: str, count: int) -> int:
        """Return the growth of one counter."""
        grown = count - self._last.get(name, 0)
        self._last[name] = count
        return grown


def status_msg(
    name: str, hardware: str, faults: Iterable[Fault], values: Mapping[str, object]
) -> DiagnosticStatus:
    """Return a status with the level of the worst fault, all texts, worst first, and values."""
    worst_first = sorted(faults, key=lambda fault: -fault.level)
    return DiagnosticStatus(
        name=name,
        hardware_id=hardware,
        level=_BYTES[worst_first[0].level if worst_first else Level.OK],
        message="; ".join(fault.text for fault in worst_first) or "ok",
        values=[KeyValue(key=key, value=in_words(value)) for key, value in values.items()],
    )


def array_msg(status: DiagnosticStatus, stamp: Any) -> DiagnosticArray:
    """Return the message for /diagnostics."""
    msg = DiagnosticArray(status=[status])
    msg.header.stamp = stamp
    return msg


def in_words(value: object) -> str:
    """Return a value as text, with six digits."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        value = [f"{key}: {in_words(entry)}" for key, entry in value.items()]
    if isinstance(value, Iterable):
        return ", ".join(in_words(entry) for entry in value) or "none"
    return str(value)


REPEAT_AFTER_S = 10.0
"""Period of repeating a persistent fault, s."""

MAX_LINES_PER_S = 20
"""Largest number of lines about one topic."""

_NUMBER = re.compile(r"(?<!\w)[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?!\w)")
"""A number by itself, not one in a name such as joint_1."""


MOST_FAULTS = 64
"""Most faults of one topic to remember."""


class ThrottledLog:
    """Logs each fault once, and again after `REPEAT_AFTER_S`; one fault silences no other.

    Faults that differ only in numbers count as the same.

    Args:
        log: Function that writes a line.

    Attributes:
        count: Number of faults by topic.
    """

    def __init__(self, log: Callable[[str], object]) -> None:
        self._log = log
        self._last: dict[str, str] = {}
        self._logged: dict[str, dict[str, tuple[float, int]]] = {}  # time, and repetitions since
        self._recent: dict[str, list[float]] = {}
        self._others: dict[str, int] = {}  # faults that were too many to log
        self.count: dict[str, int] = {}

    def last(self, topic: str) -> str:
        """Return the last fault of a topic; empty if there was none."""
        return self._last.get(topic, "")

    def warn(self, topic: str, fault: object) -> None:
        """Log a fault of a topic unless it was logged of late."""
        text, now = one_line(fault), monotonic()
        self.count[topic] = self.count.get(topic, 0) + 1
        self._last[topic] = text
        logged, kind = self._logged.setdefault(topic, {}), _kind(text)
        at, again = logged.get(kind, (-math.inf, 0))
        recent = [t for t in self._recent.get(topic, []) if now - t < 1.0]
        if now - at < REPEAT_AFTER_S or (kind in logged and len(recent) >= MAX_LINES_PER_S):
            logged[kind] = (at, again + 1)
            return
        if len(recent) >= MAX_LINES_PER_S:
            self._others[topic] = self._others.get(topic, 0) + 1
            return
        logged.pop(kind, None)  # the longest ago stands first
        logged[kind] = (now, 0)
        if len(logged) > MOST_FAULTS:
            del logged[next(iter(logged))]
        self._recent[topic] = [*recent, now]
        others = self._others.pop(topic, 0)
        suppressed = [f"{again} more since the last such line"] if again else []
        suppressed += [f"{others} other faults not shown"] if others else []
        self._log(text + (f" ({', '.join(suppressed)})" if suppressed else ""))


LONGEST_LINE = 1000
"""Longest line about a fault, which may name what a message named, characters."""


def one_line(fault: object) -> str:
    """Return a fault as one line without control characters, shortened in the middle."""
    text = "".join(c if c.isprintable() else " " for c in str(fault))
    half = LONGEST_LINE // 2
    return text if len(text) <= LONGEST_LINE else f"{text[:half]} ... {text[-half:]}"


def _kind(text: str) -> str:
    """Return the text of a fault without its numbers."""
    return _NUMBER.sub("#", text)
