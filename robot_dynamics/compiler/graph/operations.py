"""The operations of the expression graph, by name."""

from __future__ import annotations

import math
from collections.abc import Callable

INPUT = "input"
CONSTANT = "constant"
NEGATE = "negate"
ADD = "add"
SUBTRACT = "subtract"
MULTIPLY = "multiply"
RECIPROCAL = "reciprocal"
SIN = "sin"
COS = "cos"
SQRT = "sqrt"
EXP = "exp"
TANH = "tanh"
ABS = "abs"
FLOOR = "floor"
ARCTAN2 = "arctan2"
SELECT = "select"

FUNCTIONS: dict[str, Callable[..., float]] = {
    SIN: math.sin,
    COS: math.cos,
    SQRT: math.sqrt,
    EXP: math.exp,
    TANH: math.tanh,
    ABS: abs,
    FLOOR: lambda x: float(math.floor(x)),
    ARCTAN2: math.atan2,
    SELECT: lambda a, b, x, y: x if a < b else y,
}
"""Functions by name, with their evaluation on floats."""

ODD = frozenset({SIN, TANH, ARCTAN2})  # in their first argument
EVEN = frozenset({COS, ABS})
