"""SimulatedTime: the time of a plant, which advances by whole integration steps."""

from __future__ import annotations

import math

from robot_dynamics.foundation.units import NS_PER_S

MAX_DRIFT_STEPS = 0.75
"""Drift from the clock at which simulated time is corrected, steps."""

MAX_STEPS_PER_CYCLE = 100
"""Most steps of a late cycle; simulated time skips the rest."""


class SimulatedTime:
    """Counts cycles, or follows a clock.

    Args:
        rate: Cycles per simulated second, Hz.
        longest: Longest step, s.
        ns: Initial time, ns.

    Attributes:
        ns: Time of the state of the plant, ns.
        steps: Steps of a nominal cycle.
        step: Time step, s.
    """

    def __init__(self, rate: float, longest: float, ns: int) -> None:
        self.ns = ns
        self.steps = max(1, math.ceil(1.0 / (rate * longest) - 1e-9))
        self.step = 1.0 / (rate * self.steps)
        self._rate, self._cycles = rate, 0
        self._step = self.step * NS_PER_S
        self._cycle = round(self.steps * self._step)

    def count(self) -> None:
        """Advance by a cycle, without accumulating rounding errors."""
        self._cycles += 1
        self.ns = round(self._cycles * NS_PER_S / self._rate)

    def follow(self, now: int) -> int:
        """Advance to the clock time `now`, ns, to within a step; return the number of steps."""
        behind = (now - self.ns) / self._step
        # The nominal number unless time has drifted: jitter must not alternate between 0 and 2
        if -MAX_DRIFT_STEPS < behind - self.steps < MAX_DRIFT_STEPS:
            self.ns += self._cycle
            return self.steps
        steps = max(0, min(round(behind), MAX_STEPS_PER_CYCLE))
        self.ns += round(steps * self._step)
        if abs(now - self.ns) > 2.0 * self._step:  # far too late, or the clock was set
            self.ns = now
        return steps
