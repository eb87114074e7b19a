"""Diagnostics: what a node says of itself on /diagnostics, once a second.

Everything here runs in the executor's thread and only reads what the loop
counts anyway, so that the loop never waits for a report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
from time import monotonic
from typing import Any, NamedTuple

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from robot_dynamics.nodes.runtime.timing import Mark, Timing, TimingReport

DIAGNOSTICS_TOPIC = "/diagnostics"

REPORT_PERIOD_S = 1.0
"""Time between two reports, s."""

STALE_AFTER_S = 1.0
"""Age at which an input that had been coming counts as stale, s."""

MISSED_WARN_RATIO, MISSED_ERROR_RATIO = 0.01, 0.5
"""Part of the cycles since the last report that may be missed before a report warns or worse."""


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


class Input:
    """Counts the messages of one topic on their way to a callback; called by the loop.

    Args:
        topic: Name of the topic.
        callback: What the messages are for.
    """

    def __init__(self, topic: str, callback: Callable[[Any], None]) -> None:
        self.topic = topic
        self.count = 0
        self._callback = callback
        self._at = 0.0

    def __call__(self, msg: Any) -> None:
        """Take one message."""
        self._at = monotonic()
        self.count += 1
        self._callback(msg)

    @property
    def age(self) -> float | None:
        """Time since the last message, s; None before the first."""
        return monotonic() - self._at if self.count else None


class CounterDeltas:
    """By how much counters have grown since they were last looked at."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}

    def of(self, name: str, count: int) -> int:
        """Growth of one counter."""
        grown = count - self._last.get(name, 0)
        self._last[name] = count
        return grown


class RecentTiming:
    """What a task did since the last look.

    Args:
        timing: Statistics of the task.
    """

    def __init__(self, timing: Timing) -> None:
        self._timing = timing
        self._mark = timing.mark()

    def report(self) -> TimingReport | None:
        """Statistics of the cycles since the last call; None before the task has started."""
        since, self._mark = self._mark, self._timing.mark()
        if self._mark.cycles == 0:
            return None
        return self._timing.report(Mark() if since.cycles > self._mark.cycles else since)


def stale_inputs(inputs: Iterable[Input]) -> list[Fault]:
    """A fault for every input that had been coming and has stopped."""
    return [
        Fault(Level.STALE, f"no {source.topic} for {source.age:.1f} s")
        for source in inputs
        if source.age is not None and source.age > STALE_AFTER_S
    ]


def timing_faults(report: TimingReport | None) -> list[Fault]:
    """What is wrong with how a task keeps its rate; nothing before it has started."""
    if report is None:
        return []
    if report.cycles == 0:
        return [Fault(Level.ERROR, "the loop stands still")]
    total = report.cycles + report.missed
    text = f"{report.missed} of {total} cycles missed"
    if report.missed > MISSED_ERROR_RATIO * total:
        return [Fault(Level.ERROR, f"{text}; lower the parameter rate")]
    return [Fault(Level.WARN, text)] if report.missed > MISSED_WARN_RATIO * total else []


def timing_values(report: TimingReport | None) -> dict[str, object]:
    """How a task keeps its rate, in words."""
    if report is None:
        return {}
    return {
        "rate asked (Hz)": report.asked,
        "rate held (Hz)": report.held,
        "cycles missed": report.missed,
        "jitter, median (us)": 1e6 * report.late_median,
        "jitter, 99 % (us)": 1e6 * report.late_p99,
        "jitter, worst (us)": 1e6 * report.late_max,
        "cycle, median (us)": 1e6 * report.busy_median,
        "cycle, worst (us)": 1e6 * report.busy_max,
    }


def input_values(inputs: Iterable[Input]) -> dict[str, object]:
    """Count and age of the messages of every input."""
    values: dict[str, object] = {}
    for source in inputs:
        values[f"{source.topic}: messages"] = source.count
        values[f"{source.topic}: age (s)"] = source.age
    return values


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
