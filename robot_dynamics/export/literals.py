"""Literals of C: numbers, arrays and texts."""

from __future__ import annotations

from collections.abc import Iterable

from robot_dynamics.compiler.source.c import literal


def number(x: float) -> str:
    """Return a number as a literal; an infinite one or NaN as a macro of <math.h>."""
    return literal(float(x) + 0.0)


def vector(values: Iterable[float]) -> str:
    """Return the initializer of an array."""
    return "{" + ", ".join(map(number, values)) + "}"


def text(name: str) -> str:
    """Return a name as a string literal of ASCII characters."""
    escaped = []
    for byte in name.encode("utf-8", "surrogatepass"):
        plain = 32 <= byte < 127 and chr(byte) not in '"\\?'
        escaped.append(chr(byte) if plain else f"\\{byte:03o}")
    return f'"{"".join(escaped)}"'
