"""Tables as the verbs print them."""

from __future__ import annotations

from collections.abc import Iterable

from rich import box
from rich.console import Console
from rich.table import Table


def terminal(width: int = 120, *, stderr: bool = False) -> Console:
    """A console that prints names as they are, without styles and emoji that they may spell.

    Args:
        width: Number of columns where the output is no terminal.
        stderr: Print to stderr instead.
    """
    wide = None if Console().is_terminal else width
    return Console(stderr=stderr, width=wide, markup=False, emoji=False)


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
