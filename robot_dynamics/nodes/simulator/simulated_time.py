"""SimulatedTime: the time of a plant, which goes on in whole steps of its integration."""

from __future__ import annotations

import math

from robot_dynamics.trajectory.trajectory_files import NS_PER_S

MAX_DRIFT_STEPS = 0.75
"""Steps by which simulated time may differ from the clock before it is put right."""

MAX_STEPS_PER_CYCLE = 100
"""Steps that a late cycle makes up for; what is more is left out, and simulated time falls back."""


class SimulatedTime:
    """Counts cycles, or follows a clock.

    Args:
        rate: Cycles in a second of it, Hz.
        longest: Longest step, s.
        ns: Time at first, ns.

    Attributes:
        ns: Time of the state of the plant, ns.
        steps: Steps of a usual cycle.
        step: Time of a step, s.
    """

    def __init__(self, rate: float, longest: float, ns: int) -> None:
        self.ns = ns
        self.steps = max(1, math.ceil(1.0 / (rate * longest) - 1e-9))
        self.step = 1.0 / (rate * self.steps)
        self._rate, self._cycles = rate, 0
        self._step = self.step * NS_PER_S
        self._cycle = round(self.steps * self._step)

    def count(self) -> None:
        """Go on by a cycle; all of them are counted from zero, so that rounding does not add up."""
        self._cycles += 1
        self.ns = round(self._cycles * NS_PER_S / self._rate)

    def follow(self, now: int) -> int:
        """Come up to the time `now` of a clock, ns, to within a step; the steps that it takes."""
        behind = (now - self.ns) / self._step
        # The usual number, unless time has drifted: jitter must not make it 0 and 2 by turns
        if -MAX_DRIFT_STEPS < behind - self.steps < MAX_DRIFT_STEPS:
            self.ns += self._cycle
            return self.steps
        steps = max(0, min(round(behind), MAX_STEPS_PER_CYCLE))
        self.ns += round(steps * self._step)
        if abs(now - self.ns) > 2.0 * self._step:  # far too late, or the clock was set: from now on
            self.ns = now
        return steps
