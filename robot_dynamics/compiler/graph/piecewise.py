"""Elementwise selection between two values, for equations, which must not branch.

Numbers, arrays and symbols give the same bits in every back end: a comparison with NaN is
false, and 0.0 equals -0.0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.compiler.graph.expression import Expression, function
from robot_dynamics.compiler.graph.operations import SELECT


def select(a: Any, b: Any, x: Any, y: Any) -> Any:
    """Select x where a < b, else y; both are computed."""
    for value in (a, b, x, y):
        if _symbolic(value):
            return _SELECT(a, b, x, y)
    return np.where(np.less(a, b), x, y)[()]


def _symbolic(value: Any) -> bool:
    """Return whether a value holds symbols; fast for numbers and arrays of numbers."""
    if isinstance(value, (float, int)):
        return False
    dtype = value.dtype if isinstance(value, np.ndarray) else np.asarray(value).dtype
    return dtype.char == "O"


def maximum(x: Any, limit: Any) -> Any:
    """The larger of two; NaN where x is."""
    return select(x, limit, limit, x)


def minimum(x: Any, limit: Any) -> Any:
    """The smaller of two; NaN where x is."""
    return select(limit, x, limit, x)


def clip(x: Any, lower: Any, upper: Any) -> Any:
    """x, not below `lower` and not above `upper`; NaN where x is."""
    return minimum(maximum(x, lower), upper)


def rounded(x: Any) -> Any:
    """Round to the nearest integer, halves upwards."""
    return np.floor(x + 0.5)


def _select(*operands: Any) -> Any:
    symbol = next((value for value in operands if type(value) is Expression), None)
    if symbol is None:
        a, b, x, y = operands
        return x if a < b else y
    a, b, x, y = (symbol.graph.lift(value) for value in operands)
    if a is None or b is None or x is None or y is None:
        raise TypeError(f"select takes numbers and symbols, got {operands}")
    return function(SELECT, a, b, x, y)


_SELECT = np.frompyfunc(_select, 4, 1)
