"""Watching a loop: stale messages, ends of the joint ranges, closed brakes, tracking errors."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from robot_dynamics.compiler.graph.piecewise import clip, maximum, minimum, select
from robot_dynamics.control.effort_limits import effort_limits
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.robot import Robot


class Watchdog:
    """Notices when something that should keep coming does not.

    Reads no clock: every call says what time it is, on a clock that never
    jumps.

    Args:
        timeout: Age at which the last one is stale, s; infinite to never mind.
    """

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout
        self._last = -np.inf
        self._was_stale = True

    def feed(self, now: float) -> None:
        """Something came."""
        self._last = now

    def forget(self) -> None:
        """Nothing has come."""
        self._last = -np.inf

    def age(self, now: float) -> float:
        """Time since something came, s; infinite before the first."""
        return now - self._last

    def stale(self, now: float) -> bool:
        """Return whether nothing has come for longer than the timeout, or ever."""
        return self._last == -np.inf or now - self._last > self.timeout

    def change(self, now: float) -> str | None:
        """Return "stale" or "fresh" on the first call after it became so, else None: to log once.

        Before the first message nothing has become stale.
        """
        stale = self.stale(now)
        if stale == self._was_stale:
            return None
        self._was_stale = stale
        return "stale" if stale else "fresh"


class Brakes:
    """Notices joints that do not move however they are pushed: their brakes are still closed.

    That is a joint that has not moved since the arm began to follow, although
    for a while its effort has been far from the one that held it there. Where no
    joint has moved at all, perhaps no drive uses the efforts, and a smaller change counts:
    a drive that begins to use them would let the arm go with a jerk.

    Attributes:
        all_free: Whether every joint was seen to move; from then on none is behind a brake.
    """

    STILL = 1e-4
    """Way that no joint makes behind a brake, rad or m."""

    SHARE = 0.5
    """Change of effort, relative to the limit, that no friction of a joint stands."""

    DELAY_S = 0.05
    """Time in which such a change moves any joint that is free."""

    UNANSWERED_SHARE, UNANSWERED_S = 0.1, 0.2
    """The same two while no joint of the arm has moved."""

    LOOK_S = 0.01
    """Time from one look to the next."""

    def __init__(self, n: int) -> None:
        self.begin(np.zeros(n), np.zeros(n))

    def begin(self, q: Array, tau: Array) -> None:
        """The arm begins to follow from q, where tau holds it, shape (n,) each."""
        self._q, self._tau = q.copy(), tau.copy()  # the caller may write into q
        self._free = np.zeros(len(q), dtype=bool)
        self._since = np.full(len(q), np.inf)
        self.all_free, self._next = len(q) == 0, -np.inf

    def closed(self, q: Array, tau: Array, limit: Array, now: float) -> int | None:
        """Index of a joint whose brake is closed, or None.

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


@dataclass(frozen=True, eq=False)
class SoftLimits:
    """A spring and a damper inside the ends of the joint ranges, and above the velocity limit.

    Args:
        lower: Where the soft zone at the lower end begins, shape (n,), rad or m.
        upper: Where the soft zone at the upper end begins, shape (n,), rad or m.
        velocity: Speed above which motion is braked, shape (n,), rad/s or m/s.
        stiffness: N m/rad or N/m, shape (n,).
        damping: N m s/rad or N s/m, shape (n,).
    """

    lower: Array
    upper: Array
    velocity: Array
    stiffness: Array
    damping: Array

    @staticmethod
    def of(robot: Robot, damping: Array, *, margin: float | Array = 0.05) -> SoftLimits:
        """Zones of `margin` (rad or m) inside the limits of a robot.

        The spring reaches the effort limit at the hard stop. Where the effort
        limit is unknown there is the damper alone; a joint whose range is
        narrower than four margins gets a quarter of its range.

        Args:
            robot: Any robot.
            damping: N m s/rad or N s/m, shape (n,); the kd of the feedback is a good choice.
            margin: Width of the zones, rad or m, one number or shape (n,).
        """
        limits = robot.limits
        width = np.minimum(margin, (limits.upper - limits.lower) / 4.0)
        effort = effort_limits(robot)
        stiffness = np.zeros(robot.dof)
        np.divide(effort, width, out=stiffness, where=np.isfinite(effort) & (width > 0.0))
        return SoftLimits(
            limits.lower + width,
            limits.upper - width,
            limits.velocity,
            stiffness,
            np.asarray(damping, dtype=float),
        )

    def effort(self, q: Array, qd: Array) -> Array:
        """Effort to add to the command, shape (n,), N m or N: zero away from the ends."""
        above, below = maximum(q - self.upper, 0.0), maximum(self.lower - q, 0.0)
        outward = select(0.0, above, maximum(qd, 0.0), 0.0)
        outward = outward + select(0.0, below, minimum(qd, 0.0), 0.0)
        too_fast = qd - clip(qd, -self.velocity, self.velocity)
        return self.stiffness * (below - above) - self.damping * (outward + too_fast)


TRACKING_ERROR = {True: 0.5, False: 0.1}
"""Position error of a joint that rotates (rad) or slides (m) at which something is wrong."""


def default_tracking_errors(robot: Robot) -> Array:
    """Return the default limits of the tracking error, shape (n,), rad or m.

    A quarter of the range of a joint, where that is less than what is usual.
    """
    limits = robot.limits
    usual = [TRACKING_ERROR[joint.type.rotates] for joint in robot.independent_joints]
    return np.minimum(usual, (limits.upper - limits.lower) / 4.0)


def excessive_error(error: Array, limit: Array) -> int | None:
    """Index of the joint furthest beyond its allowed position error, or None.

    Args:
        error: Position errors, shape (n,), rad or m.
        limit: Largest errors, shape (n,), infinite where any is fine.
    """
    excess = np.abs(error) - limit
    i = int(np.argmax(excess))
    return i if excess[i] > 0.0 else None


def all_finite(*arrays: Array) -> bool:
    """Return whether every number is finite, shape (n,) each: the guard on numbers in and out."""
    for array in arrays:  # noqa: SIM110  # a generator takes longer than what it tests
        # One product takes a tenth of the time of a test of each, which only squares too large need
        if not (math.isfinite(array.dot(array)) or np.isfinite(array).all()):
            return False
    return True
