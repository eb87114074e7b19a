"""Numbers in text: one reader for a command line, a URDF or a file, one writer for messages.

Python's `float` also reads 1_0, digits of other scripts, and numbers between non-breaking spaces.
"""

from __future__ import annotations

import re
import sys

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?(inf|infinity|nan)",
                     re.ASCII | re.IGNORECASE)  # fmt: skip

SPACES = " \t\r\n"
"""Characters that may surround and separate numbers."""


def number_from(text: str) -> float:
    """Return the number that a text is; infinity where it is too large.

    Raises:
        ValueError: If it is none, or if a float cannot hold it at full precision, as 1e-310.
    """
    if not _NUMBER.fullmatch(word := text.strip(SPACES)):
        raise ValueError(f"could not convert string to float: {text!r}")
    value = float(word)
    if 0.0 < abs(value) < sys.float_info.min:
        raise ValueError(f"too small for floating point: {text!r}")
    return value


def whole_number_from(text: str) -> int:
    """Return the whole number that a text is.

    Raises:
        ValueError: If it is none.
    """
    if not re.fullmatch(r"[+-]?\d{1,18}", text.strip(SPACES), re.ASCII):
        raise ValueError(f"invalid literal for int() with base 10: {text!r}")
    return int(text)


def whole_numbers(digits: int) -> tuple[float, float]:
    """Return the least magnitude that is written as a whole number, and the least that is not."""
    return 10.0**digits - 0.5, 1e6


def short_number(x: float, digits: int = 3) -> str:
    """Return a number with these significant digits, without an exponent below a million."""
    least, most = whole_numbers(digits)
    return f"{x:.0f}" if least <= abs(x) < most else f"{x:.{digits}g}"


def counted(count: int, noun: str) -> str:
    """Return a number of things: "1 joint", "2 joints", "2 entries"."""
    several = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count} {noun if count == 1 else several}"


def words_of(text: str) -> list[str]:
    """Split a text at spaces, tabs and line ends, and at no other character."""
    return re.findall(f"[^{SPACES}]+", text)
