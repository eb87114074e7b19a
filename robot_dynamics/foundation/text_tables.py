"""Tables as text, for `print` and for `_repr_html_` in notebooks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any


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


HEADINGS = ("joint", "a (m)", "alpha (deg)", "d (m)", "theta (deg)")


def joint_table(title: str, rows: Iterable[Any]) -> str:
    """Align rows with `type`, `a`, `alpha`, `d` and `theta`; q marks the joint variable.

    Numbers have six digits; symbols are printed by `str`.
    """
    lines: list[Sequence[str]] = [HEADINGS]
    for i, row in enumerate(rows, start=1):
        alpha, theta = _degrees(row.alpha), _degrees(row.theta)
        d, theta = (row.d, _moved(theta)) if row.type.rotates else (_moved(row.d), theta)
        lines.append((row.name or f"joint_{i}", *map(_text, (row.a, alpha, d, theta))))
    name, *widths = (max(map(len, column)) for column in zip(*lines, strict=True))
    return "\n".join(
        [title]
        + ["  ".join([line[0].ljust(name), *map(str.rjust, line[1:], widths)]) for line in lines]
    )


def _text(value: Any) -> str:
    return f"{value + 0.0:.6g}" if isinstance(value, float) else str(value)


def _degrees(angle: Any) -> Any:
    return math.degrees(angle) if isinstance(angle, float) else angle


def _moved(value: Any) -> str:
    """Return the entry that the joint position q is added to."""
    return "q" if isinstance(value, float) and value == 0.0 else f"{_text(value)} + q"
