"""Literals of C++: numbers, arrays and texts."""

from __future__ import annotations

import math
from collections.abc import Iterable


def number(x: float) -> str:
    """Return a number as a literal; an infinite one as the constant UNLIMITED."""
    if math.isinf(x):
        return "UNLIMITED" if x > 0.0 else "-UNLIMITED"
    return repr(x + 0.0)


def vector(values: Iterable[float]) -> str:
    """Return the initializer of a std::array."""
    return "{{" + ", ".join(number(float(x)) for x in values) + "}}"


def text(name: str) -> str:
    """Return a name as a string literal of ASCII characters."""
    escaped = []
    for byte in name.encode("utf-8", "surrogatepass"):
        plain = 32 <= byte < 127 and chr(byte) not in '"\\?'
        escaped.append(chr(byte) if plain else f"\\{byte:03o}")
    return f'"{"".join(escaped)}"'
