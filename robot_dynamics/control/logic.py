"""Decisions on numbers or symbols: a condition is 1.0 where it holds, else 0.0."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from robot_dynamics.compiler.graph.piecewise import maximum, select
from robot_dynamics.foundation.arrays import Array

NEVER = -1e300
"""Time of an event that has not happened, s."""

HUGE = 1e300
"""Sum of magnitudes from which a number counts as infinite."""


def less(a: Any, b: Any) -> Any:
    """Return whether a < b; false for NaN."""
    return select(a, b, 1.0, 0.0)


def chosen(condition: Any, x: Any, y: Any) -> Any:
    """Return x where a condition holds, else y."""
    return select(0.5, condition, x, y)


def both(*conditions: Any) -> Any:
    """Return whether all conditions hold."""
    found = conditions[0]
    for other in conditions[1:]:
        found = chosen(found, other, 0.0)
    return found


def either(*conditions: Any) -> Any:
    """Return whether any condition holds."""
    found = conditions[0]
    for other in conditions[1:]:
        found = chosen(found, 1.0, other)
    return found


def negated(condition: Any) -> Any:
    """Return whether a condition does not hold."""
    return 1.0 - condition


def equal(a: Any, number: float) -> Any:
    """Return whether a whole number is this one."""
    return less(abs(a - number), 0.5)


def among(a: Any, numbers: Iterable[int]) -> Any:
    """Return whether a whole number is one of these."""
    return either(0.0, *(equal(a, float(number)) for number in numbers))


def any_of(conditions: Array) -> Any:
    """Return whether a condition holds for any joint."""
    return either(0.0, *conditions)


def all_of(conditions: Array) -> Any:
    """Return whether a condition holds for every joint."""
    return both(1.0, *conditions)


def finite(*arrays: Array) -> Any:
    """Return whether every number is finite."""
    return less(magnitude(*arrays), HUGE)


def magnitude(*arrays: Array) -> Any:
    """Return the sum of all magnitudes, added in pairs: a processor adds several at a time."""
    left = [abs(number) for array in arrays for number in np.ravel(array)]
    while len(left) > 1:
        left = [sum(left[k : k + 2]) for k in range(0, len(left), 2)]
    return left[0]


def largest(values: Array) -> Any:
    """Return the largest value, of zero or more; 0 of none."""
    found: Any = 0.0
    for value in values:
        found = maximum(value, found)
    return found


def first_largest(values: Array, *others: Array) -> tuple[Any, ...]:
    """Return the index of the largest value, that value, and those of other arrays there."""
    found: tuple[Any, ...] = (0.0, values[0], *(other[0] for other in others))
    for i in range(1, len(values)):
        this = (float(i), values[i], *(other[i] for other in others))
        greater = less(found[1], values[i])
        found = tuple(chosen(greater, a, b) for a, b in zip(this, found, strict=True))
    return found
