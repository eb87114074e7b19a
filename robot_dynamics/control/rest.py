"""Rest: finds whether an arm stands still, under noise, and the effort that holds it there.

Positions tell, not velocities, whose noise may exceed any speed that matters. Two low-passes make a
speed of them, and its mean square shows creeping and trembling alike. Noise of s rad, white from
state to state at a period of T, adds s sqrt(T / (2 a b (a + b))) to it, with the time constants
a = `NOISE_S` and b = `MOTION_S`: 4 mrad/s of `SPEED` with 1 mrad at 100 Hz, half of that at 400 Hz.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.compiler.graph.piecewise import clip, maximum
from robot_dynamics.control.fields import SCALAR, VECTOR, Field
from robot_dynamics.control.laws import position_error
from robot_dynamics.control.logic import (
    HUGE,
    NEVER,
    any_of,
    both,
    chosen,
    either,
    first_largest,
    largest,
    less,
    negated,
)
from robot_dynamics.foundation.arrays import Array

REST_S = 0.3
"""Time for which rest must last, s: an arm may be at a turning point, or begin to fall."""

SPEED = 8e-3
"""Largest root mean square of the speed at rest, rad/s or m/s."""

NOISE_S, MOTION_S = 0.03, 0.1
"""Time constants of the low-passes that reduce noise, and that make a speed of positions, s."""

EFFORT_S = 0.2
"""Time constant of mean efforts, s; velocity feedback makes noise of them."""

EFFORT_SHARE = 0.04
"""Largest change of the mean effort at rest in a second, relative to its limit."""

UNKNOWN_SHARE = 0.1
"""Share of the effort limit from which an effort that the model does not explain is a load.
Feedback at rest also pushes against friction: held by that, an arm would be about to move."""

LONGEST_GAP_S = 0.1
"""Time between two states after which the motion is looked at anew, s."""

REST = {
    "smoothed": Field((2, "n"), "positions behind one and two low-passes, rad or m"),
    "square": Field(VECTOR, "mean square of the speed, rad^2/s^2 or m^2/s^2"),
    "mean_effort": Field((2, "n"), "commands behind one and two low-passes, N m or N"),
    "smoothed_at": Field(SCALAR, "time of the last state of these, s", NEVER),
    "restless_at": Field(SCALAR, "last time at which the arm moved or efforts changed, s", NEVER),
    "at_rest": Field(SCALAR, "1 if the arm has been at rest for a while"),
    "moving_joint": Field(SCALAR, "fastest joint beyond the speed at rest, or -1", -1.0),
    "moving_speed": Field(SCALAR, "its speed, rad/s or m/s"),
}


def smooth_speed(
    smoothed: Array, square: Array, q: Array, dt: Any, continuous: Array | None = None
) -> tuple[Array, Array]:
    """Return the smoothed positions and the mean square of the speed with another state.

    Args:
        smoothed: Positions behind one and two low-passes, shape (2, n).
        square: Mean square of the speed, shape (n,).
        q: Positions, shape (n,).
        dt: Time since the last state, s.
        continuous: Which joints turn without end.
    """
    first = smoothed[0] + _share(dt, NOISE_S) * position_error(q, smoothed[0], continuous)
    second = smoothed[1] + _share(dt, MOTION_S) * (first - smoothed[1])
    speed = (first - second) / MOTION_S
    return np.array([first, second]), square + _share(dt, MOTION_S) * (speed**2 - square)


def _share(dt: Any, time: float) -> Any:
    """Return the share of a new value in a low-pass, of an implicit step."""
    return dt / (dt + time)


def rest(x: Any) -> dict[str, Any]:
    """Find whether the arm has been at rest for a while, in motion and effort."""
    dt = x.state_at - x.smoothed_at
    goes_on = both(less(0.0, dt), less(dt, LONGEST_GAP_S))
    smoothed, square = smooth_speed(x.smoothed, x.square, x.q, dt, x.continuous)
    smoothed = chosen(goes_on, smoothed, 0.0 * x.smoothed + x.q)
    square = chosen(goes_on, square, 0.0 * square)

    share = _share(dt, EFFORT_S)
    first = x.mean_effort[0] + share * (x.tau - x.mean_effort[0])
    second = x.mean_effort[1] + share * (first - x.mean_effort[1])
    effort = chosen(goes_on, np.array([first, second]), 0.0 * x.mean_effort + x.tau)
    scale = chosen(less(x.effort, HUGE), x.effort, largest(abs(effort[0])) + 0.0 * x.effort)
    changes = any_of(less(EFFORT_SHARE * EFFORT_S * scale, abs(effort[0] - effort[1])))

    i, fastest = first_largest(square)
    moves = less(SPEED**2, fastest)
    restless = either(negated(goes_on), moves, changes)
    restless_at = chosen(restless, x.state_at, x.restless_at)
    return {
        "smoothed": smoothed,
        "square": square,
        "mean_effort": effort,
        "smoothed_at": x.state_at,
        "restless_at": restless_at,
        "at_rest": less(REST_S, x.state_at - restless_at),
        "moving_joint": chosen(moves, i, -1.0),
        "moving_speed": np.sqrt(maximum(fastest, 0.0)),
    }


def holding_effort(gravity: Array, mean: Array, limit: Array, rests: Any) -> Array:
    """Return the effort that holds an arm without feedback, shape (n,), N m or N.

    That is the effort of the model, without what is left of the motion, and of an arm at rest the
    load that the model does not know, without which the arm would fall.

    Args:
        gravity: Effort of the model at rest, shape (n,), N m or N.
        mean: Mean effort, shape (n,), N m or N.
        limit: Largest efforts, shape (n,), N m or N.
        rests: 1 if the arm has been at rest for a while, else 0.
    """
    unknown = mean - gravity
    scale = chosen(less(limit, HUGE), limit, largest(abs(mean)) + 0.0 * mean)
    load = chosen(both(rests, less(UNKNOWN_SHARE * scale, abs(unknown))), unknown, 0.0 * unknown)
    return np.asarray(clip(gravity + load, -limit, limit))


class Rest:
    """Finds rest by states alone, as one who does not control the arm. Reads no clock."""

    def __init__(self) -> None:
        self._last, self._restless = -np.inf, -np.inf

    def feed(self, now: float, q: Array) -> None:
        """Note positions that arrived at a time, s, shape (n,)."""
        if not 0.0 < now - self._last < LONGEST_GAP_S:
            self._smoothed, self._square = np.array([q, q]), 0.0 * q
            self._restless = now
        else:
            dt = now - self._last
            self._smoothed, self._square = smooth_speed(self._smoothed, self._square, q, dt)
        if (self._square > SPEED**2).any():
            self._restless = now
        self._last = now

    @property
    def lasts(self) -> bool:
        """Return whether the positions have been steady for `REST_S`."""
        return self._last - self._restless > REST_S
