"""Time derivatives of joint efforts: equations evaluated on numbers that carry two of them.

Efforts of a motion are sums, products, sines and cosines of it. Evaluated on numbers whose
derivatives carry theirs, they yield the efforts, their rate and its rate at once, of numbers or of
symbols.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.algorithms.second_derivatives import Variation
from robot_dynamics.foundation.arrays import Array


class MotionDerivatives(NamedTuple):
    """Positions of a motion and their first four derivatives by time, shape (n,) each."""

    q: Array
    qd: Array
    qdd: Array
    jerk: Array
    snap: Array


def time_derivatives(
    efforts: Callable[[Array, Array, Array], Array], motion: MotionDerivatives
) -> tuple[Array, Array, Array]:
    """Return the efforts of a motion, and their first and second derivative by time.

    Args:
        efforts: Of q, qd and qdd, by sums, products, sines and cosines.
        motion: Of numbers or symbols.
    """
    rows = [_varied(*motion[k : k + 3]) for k in range(3)]
    values = efforts(*rows)
    slopes = [_slope(x) for x in values]
    like: Any = np.asarray(motion.q).dtype
    value, first, second = (
        np.array(x, dtype=like)
        for x in (
            [_value(_value(x)) for x in values],
            [_value(x) for x in slopes],
            [_slope(x) for x in slopes],
        )
    )
    return value, first, second


def _varied(value: Array, first: Array, second: Array) -> Array:
    """Return numbers that vary in one direction, time, as do their derivatives."""
    found = np.empty(len(value), dtype=object)
    for i, (x, rate, its_rate) in enumerate(zip(value, first, second, strict=True)):
        found[i] = Variation(Variation(x, {0: rate}), {0: Variation(rate, {0: its_rate})})
    return found


def _value(x: Any) -> Any:
    return x.value if isinstance(x, Variation) else x


def _slope(x: Any) -> Any:
    return x.slopes.get(0, 0.0) if isinstance(x, Variation) else 0.0
