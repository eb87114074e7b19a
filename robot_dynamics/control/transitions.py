"""Transitions without a step: fades, ramps and a low-pass."""

from __future__ import annotations

from math import exp

import numpy as np

from robot_dynamics.foundation.arrays import Array, frozen


def smooth_step(u: float) -> float:
    """Rise from 0 to 1 over u from 0 to 1, with zero slope and curvature at both ends."""
    u = min(max(u, 0.0), 1.0)
    return u**3 * (10.0 - 15.0 * u + 6.0 * u**2)


def fade_share(elapsed: float, duration: float) -> float:
    """Return the part of a step that is left after a time, s, of a fade over a duration, s."""
    if duration <= 0.0 or not 0.0 <= elapsed < duration:  # over, or the clock jumped
        return 0.0
    return 1.0 - smooth_step(elapsed / duration)


class Fade:
    """A step in effort that is applied gradually.

    When what is wanted jumps, `begin` with the size of the jump; adding `value`
    to what is wanted then goes on from the old effort and ends at the new one.

    Args:
        n: Number of joints.
        duration: Time from the one to the other, s.

    Attributes:
        active: Whether anything may be left of a gap.
    """

    def __init__(self, n: int, duration: float) -> None:
        self.duration = duration
        self.active = False
        self._none = self._gap = np.zeros(n)
        self._began = 0.0

    def begin(self, gap: Array, now: float) -> None:
        """Start to fade out `gap`, shape (n,): old effort minus new effort at time `now`."""
        self._gap, self._began, self.active = gap, now, True

    def value(self, now: float) -> Array:
        """Return what is left of the gap, shape (n,)."""
        if not self.active:
            return self._none
        share = fade_share(now - self._began, self.duration)
        self.active = share > 0.0
        return share * self._gap if self.active else self._none


class Ramp:
    """A vector that goes to each new target on a straight line.

    Targets that come faster than it gets there do not stall it: it then
    follows them as a low-pass filter does. `aim` may be called from another
    thread than `value`.

    Args:
        value: Where it starts, shape (k,).
        duration: Time from a value to a new target, s.

    Attributes:
        target: Where it goes, shape (k,); the same object as `current` once it is there.
        current: Where it was when last asked, shape (k,).
    """

    def __init__(self, value: Array, duration: float) -> None:
        self.duration = duration
        self.target = self.current = self._heading = self._start = frozen(value)
        self._began = self._time = 0.0

    def aim(self, target: Array) -> None:
        """Go to another value, shape (k,)."""
        self.target = frozen(target)

    def value(self, now: float) -> Array:
        """Return the value at time `now`, s, shape (k,); the same object while it rests."""
        if self.target is not self._heading:
            # On its way it goes on from when it was last asked, or a stream would stall it
            self._began = now if self.current is self._heading else self._time
            self._heading, self._start = self.target, self.current
        self._time = now
        if self.current is not self._heading:
            u = (now - self._began) / self.duration if self.duration > 0.0 else 1.0
            step = max(u, 0.0) * (self._heading - self._start)
            self.current = self._heading if u >= 1.0 else self._start + step
        return self.current


class LowPass:
    """A vector that follows what is measured of it, with a time constant.

    Args:
        value: Where it starts, shape (k,); the first measurement only sets its clock.
    """

    def __init__(self, value: Array) -> None:
        self.value = value
        self._at = -np.inf

    def feed(self, measured: Array, time_constant: float, now: float) -> Array:
        """Take a measurement of time `now`, s; the value from then on, shape (k,)."""
        share = 1.0 - exp((self._at - now) / time_constant) if np.isfinite(self._at) else 0.0
        self.value = self.value + share * (measured - self.value)
        self._at = now
        return self.value
