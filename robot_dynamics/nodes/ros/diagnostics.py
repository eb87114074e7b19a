"""Diagnostics: the report of a node on /diagnostics, once a second.

Reports are made beside the loop from its counters, so that the loop never waits for one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
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
