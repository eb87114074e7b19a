"""Functions of time that a user writes, such as 5*sin(2*t): arithmetic, evaluated without eval."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from robot_dynamics.errors import ArgumentError

LONGEST = 200
"""Number of characters of an expression, which also bounds its depth."""

CONSTANTS: Mapping[str, float] = {"pi": math.pi}

FUNCTIONS: Mapping[str, Callable[[float], float]] = {
    name: getattr(math, name) for name in ("sin", "cos", "tan", "exp", "log", "sqrt")
} | {"abs": abs}

OPERATORS: Mapping[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}

TimeFunction = Callable[[float], float]


def function_of_time(option: str, text: str) -> TimeFunction:
    """Return the function of t, in s, that an expression states.

    Args:
        option: Name of the option, for messages.
        text: Numbers, t, pi, + - * / **, parentheses and `FUNCTIONS`.

    Raises:
        ArgumentError: If it is none, or, when called, if its value is no finite number.
    """
    fault = f"{option}: '{text}'"
    known = f"t, pi, {', '.join(FUNCTIONS)} and + - * / **"
    try:
        if len(text) > LONGEST:
            raise ValueError
        value = _built(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, MemoryError):  # the last of the parser: too deep
        raise ArgumentError(f"{fault} is no number and no expression; use {known}") from None

    def checked(t: float) -> float:
        try:
            found = value(t)
        except (ArithmeticError, ValueError):
            found = math.nan
        if isinstance(found, complex) or not math.isfinite(found):
            raise ArgumentError(f"{fault} is no finite number at {t:g} s")
        return found

    return checked


def _built(node: ast.expr) -> TimeFunction:
    """Return the function of a node.

    Raises:
        ValueError: If it is no arithmetic.
    """
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            number = float(value)
            return lambda t: number
        case ast.Name(id="t"):
            return lambda t: t
        case ast.Name(id=name) if name in CONSTANTS:
            return lambda t: CONSTANTS[name]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            f, a, b = OPERATORS[type(op)], _built(left), _built(right)
            return lambda t: f(a(t), b(t))
        case ast.UnaryOp(op=op, operand=operand) if type(op) in OPERATORS:
            f, a = OPERATORS[type(op)], _built(operand)
            return lambda t: f(a(t))
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in FUNCTIONS:
            g, a = FUNCTIONS[name], _built(argument)
            return lambda t: g(a(t))
    raise ValueError
