"""MotionClock: the clock of motions, which ignores forward jumps of its source."""

from __future__ import annotations

from robot_dynamics.foundation.units import NS_PER_S

MAX_STEP_BACK_S = 0.1
"""Backward step of a clock above which it counts as a jump."""

MAX_STEP_AHEAD_S = 0.5
"""Forward step of a clock above which it counts as a jump; a coarse /clock stays below it."""

MAX_CLOCK_RATE = 100.0
"""Largest rate of a simulated clock, s/s."""


class MotionClock:
    """The clock of motions: seconds of a source clock without its forward jumps.

    It ignores forward jumps, because jumping to the end of a motion would be a step. It follows
    backward jumps and reports them.

    Args:
        ns: Time of the source clock, ns; zero on this clock.
        steady: Time of a clock that never jumps, s.

    Attributes:
        epoch: Time of the source clock at zero of this clock, ns; it changes at a forward jump.
        now: Time of the last `tick`, s.
    """

    def __init__(self, ns: int, steady: float) -> None:
        self.epoch = ns
        self.start(ns, steady)

    def start(self, ns: int, steady: float) -> None:
        """Start at the present time of the source clock, regardless of earlier jumps."""
        self.now, self._steady = self.seconds(ns), steady

    def seconds(self, ns: int) -> float:
        """Convert a time of the source clock, ns, to this clock, s."""
        return (ns - self.epoch) / NS_PER_S

    def nanoseconds(self, seconds: float) -> int:
        """Convert a time of this clock, s, to the source clock, ns."""
        return self.epoch + round(seconds * NS_PER_S)

    def tick(self, ns: int, steady: float) -> float:
        """Advance to the present time.

        Args:
            ns: Time of the source clock, ns.
            steady: Time of a clock that never jumps, s.

        Returns:
            Jump of the source clock, s: negative for backward, zero for none.
        """
        gone, self._steady = steady - self._steady, steady
        step = (ns - self.epoch) / NS_PER_S - self.now
        if step > MAX_STEP_AHEAD_S + MAX_CLOCK_RATE * gone:
            self.epoch += round(step * NS_PER_S)
            return step
        self.now += step
        return step if step < -MAX_STEP_BACK_S else 0.0
