"""Duty: which of two controllers commands, the usual one or the one that stands by.

Where processes wait for a processor, commands stop for a while although nobody has died. Were the
usual controller to go on after another one has taken over, the two would command by turns. So each
time that it begins to command it does so under a new name, its watch; who takes over relieves that
watch, and it commands no more before somebody has it begin another one. Reads no clock.
"""

from __future__ import annotations

from collections import deque
from enum import Enum
from math import inf

from robot_dynamics.control.safety import Watchdog

INSISTING_S = 0.05
"""Least time from telling a watch that it is relieved to telling it again."""

INTERVALS, FEWEST_INTERVALS = 9, 2
"""Cycles whose median time counts, and how many of them say how often states come."""

SLOWEST_S = 0.02
"""Time from one cycle to the next until that is known, s."""

DEAF_S = 0.5
"""Time for which somebody commands on although relieved from where on it does not listen."""


class Change(Enum):
    """What becomes of the one that stands by."""

    STANDS_BY = "another one commands"
    TAKES_OVER = "commands stopped"
    INSISTS = "the one that was relieved commands on"
    YIELDS = "another watch has begun"
    GIVES_WAY = "who commands does not listen"


class Duty:
    """Decides for the controller that stands by.

    Args:
        timeout: Age of the last command of another at which it is taken for dead, s.

    Attributes:
        on_duty: Whether to command.
        relieved: Watch that was relieved, if it had a name.
    """

    def __init__(self, timeout: float) -> None:
        self._watch = Watchdog(timeout)
        self._announced = self.relieved = ""
        self._stands_by = self.on_duty = self._relieved_itself = False
        self._since, self._told = 0.0, 0.0
        self._looked = inf
        self._intervals: deque[float] = deque(maxlen=INTERVALS)

    def announced(self, watch: str) -> None:
        """A controller has begun to command."""
        self._announced = watch

    def commanded(self, now: float) -> None:
        """Another one has commanded, at steady time now, s."""
        if self._watch.stale(now):
            self._since = now
        self._watch.feed(now)

    def relieve(self, now: float) -> None:
        """Another one that stood by has taken over, at steady time now, s."""
        self._relieved_itself = True
        self._watch.feed(now)

    @property
    def period(self) -> float:
        """Time from one cycle to the next, s; states begin them, and a late one says nothing."""
        known = sorted(self._intervals)
        return known[len(known) // 2] if len(known) >= FEWEST_INTERVALS else SLOWEST_S

    def age(self, now: float) -> float:
        """Time since another one has commanded, s."""
        return self._watch.age(now)

    def change(self, now: float, timeout: float, *, sees: bool) -> Change | None:
        """What is to be done in this cycle.

        Args:
            now: Steady time, s.
            timeout: Age of the last command of another at which it is taken for dead, s.
            sees: Whether states come: without them nobody is any better on duty.
        """
        if self._looked < now:
            self._intervals.append(now - self._looked)
        self._looked = now
        self._watch.timeout = timeout
        if self._watch.stale(now):
            if not (self._stands_by and sees):
                return None
            self._stands_by, self.on_duty, self.relieved = False, True, self._announced
            self._told = now
            return Change.TAKES_OVER
        if self.on_duty and self._relieved_itself:
            return self._yields(Change.YIELDS)
        if not self.on_duty:
            first, self._stands_by = not self._stands_by, True
            return Change.STANDS_BY if first else None
        return self._commanded_on(now)

    def _commanded_on(self, now: float) -> Change | None:
        """Another one commands while this one is on duty."""
        deaf = now - self._since > DEAF_S
        if self._announced != self.relieved or not self.relieved or deaf:
            return self._yields(Change.GIVES_WAY if deaf and self.relieved else Change.YIELDS)
        if now - self._told < INSISTING_S:
            return None
        self._told = now
        return Change.INSISTS

    def _yields(self, why: Change) -> Change:
        self.on_duty, self._stands_by, self._relieved_itself = False, True, False
        return why
