"""Diagnostics: what a node says of itself on /diagnostics, once a second.

Everything here runs beside the loop and only reads what the loop
counts anyway, so that the loop never waits for a report.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Any, NamedTuple

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

DIAGNOSTICS_TOPIC = "/diagnostics"

REPORT_PERIOD_S = 1.0
"""Time between two reports, s."""


class Level(IntEnum):
    """How serious a fault is, least first."""

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
"""As the message has them: there, STALE comes last."""


class Fault(NamedTuple):
    """Something that is wrong now, in a few words."""

    level: Level
    text: str


class CounterDeltas:
    """By how much counters have grown since they were last looked at."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}

    def of(self, name: str, count: int) -> int:
        """Growth of one counter."""
        grown = count - self._last.get(name, 0)
        self._last[name] = count
        return grown


def status_msg(
    name: str, hardware: str, faults: Iterable[Fault], values: Mapping[str, object]
) -> DiagnosticStatus:
    """One status: the level of the worst fault, the text of all, worst first, and the values."""
    worst_first = sorted(faults, key=lambda fault: -fault.level)
    return DiagnosticStatus(
        name=name,
        hardware_id=hardware,
        level=_BYTES[worst_first[0].level if worst_first else Level.OK],
        message="; ".join(fault.text for fault in worst_first) or "ok",
        values=[KeyValue(key=key, value=in_words(value)) for key, value in values.items()],
    )


def array_msg(status: DiagnosticStatus, stamp: Any) -> DiagnosticArray:
    """The message for /diagnostics."""
    msg = DiagnosticArray(status=[status])
    msg.header.stamp = stamp
    return msg


def in_words(value: object) -> str:
    """A value as the report shows it: six digits are enough to read."""
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
