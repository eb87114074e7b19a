"""Loop statistics: timing of a task and arrival of its inputs, recorded without allocation.

The loop counts; another thread makes the reports, so that the loop never waits for one.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from time import monotonic

import numpy as np

from robot_dynamics.nodes.ros.diagnostics import Fault, Level

WINDOW_CYCLES = 8192
"""Latest cycles in medians and percentiles; counts and maxima cover every cycle."""

S_PER_NS = 1e-9

STALE_AFTER_S = 1.0
"""Age of the last message at which an input is stale, s."""

MISSED_WARN_RATIO, MISSED_ERROR_RATIO = 0.01, 0.5
"""Fractions of missed cycles since the last report above which to report a warning or an error."""


@dataclass(frozen=True)
class TimingReport:
    """Timing of a task.

    Args:
        requested: Desired rate, Hz.
        held: Measured rate, Hz.
        cycles: Number of cycles.
        missed: Cycles skipped because an earlier one was late, not for lack of a message.
        late_median: Median delay of a cycle's start, s.
        late_p99: 99th percentile of the delay, s.
        late_max: Longest delay, s.
        busy_median: Median duration of a cycle, s.
        busy_p99: 99th percentile of the duration, s.
        busy_max: Longest cycle, s.
    """

    requested: float
    held: float
    cycles: int
    missed: int
    late_median: float
    late_p99: float
    late_max: float
    busy_median: float
    busy_p99: float
    busy_max: float

    def __str__(self) -> str:
        """Return one line for a log."""
        return (
            f"{self.held:.1f} Hz held of {self.requested:.1f} Hz, {self.missed} of "
            f"{self.cycles + self.missed} cycles missed, late {1e6 * self.late_median:.0f} us "
            f"(99 %: {1e6 * self.late_p99:.0f}, worst {1e6 * self.late_max:.0f}), busy "
            f"{1e6 * self.busy_median:.0f} us (99 %: {1e6 * self.busy_p99:.0f}, worst "
            f"{1e6 * self.busy_max:.0f})"
        )


_NONE = (0, 0, 0)
"""Cycles, missed cycles and time of the last cycle of a task that has not begun."""


class Timing:
    """Running statistics of one task; all times in steady-clock nanoseconds.

    Args:
        rate: Desired rate, Hz.
    """

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self._late = array("q", bytes(8 * WINDOW_CYCLES))
        self._busy = array("q", bytes(8 * WINDOW_CYCLES))
        self.reset()

    def reset(self) -> None:
        """Discard all records."""
        self.cycles = 0
        self.missed = 0
        self._late_max = self._busy_max = 0
        self._first = self._last = 0
        self._mark = _NONE  # of the last call of `recent`

    def record(self, begin: int, late: int, busy: int) -> None:
        """Record a cycle that began at `begin`, `late` ns after it was due, and took `busy` ns."""
        slot = self.cycles % WINDOW_CYCLES
        self._late[slot] = late
        self._busy[slot] = busy
        self._late_max = max(self._late_max, late)
        self._busy_max = max(self._busy_max, busy)
        if self.cycles == 0:
            self._first = begin
        self._last = begin
        self.cycles += 1

    def report(self) -> TimingReport:
        """Return statistics of all cycles; another thread may record meanwhile."""
        return self._since(_NONE)

    def recent(self) -> TimingReport | None:
        """Return statistics of the cycles since the last call; None before the second cycle.

        Maxima cover at most WINDOW_CYCLES cycles.
        """
        since, self._mark = self._mark, _NONE
        if self.cycles < 2:
            return None
        self._mark = self.cycles, self.missed, self._last
        return self._since(_NONE if since[0] > self.cycles else since)

    def _since(self, mark: tuple[int, int, int]) -> TimingReport:
        """Return statistics of the cycles since a mark: cycles, missed cycles, last cycle."""
        cycles, missed, last = self.cycles - mark[0], self.missed - mark[1], self._last
        count = min(cycles, WINDOW_CYCLES)
        slots = np.arange(mark[0] + cycles - count, mark[0] + cycles) % WINDOW_CYCLES
        late, busy = (
            np.sort(np.frombuffer(data, dtype=np.int64)[slots]) if count else np.zeros(1, np.int64)
            for data in (self._late, self._busy)
        )
        periods, begin = (cycles, mark[2]) if mark[0] else (cycles - 1, self._first)
        span = (last - begin) * S_PER_NS
        return TimingReport(
            requested=self.rate,
            held=periods / span if span > 0.0 else 0.0,
            cycles=cycles,
            missed=missed,
            late_median=float(late[len(late) // 2]) * S_PER_NS,
            late_p99=float(late[int(0.99 * len(late))]) * S_PER_NS,
            late_max=float(late[-1] if mark[0] else self._late_max) * S_PER_NS,
            busy_median=float(busy[len(busy) // 2]) * S_PER_NS,
            busy_p99=float(busy[int(0.99 * len(busy))]) * S_PER_NS,
            busy_max=float(busy[-1] if mark[0] else self._busy_max) * S_PER_NS,
        )


class Input:
    """Counter of the messages of one topic.

    Args:
        topic: Name of the topic.
        rare: Whether the messages may end at any time.

    Attributes:
        count: Number of messages.
        at: Steady time of the last one, s.
    """

    def __init__(self, topic: str, *, rare: bool = False) -> None:
        self.topic, self.rare = topic, rare
        self.count, self.at = 0, 0.0

    @property
    def age(self) -> float | None:
        """Time since the last message, s; None before the first."""
        return monotonic() - self.at if self.count else None


def stale_inputs(inputs: Iterable[Input]) -> list[Fault]:
    """Return a fault for every input that has stopped."""
    return [
        Fault(Level.STALE, f"no {source.topic} for {source.age:.1f} s")
        for source in inputs
        if source.age is not None and source.age > STALE_AFTER_S and not source.rare
    ]


def timing_faults(report: TimingReport | None) -> list[Fault]:
    """Return the timing faults of a task; none before it has started."""
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
    """Return the timing of a task for diagnostics."""
    if report is None:
        return {}
    return {
        "requested rate (Hz)": report.requested,
        "rate held (Hz)": report.held,
        "cycles missed": report.missed,
        "jitter, median (us)": 1e6 * report.late_median,
        "jitter, 99 % (us)": 1e6 * report.late_p99,
        "jitter, worst (us)": 1e6 * report.late_max,
        "cycle, median (us)": 1e6 * report.busy_median,
        "cycle, worst (us)": 1e6 * report.busy_max,
    }


def input_values(inputs: Iterable[Input]) -> dict[str, object]:
    """Return count and age of the messages of every input, for diagnostics."""
    values: dict[str, object] = {}
    for source in inputs:
        values[f"{source.topic}: messages"] = source.count
        values[f"{source.topic}: age (s)"] = source.age
    return values
