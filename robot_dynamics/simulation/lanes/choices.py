"""Choices between numbers, on floats and on symbols: what an equation may do without branching."""

from __future__ import annotations

import math
from typing import Any

from robot_dynamics.compiler.graph.expression import Expression, function, select


def where_less(a: Any, b: Any, x: Any, y: Any) -> Any:
    """X where a < b, else y; y where a or b is not a number."""
    for value in (a, b, x, y):
        if isinstance(value, Expression):
            lift = value.graph.lift
            return select(*(_node(lift(v)) for v in (a, b, x, y)))
    return x if a < b else y


def lesser(a: Any, b: Any) -> Any:
    """The smaller of two numbers."""
    return where_less(a, b, a, b)


def greater(a: Any, b: Any) -> Any:
    """The larger of two numbers."""
    return where_less(b, a, a, b)


def clipped(x: Any, low: Any, high: Any) -> Any:
    """x, or the end of [low, high] that it is beyond."""
    return lesser(greater(x, low), high)


def rounded(x: Any) -> Any:
    """The whole number next to x; of two that are as near the larger."""
    if isinstance(x, Expression):
        return function("floor", x + 0.5)
    return math.floor(x + 0.5)


def _node(value: Expression | None) -> Expression:
    if value is None:
        raise TypeError("a choice is between numbers")
    return value
