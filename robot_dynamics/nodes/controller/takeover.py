"""Takeover: which of two controllers commands, the primary or its hot standby.

On a busy machine the commands of a controller may pause although its process lives. If it went on
after a takeover, two controllers would command by turns. So a controller commands under a lease
with a name of its own. The standby that takes over revokes that lease, and the revoked controller
commands nothing until it is resumed and acquires a new lease. Reads no clock.
"""

from __future__ import annotations

from collections import deque
from enum import Enum
from math import inf

from robot_dynamics.control.safety import Watchdog

REVOKE_PERIOD_S = 0.05
"""Least time between two revocations of the same lease, s."""

INTERVALS, FEWEST_INTERVALS = 9, 2
"""Latest intervals between cycles that the median is taken of, and the fewest that give one."""

SLOWEST_S = 0.02
"""Assumed interval between cycles until enough are known, s."""

IGNORED_S = 0.5
"""Time for which a controller commands under a revoked lease before the standby gives way, s."""


class Transition(Enum):
    """Change of a standby controller."""

    STAND_BY = "another controller commands"
    TAKE_OVER = "commands stopped"
    REVOKE_AGAIN = "commands still come under the revoked lease"
    YIELD = "another lease has begun"
    GIVE_WAY = "the revocation is ignored"


class Takeover:
    """Decides when a standby controller commands.

    Args:
        timeout: Age of the last command of another controller at which to take over, s.

    Attributes:
        commanding: Whether to command.
        revoked_lease: Name of the lease that was revoked; empty if it had none.
    """

    def __init__(self, timeout: float) -> None:
        self._commands = Watchdog(timeout)
        self._lease = self.revoked_lease = ""
        self._standing_by = self.commanding = self._own_lease_revoked = False
        self._commanded_since = self._revoked_at = 0.0
        self._updated_at = inf
        self._intervals: deque[float] = deque(maxlen=INTERVALS)

    def lease_announced(self, name: str) -> None:
        """Note that another controller commands under a lease from now on."""
        self._lease = name

    def command_received(self, now: float) -> None:
        """Note a command of another controller at steady time now, s."""
        if self._commands.stale(now):
            self._commanded_since = now
        self._commands.feed(now)

    def own_lease_revoked(self, now: float) -> None:
        """Note at steady time now, s, that another standby has taken over."""
        self._own_lease_revoked = True
        self._commands.feed(now)

    @property
    def period(self) -> float:
        """Median interval between cycles, s, which arriving states start."""
        known = sorted(self._intervals)
        return known[len(known) // 2] if len(known) >= FEWEST_INTERVALS else SLOWEST_S

    def age(self, now: float) -> float:
        """Return the time since the last command of another controller, s."""
        return self._commands.age(now)

    def update(self, now: float, timeout: float, *, has_states: bool) -> Transition | None:
        """Return the transition of this cycle, if any.

        Args:
            now: Steady time, s.
            timeout: Age of the last command of another controller at which to take over, s.
            has_states: Whether states arrive; a standby without them does not take over.
        """
        if self._updated_at < now:
            self._intervals.append(now - self._updated_at)
        self._updated_at = now
        self._commands.timeout = timeout
        if self._commands.stale(now):
            if not (self._standing_by and has_states):
                return None
            self._standing_by, self.commanding, self.revoked_lease = False, True, self._lease
            self._revoked_at = now
            return Transition.TAKE_OVER
        if self.commanding:
            return self._contested(now)
        first, self._standing_by = not self._standing_by, True
        return Transition.STAND_BY if first else None

    def _contested(self, now: float) -> Transition | None:
        """Return the transition where another controller commands too."""
        ignored = now - self._commanded_since > IGNORED_S
        same_lease = self._lease == self.revoked_lease != ""
        if self._own_lease_revoked or ignored or not same_lease:
            gives_way = ignored and self.revoked_lease and not self._own_lease_revoked
            self.commanding, self._standing_by, self._own_lease_revoked = False, True, False
            return Transition.GIVE_WAY if gives_way else Transition.YIELD
        if now - self._revoked_at < REVOKE_PERIOD_S:
            return None
        self._revoked_at = now
        return Transition.REVOKE_AGAIN
