"""Tables as the verbs print them."""

from __future__ import annotations

from collections.abc import Iterable

from rich import box
from rich.table import Table


def plain_table(title: str | None, text: Iterable[str], numbers: Iterable[str] = ()) -> Table:
    """A table without a frame, its headings underlined.

    Args:
        title: Stands above it, at the left.
        text: Headings of the first columns, which are set to the left.
        numbers: Headings of the columns after these, set to the right.
    """
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for heading in text:
        table.add_column(heading)
    for heading in numbers:
        table.add_column(heading, justify="right")
    return table
