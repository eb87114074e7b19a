"""Tables for notebooks: what `_repr_html_` returns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def html_table(caption: str, headings: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """A table of texts and numbers; numbers are printed with six digits."""
    from html import escape  # noqa: PLC0415  # slow to import, and few print tables

    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(_printed(x))}</td>' for x in row)}</tr>" for row in rows
    )
    top = f"<caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>"
    return f"<table>{top}<tbody>{body}</tbody></table>"


def _printed(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
