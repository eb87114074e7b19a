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
from robot_dynamics.control.fields import SCALAR, VECTOR, Facts, Field, Layout
from robot_dynamics.control.guard import LONGEST_GAP_S
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


def _share(dt: Any, time: float) -> Any:
    """Return the share of a new value in a low-pass, of an implicit step."""
    return dt / (dt + time)


def rest(x: Any) -> dict[str, Any]:
    """Find whether the arm has been at rest for a while, in motion and effort."""
    dt = x.state_at - x.smoothed_at
    goes_on = both(less(0.0, dt), less(dt, LONGEST_GAP_S))
    short, long = _share(dt, NOISE_S), _share(dt, MOTION_S)
    first = x.smoothed[0] + short * position_error(x.q, x.smoothed[0], x.continuous)
    second = x.smoothed[1] + long * (first - x.smoothed[1])
    smoothed = chosen(goes_on, np.array([first, second]), 0.0 * x.smoothed + x.q)
    square = x.square + long * (((first - second) / MOTION_S) ** 2 - x.square)
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
        self._found: dict[str, Any] = {}

    def feed(self, now: float, q: Array) -> None:
        """Note positions that arrived at a time, s, shape (n,)."""
        layout = Layout(REST, len(q))
        first = {name: layout.of(layout.initial(), name) for name in layout}
        given = {"q": q, "state_at": now, "tau": 0.0 * q, "effort": 1.0 + 0.0 * q}
        self._found = rest(Facts(first, self._found, given, {"continuous": None}))

    @property
    def lasts(self) -> bool:
        """Return whether the positions have been steady for `REST_S`."""
        return bool(self._found and self._found["at_rest"])
