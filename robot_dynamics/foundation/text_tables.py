"""Tables as text, for a terminal, for `print` and for `_repr_html_` in notebooks."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Any

from robot_dynamics.errors import printable

GAP = "  "
"""Blanks between two columns."""

NARROW = 8
"""Length up to which a heading is not broken, characters."""


def html_table(caption: str, headings: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """Return an HTML table of texts and numbers; numbers have six digits."""
    from html import escape  # noqa: PLC0415  # slow to import, and few print tables

    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(_printed(x))}</td>' for x in row)}</tr>" for row in rows
    )
    top = f"<caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>"
    return f"<table>{top}<tbody>{body}</tbody></table>"


def _printed(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


class TextTable:
    """A table for a terminal: columns of text at the left, numbers at the right.

    A table that is too wide breaks its headings, then cells of text; if that does not suffice, it
    goes on below with its first columns repeated.

    Args:
        title: Title above the table, or None.
        text: Headings of the first columns, which are aligned to the left.
        numbers: Headings of the columns after these, aligned to the right.
    """

    def __init__(self, title: str | None, text: Sequence[str], numbers: Sequence[str] = ()) -> None:
        self.title, self._headings, self._left = title, (*text, *numbers), len(text)
        self._rows: list[tuple[str, ...]] = []

    def add_row(self, *cells: str) -> None:
        """Add a cell for each column; cells that are left out are empty."""
        left_out = len(self._headings) - len(cells)
        self._rows.append((*map(printable, cells), *[""] * left_out))

    def __str__(self) -> str:
        return "\n".join([self.title or "", self.lines()]).lstrip("\n")

    def lines(self, width: float = math.inf) -> str:
        """Return headings and rows, at most as wide as `width` if single cells are not wider."""
        widths = self._widths(width)
        first = [0]  # with the columns of text behind it, if they leave half of the width
        while first[-1] + 1 < self._left and _total(widths[: len(first) + 1]) <= width / 2:
            first.append(first[-1] + 1)
        blocks: list[list[int]] = []
        for k in range(len(first), len(widths)):
            if not blocks or _total([widths[c] for c in (*blocks[-1], k)]) > width:
                blocks.append([*first])
            blocks[-1].append(k)
        return "\n\n".join(self._block(block, widths) for block in blocks or [first])

    def _widths(self, width: float) -> list[int]:
        """Return the width of each column: the widest of three choices that fits, or the second."""
        whole, broken, least = [], [], []
        for k, heading in enumerate(self._headings):
            cells = [row[k] for row in self._rows]
            widest = max(map(len, cells), default=0)
            whole.append(max(widest, len(heading)))
            broken.append(max(widest, *map(len, _pieces(heading)), min(len(heading), NARROW)))
            words = [len(word) for text in (heading, *cells) for word in text.split()]
            least.append(max(words, default=0) if k < self._left else broken[k])
        if _total(whole) <= width:
            return whole
        if _total(least) <= width:
            while _total(broken) > width:
                widest = max(broken[k] for k in range(len(broken)) if broken[k] > least[k])
                broken[next(k for k, w in enumerate(broken) if w == widest > least[k])] -= 1
        return broken

    def _block(self, columns: Sequence[int], widths: Sequence[int]) -> str:
        """Return the rows of some columns under their headings and a rule."""
        headings = [_heading(self._headings[k], widths[k]) for k in columns]
        height = max(map(len, headings))
        rows = [[[""] * (height - len(lines)) + lines for lines in headings]]
        rows.append([["-" * widths[k]] for k in columns])
        rows += [[_broken(row[k], widths[k]) for k in columns] for row in self._rows]
        lines = []
        for row in rows:
            for cells in zip_longest(*row, fillvalue=""):
                padded = (
                    cell.ljust(widths[k]) if k < self._left else cell.rjust(widths[k])
                    for k, cell in zip(columns, cells, strict=True)
                )
                lines.append(GAP.join(padded).rstrip())
        return "\n".join(lines)


def _total(widths: Sequence[int]) -> int:
    """Return the width of columns with the gaps between them."""
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _pieces(heading: str) -> list[str]:
    """Return the parts between which a heading may break: at blanks and behind underscores."""
    return re.findall(r"[^\s_]*_+|[^\s_]+", heading) or [""]


def _heading(text: str, width: int) -> list[str]:
    """Break a heading; pieces of a name are joined again on their line."""
    if len(text) <= width:
        return [text]
    return [line.replace("_ ", "_") for line in _broken(" ".join(_pieces(text)), width)]


def _broken(text: str, width: int) -> list[str]:
    """Break a text at blanks."""
    lines = textwrap.wrap(text, max(width, 1), break_long_words=False, break_on_hyphens=False)
    return lines or [""]


def joint_table(title: str, rows: Iterable[Any]) -> TextTable:
    """Return a table of rows with `type`, `a`, `alpha`, `d` and `theta`; q is the joint variable.

    Numbers have six digits; symbols are printed by `str`.
    """
    table = TextTable(title, ["joint"], ["a (m)", "alpha (deg)", "d (m)", "theta (deg)"])
    for i, row in enumerate(rows, start=1):
        alpha, theta = _degrees(row.alpha), _degrees(row.theta)
        d, theta = (row.d, _moved(theta)) if row.type.rotates else (_moved(row.d), theta)
        table.add_row(row.name or f"joint_{i}", *map(_text, (row.a, alpha, d, theta)))
    return table


def _text(value: Any) -> str:
    return f"{value + 0.0:.6g}" if isinstance(value, float) else str(value)


def _degrees(angle: Any) -> Any:
    return math.degrees(angle) if isinstance(angle, float) else angle


def _moved(value: Any) -> str:
    """Return the entry that the joint position q is added to."""
    return "q" if isinstance(value, float) and value == 0.0 else f"{_text(value)} + q"
