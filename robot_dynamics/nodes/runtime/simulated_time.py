"""SimulatedTime: the clock of a simulation as time that never jumps and never goes back.

A controller measures the age of states and commands, and the durations of its motions, by it. A
simulation may run at any speed, be paused or reset, and end.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from time import monotonic

from robot_dynamics.foundation.units import NS_PER_S

JUMP_S = 1.0
"""Step of the clock that is no passing of time, s."""

STANDS_S = 1.0
"""Time for which the clock may stand still, s: then the simulation has ended, and time passes as on
the machine, so that what waits for the simulation ends too."""

TOGETHER_S = 20.0
"""The same where the simulation runs in this process, s: what keeps one waiting keeps all."""


class SimulatedTime:
    """Present time in seconds.

    Args:
        clock: Returns the time of the simulation, ns.

    Attributes:
        stands: Time for which the clock may stand still, s.
    """

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock, self._lock, self.stands = clock, Lock(), STANDS_S
        self._now = self._changed = monotonic()
        self._latest = self._stamp = clock()

    def __call__(self) -> float:
        """Return the present time, s."""
        with self._lock:
            clock, machine = self._clock(), monotonic()
            ahead = 0 < self._stamp - clock < JUMP_S * NS_PER_S
            latest = self._stamp if ahead else clock  # a state may come before its clock
            passed = (latest - self._latest) / NS_PER_S
            if passed:
                self._now += passed if 0.0 < passed < JUMP_S else 0.0
                self._latest, self._changed = latest, machine
            elif machine > self._changed + self.stands:
                self._now += machine - self._changed - self.stands
                self._changed = machine - self.stands
            return self._now

    def reaches(self, stamp: int) -> None:
        """Pass to the time of a message from the simulation, ns, that came before its clock."""
        self._stamp = stamp
