"""Status of a controller: the condition of each status, and the monitors behind the conditions.

The monitors detect stale messages, tracking errors, saturation and closed brakes. In every cycle
the first row of `TABLE` whose condition holds is the status; docs/nodes.md prints the table.
"""

from __future__ import annotations

import enum
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.control.laws import ALL_MODES
from robot_dynamics.control.limits import excessive_error
from robot_dynamics.control.settings import Settings
from robot_dynamics.foundation.arrays import Array

SHORTEST_PAUSE_S = 0.1
"""Least time to settle after a joint did not move, s."""


class Status(enum.Enum):
    """Status of a controller; the values are words for a log."""

    WAITING = "waiting for joint states"
    SETTLING = "holding still for a moment before the reference is followed"
    TRACKING = "tracking the reference"
    HOLDING = "holding still: no reference comes"
    SILENT = "commanding nothing: no joint states come"
    BLIND = "coming to rest blindly: no joint states come"
    STOPPED = "stopped"
    PAUSED = "holding still until it is resumed: messages had stopped"
    RESUMED = "holding still until the reference comes to the arm"


UNSEEING = (Status.WAITING, Status.BLIND, Status.SILENT)
"""Statuses of a controller that has no present state."""

AT_REST = (Status.SETTLING, Status.HOLDING, Status.STOPPED, Status.PAUSED, Status.RESUMED)
"""Statuses in which the arm is held or comes to rest."""


class Start(enum.Enum):
    """Start of the motion of a new status, so that nothing jumps."""

    MEASURED = "where the arm is"
    DESIRED = "where it was to be"
    PREDICTED = "where its last efforts have taken it meanwhile"


class StatusRow(NamedTuple):
    """A status, when it is entered, and what the arm then does."""

    status: Status
    condition: str
    motion: str


TABLE = (
    StatusRow(
        Status.SILENT,
        "no state for `state_timeout` and `blind_time` together",
        "nothing is commanded: brakes or friction hold it",
    ),
    StatusRow(
        Status.BLIND, "no state for `state_timeout`", "to rest, then held, by the model alone"
    ),
    StatusRow(
        Status.STOPPED,
        "a tracking error or a reference's velocity beyond its limit, unrequested motion at the "
        "effort limit, an oscillation, or a collision, until `resume`",
        "to rest, then held, after an oscillation softly; or by `collision.reaction`",
    ),
    StatusRow(
        Status.HOLDING,
        "no reference for `reference_timeout`, deactivated, or `on_slow_states: refuse`",
        "to rest, then held; or led by hand, with `on_reference_timeout`",
    ),
    StatusRow(
        Status.PAUSED,
        "states or references had stopped, until `resume`; not with `resume_by_itself`",
        "held",
    ),
    # These distances are `NEAR` times the default tracking limits, both in limits.py
    StatusRow(
        Status.RESUMED, "after `resume`, until the reference is within 0.1 rad or 0.02 m", "held"
    ),
    StatusRow(
        Status.SETTLING,
        "for `settle` after states come or come again, after commands are first received, and "
        "after a joint did not move when pushed",
        "held",
    ),
    StatusRow(Status.TRACKING, "otherwise", "joins the reference, then follows it"),
)
"""Every status but `WAITING`, before the first state, in which nothing is commanded."""


def start_of(before: Status, after: Status, *, by_hand: bool) -> Start:
    """Return where the motion of a status starts, given the one before.

    Args:
        before: Status until now.
        after: Status from now on.
        by_hand: Whether the arm may be led by hand: the present law has no feedback.
    """
    if after is Status.BLIND:
        return Start.PREDICTED
    held = before in AT_REST and not by_hand and after is not Status.STOPPED
    if held or (before is Status.TRACKING and after is Status.HOLDING):
        return Start.DESIRED
    return Start.MEASURED


MISSED = 2.0
"""Gap between two messages, as a multiple of the timeout, that counts although no cycle saw it."""


class Watchdog:
    """Detects that messages have stopped. Reads no clock.

    Args:
        timeout: Age at which the last message is stale, s; infinite for never.

    Attributes:
        missed: Whether messages had stopped for `MISSED` timeouts before the last one, since the
            last `take_missed`: the process itself may have stood still.
    """

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout
        self._last = -np.inf
        self._was_stale, self.missed = True, False

    def feed(self, now: float) -> None:
        """Note a message."""
        self.missed |= MISSED * self.timeout < now - self._last < np.inf
        self._last = now

    def take_missed(self) -> bool:
        """Return `missed`, and reset it."""
        missed, self.missed = self.missed, False
        return missed

    def forget(self) -> None:
        """Forget the last message."""
        self._last = -np.inf

    def age(self, now: float) -> float:
        """Return the time since the last message, s; infinite before the first."""
        return now - self._last

    def stale(self, now: float) -> bool:
        """Return whether no message has come within the timeout."""
        return self._last == -np.inf or now - self._last > self.timeout

    def change(self, now: float) -> str | None:
        """Return "stale" or "fresh" on the first call after a change, else None: to log it once.

        A watchdog is stale before the first message, which is no change.
        """
        stale = self.stale(now)
        if stale == self._was_stale:
            return None
        self._was_stale = stale
        return "stale" if stale else "fresh"


class Stop(NamedTuple):
    """Reason of a stop: a quantity of a joint and the limit that it exceeded, in SI units.

    Args:
        joint: Index of the joint.
        cause: `TRACKING_ERROR`, `SATURATION`, `FAST_REFERENCE`, `COLLISION` or `OSCILLATION`.
        value: Position error, difference from the desired velocity, velocity of the reference,
            external effort, or size of the oscillation.
        limit: Limit of the position error, of the effort or of the velocity, threshold of the
            external effort, or frequency of the oscillation, Hz.
    """

    joint: int
    cause: str
    value: float
    limit: float


TRACKING_ERROR, SATURATION, FAST_REFERENCE = "tracking error", "saturation", "fast reference"
COLLISION, OSCILLATION = "collision", "oscillation"


WINDOW_S = 0.3
"""Time constant with which the summed deviation of a saturated joint decays, s."""


def summed_deviation(moved: Array, speed: Array, dt: Any, since: Any) -> Array:
    """Return the deviation of saturated joints within about `WINDOW_S`, of numbers or symbols.

    Args:
        moved: The deviation so far, shape (n,), rad or m.
        speed: See `Saturation.joint`.
        dt: Duration of the cycle, s.
        since: Time since the last call, s.
    """
    return np.asarray(np.exp(-since / WINDOW_S) * moved + dt * speed)


class Saturation:
    """Detects joints that deviate from the desired motion while their effort is at its limit.

    Args:
        tolerated: Largest deviation within about `WINDOW_S`, shape (n,), rad or m.
    """

    def __init__(self, tolerated: Array) -> None:
        self._tolerated, self._moved, self._at = tolerated, np.zeros(len(tolerated)), -np.inf

    def joint(self, speed: Array, dt: float, now: float) -> int | None:
        """Return the index of a joint that deviated too far, or None.

        Cycles in which no effort is at its limit need no call.

        Args:
            speed: Difference from the desired velocity of saturated joints, otherwise zero,
                shape (n,), rad/s or m/s.
            dt: Duration of the cycle, s.
            now: Present time, s.
        """
        self._moved = summed_deviation(self._moved, speed, dt, now - self._at)
        self._at = now
        return excessive_error(self._moved, self._tolerated)


class Brakes:
    """Detects joints whose brakes are still closed: they do not move when pushed.

    Such a joint has not moved since the arm began to follow, although its effort has differed much
    from the one that held it. While no joint has moved, the drives may ignore the efforts.
    Then a smaller change counts: drives that begin to use them would start the arm with a jerk.

    Attributes:
        all_free: Whether every joint has moved; from then on no brake is closed.
    """

    STILL = 1e-4
    """Largest displacement of a joint with a closed brake, rad or m."""

    SHARE = 0.5
    """Change of effort, relative to the limit, that overcomes any friction."""

    DELAY_S = 0.05
    """Time in which such a change moves a free joint, s."""

    UNANSWERED_SHARE, UNANSWERED_S = 0.1, 0.2
    """`SHARE` and `DELAY_S` while no joint has moved."""

    LOOK_S = 0.01
    """Period of the check, s."""

    def __init__(self, n: int) -> None:
        self.begin(np.zeros(n), np.zeros(n))

    def begin(self, q: Array, tau: Array) -> None:
        """Begin at positions q that efforts tau hold, shape (n,) each."""
        self._q, self._tau = q.copy(), tau.copy()  # the caller may write into q
        self._free = np.zeros(len(q), dtype=bool)
        self._since = np.full(len(q), np.inf)
        self.all_free, self._next = len(q) == 0, -np.inf

    def closed(self, q: Array, tau: Array, limit: Array, now: float) -> int | None:
        """Return the index of a joint whose brake is closed, or None.

        Args:
            q: Measured position, shape (n,), rad or m.
            tau: Commanded effort, shape (n,), N m or N.
            limit: Largest effort, shape (n,), infinite where it is not known.
            now: Present time, s.
        """
        if self.all_free or now < self._next:
            return None
        self._next = now + self.LOOK_S
        self._free |= np.abs(q - self._q) > self.STILL
        self.all_free = bool(self._free.all())
        if self.all_free:
            return None
        share, delay = self.SHARE, self.DELAY_S
        if not self.answers:
            share, delay = self.UNANSWERED_SHARE, self.UNANSWERED_S
        pushed = (np.abs(tau - self._tau) > share * limit) & ~self._free
        self._since = np.where(pushed, np.minimum(self._since, now), np.inf)
        i = int(np.argmin(self._since))
        return i if now - self._since[i] > delay else None

    @property
    def answers(self) -> bool:
        """Return whether any joint has moved."""
        return bool(self._free.any())

    def free(self, i: int) -> bool:
        """Return whether joint i has moved."""
        return bool(self._free[i])


class Supervisor:
    """Decides on the status of a controller. Reads no clock.

    Args:
        n: Number of joints.
        settings: Behaviour.

    Attributes:
        status: The present status.
        states: Monitors the measured states.
        references: Monitors the references.
        brakes: Monitors the motion of the joints.
        stopped_by: Reason of the present stop, or None.
        braked_by: Index of a joint that does not move although it is pushed, or None.
        returning: Whether `resume` was called and the reference has not come to the arm yet.
        paused: Whether messages had stopped and `resume` has not been called yet.
        halted: Whether references are no longer followed.
        refused: Reason for which references are not followed; empty if there is none.
    """

    def __init__(self, n: int, settings: Settings) -> None:
        self.states, self.references = Watchdog(np.inf), Watchdog(np.inf)
        self.brakes = Brakes(n)
        self._settled_at, self.returning = 0.0, False
        self.use(settings)
        self.reset()

    def use(self, settings: Settings) -> None:
        """Use other settings from now on."""
        self.settings = settings
        self.states.timeout = settings.state_timeout
        self.references.timeout = settings.reference_timeout

    def reset(self) -> None:
        """Start afresh, but keep the time of the last state."""
        self.status = Status.WAITING
        self.refused = ""
        self.stopped_by: Stop | None = None
        self.braked_by: int | None = None
        self.paused = self.halted = False
        self.references.forget()

    def resume(self) -> bool:
        """Go on after a stop or after silence, once the reference is where the arm is."""
        resumed = self.paused or self.stopped_by is not None
        self.returning |= resumed
        self.stopped_by, self.paused = None, False
        return resumed

    def settle(self, now: float) -> None:
        """Hold the arm for the settling time before references are followed."""
        self._settled_at = now + self.settings.settle

    @property
    def watches_tracking(self) -> bool:
        """Return whether the tracking error of this cycle matters."""
        return (
            self.settings.limits_tracking
            and self.status is Status.TRACKING
            and ALL_MODES[self.settings.mode].feedback
        )

    def next_status(self, now: float, error: Array | None, near: bool = True) -> Status:
        """Return the status of this cycle, by the rows of `TABLE`; `enter` applies it.

        Args:
            now: Present time, s.
            error: Position error, shape (n,), if `watches_tracking`.
            near: Whether the reference is where the arm is.
        """
        blind, commanded = self.states.stale(now), not self.references.stale(now)
        if self.states.take_missed() and self.status not in UNSEEING:
            blind = True  # the process stood still: for one cycle, so that the arm is held anew
        in_task_space = ALL_MODES[self.settings.mode].in_task_space  # where targets are reached
        if self.status is Status.TRACKING and (blind or not (commanded or in_task_space)):
            self.paused = not self.settings.resume_by_itself
        if blind:
            self.settle(now)
            silent = self.states.age(now) > self.settings.state_timeout + self.settings.blind_time
            return Status.SILENT if silent else Status.BLIND
        if error is not None and self.stopped_by is None:
            limit = np.broadcast_to(self.settings.tracking_limit, error.shape)
            if (i := excessive_error(error, limit)) is not None:
                self.stopped_by = Stop(i, TRACKING_ERROR, float(error[i]), float(limit[i]))
        if self.stopped_by is not None:
            return Status.STOPPED
        if self.halted or self.refused or not commanded:
            return Status.HOLDING
        if self.paused:
            return Status.PAUSED
        self.returning &= not near
        if self.returning:
            return Status.RESUMED
        return Status.SETTLING if now < self._settled_at else Status.TRACKING

    def enter(self, status: Status, q: Array, tau: Array) -> None:
        """Change to another status.

        Args:
            status: From `next_status`.
            q: Measured positions, shape (n,).
            tau: Efforts that have held the arm there, shape (n,).
        """
        self.status = status
        if status is Status.TRACKING:
            self.brakes.begin(q, tau)
        elif status is not Status.SETTLING:
            self.braked_by = None

    def watch_brakes(self, q: Array, tau: Array, limit: Array, now: float) -> None:
        """Settle again if a brake is closed, and join the reference afterwards."""
        if self.status is not Status.TRACKING or (self.brakes.all_free and self.braked_by is None):
            return
        closed = self.brakes.closed(q, tau, limit, now)
        if closed is not None:
            self.braked_by = closed
            self._settled_at = now + max(self.settings.settle, SHORTEST_PAUSE_S)
        elif self.braked_by is not None and self.brakes.free(self.braked_by):
            self.braked_by = None
