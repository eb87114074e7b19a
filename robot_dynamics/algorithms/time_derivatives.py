"""Time derivatives of joint efforts: equations evaluated on numbers that carry two of them.

Efforts of a motion are sums, products, sines and cosines of it. Evaluated on truncated Taylor
series, they yield the efforts, their rate and its rate at once, of numbers or of symbols.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.foundation.arrays import Array


class Series:
    """A number with its first and second derivative by time, any scalars."""

    __slots__ = ("first", "second", "value")

    def __init__(self, value: Any, first: Any = 0.0, second: Any = 0.0) -> None:
        self.value, self.first, self.second = value, first, second

    def __add__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented  # NumPy takes it entry by entry
        if not isinstance(other, Series):
            return Series(self.value + other, self.first, self.second)
        return Series(
            self.value + other.value, self.first + other.first, self.second + other.second
        )

    __radd__ = __add__

    def __neg__(self) -> Series:
        return Series(-self.value, -self.first, -self.second)

    def __sub__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else self + -other

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        if not isinstance(other, Series):
            if isinstance(other, (int, float)) and other == 0.0:
                return 0.0
            return Series(self.value * other, self.first * other, self.second * other)
        return Series(
            self.value * other.value,
            self.first * other.value + self.value * other.first,
            self.second * other.value + 2.0 * (self.first * other.first)
            + self.value * other.second,
        )  # fmt: skip

    __rmul__ = __mul__

    def cos(self) -> Series:
        """Cosine, as NumPy calls it."""
        c, s = np.cos(self.value), np.sin(self.value)
        rate = self.first * self.first
        return Series(c, -(s * self.first), -(c * rate + s * self.second))

    def sin(self) -> Series:
        """Sine, as NumPy calls it."""
        c, s = np.cos(self.value), np.sin(self.value)
        rate = self.first * self.first
        return Series(s, c * self.first, c * self.second - s * rate)


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
    rows = [_series(*motion[k : k + 3]) for k in range(3)]
    entries = [x if isinstance(x, Series) else Series(x) for x in efforts(*rows)]
    like: Any = np.asarray(motion.q).dtype
    value, first, second = (
        np.array([getattr(x, name) for x in entries], dtype=like)
        for name in ("value", "first", "second")
    )
    return value, first, second


def _series(value: Array, first: Array, second: Array) -> Array:
    found = np.empty(len(value), dtype=object)
    for i, parts in enumerate(zip(value, first, second, strict=True)):
        found[i] = Series(*parts)
    return found
