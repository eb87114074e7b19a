"""Transitions without a step: fades and ramps."""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.compiler.graph.piecewise import clip, maximum
from robot_dynamics.control.logic import both, chosen, less
from robot_dynamics.foundation.arrays import Array, frozen
from robot_dynamics.trajectory.motions import rest_to_rest


def share_of_fade(elapsed: Any, duration: Any) -> Any:
    """Return the remaining part of a step after an elapsed time of a fade, both s."""
    u = elapsed / maximum(duration, 1e-9)
    running = both(less(-1e-12, u), less(u, 1.0), less(0.0, duration))  # else the clock jumped
    return chosen(running, 1.0 - rest_to_rest(clip(u, 0.0, 1.0))[0], 0.0)


def on_ramp(start: Array, goal: Array, elapsed: Any, duration: Any) -> tuple[Any, Any]:
    """Return where a straight line to a goal is after an elapsed time, s, and whether it goes on.

    Args:
        start: Where it began, shape (k,).
        goal: Where it ends, shape (k,).
        elapsed: Time since it began, s.
        duration: Time that it takes, s; 0 for none.
    """
    u = chosen(less(0.0, duration), clip(elapsed / maximum(duration, 1e-9), 0.0, 1.0), 1.0)
    moves = less(u, 1.0)
    return chosen(moves, start + u * (goal - start), goal), moves


class Fade:
    """A step in effort that is applied gradually.

    When the desired effort jumps, `begin` with the size of the jump, and add `value` to it.

    Args:
        n: Number of joints.
        duration: Duration of a fade, s.

    Attributes:
        active: Whether a fade is running.
    """

    def __init__(self, n: int, duration: float) -> None:
        self.duration = duration
        self.active = False
        self._none = self._offset = np.zeros(n)
        self._began = 0.0

    def begin(self, offset: Array, now: float) -> None:
        """Start to fade out `offset`, shape (n,): old effort minus new effort at time `now`."""
        self._offset, self._began, self.active = offset, now, True

    def value(self, now: float) -> Array:
        """Return the remaining offset, shape (n,)."""
        if not self.active:
            return self._none
        share = float(share_of_fade(now - self._began, self.duration))
        self.active = share > 0.0
        return share * self._offset if self.active else self._none


class Ramp:
    """A vector that moves to each new target on a straight line.

    It follows a stream of targets like a low-pass filter. Another thread may call `aim`.

    Args:
        value: Initial value, shape (k,).
        duration: Time from a value to a new target, s.

    Attributes:
        target: Target, shape (k,); the same object as `current` once it is reached.
        current: Value at the last call of `value`, shape (k,).
    """

    def __init__(self, value: Array, duration: float) -> None:
        self.duration = duration
        self.target = self.current = self._heading = self._start = frozen(value)
        self._began = self._time = 0.0

    def aim(self, target: Array) -> None:
        """Set the target, shape (k,)."""
        self.target = frozen(target)

    def value(self, now: float) -> Array:
        """Return the value at time `now`, s, shape (k,); the same object while it rests."""
        if self.target is not self._heading:
            # In motion it continues from the last call, or a stream of targets would stall it
            self._began = now if self.current is self._heading else self._time
            self._heading, self._start = self.target, self.current
        self._time = now
        if self.current is not self._heading:
            elapsed = now - self._began
            value, moves = on_ramp(self._start, self._heading, elapsed, self.duration)
            self.current = value if moves else self._heading
        return self.current
