"""Timing: how well a periodic task keeps its rate, gathered without allocating."""

from __future__ import annotations

from array import array
from dataclasses import dataclass

import numpy as np

WINDOW = 8192
"""Cycles that medians and percentiles look back on; counts and maxima cover every cycle."""

NS = 1e-9


@dataclass(frozen=True)
class TimingReport:
    """How a task kept its rate.

    Args:
        asked: Rate asked for, Hz.
        held: Rate held, Hz.
        cycles: Times that the task ran.
        missed: Cycles left out because an earlier one was late, or because nothing arrived.
        late_median: Median delay of a cycle's start, s.
        late_p99: 99th percentile of the delay, s.
        late_max: Longest delay, s.
        busy_median: Median time that one cycle took, s.
        busy_p99: 99th percentile of that time, s.
        busy_max: Longest cycle, s.
    """

    asked: float
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
        """One line for a log."""
        return (
            f"{self.held:.1f} Hz held of {self.asked:.1f} Hz, {self.missed} of "
            f"{self.cycles + self.missed} cycles missed, late {1e6 * self.late_median:.0f} us "
            f"(99 %: {1e6 * self.late_p99:.0f}, worst {1e6 * self.late_max:.0f}), busy "
            f"{1e6 * self.busy_median:.0f} us (99 %: {1e6 * self.busy_p99:.0f}, worst "
            f"{1e6 * self.busy_max:.0f})"
        )


class Timing:
    """Running statistics of one task. All times are steady-clock nanoseconds.

    Args:
        rate: Rate asked for, Hz.
    """

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self._late = array("q", bytes(8 * WINDOW))
        self._busy = array("q", bytes(8 * WINDOW))
        self.reset()

    def reset(self) -> None:
        """Forget everything recorded so far."""
        self.cycles = 0
        self.missed = 0
        self._late_max = self._busy_max = 0
        self._first = self._last = 0

    def record(self, begin: int, late: int, busy: int) -> None:
        """Note a cycle that began at `begin`, `late` ns after its time, and took `busy` ns."""
        slot = self.cycles % WINDOW
        self._late[slot] = late
        self._busy[slot] = busy
        self._late_max = max(self._late_max, late)
        self._busy_max = max(self._busy_max, busy)
        if self.cycles == 0:
            self._first = begin
        self._last = begin
        self.cycles += 1

    def report(self) -> TimingReport:
        """Statistics of the cycles since the last reset."""
        filled = min(self.cycles, WINDOW)
        late = np.sort(np.frombuffer(self._late, dtype=np.int64)[:filled]) if filled else [0]
        busy = np.sort(np.frombuffer(self._busy, dtype=np.int64)[:filled]) if filled else [0]
        span = (self._last - self._first) * NS
        return TimingReport(
            asked=self.rate,
            held=(self.cycles - 1) / span if span > 0.0 else 0.0,
            cycles=self.cycles,
            missed=self.missed,
            late_median=float(late[len(late) // 2]) * NS,
            late_p99=float(late[int(0.99 * len(late))]) * NS,
            late_max=self._late_max * NS,
            busy_median=float(busy[len(busy) // 2]) * NS,
            busy_p99=float(busy[int(0.99 * len(busy))]) * NS,
            busy_max=self._busy_max * NS,
        )
