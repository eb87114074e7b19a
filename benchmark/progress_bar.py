"""Progress of a measurement, shown without disturbing it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn


def progress_bar(console: Console) -> Progress:
    """A line for each step; drawn between turns only, because a thread that draws takes time."""
    columns = TextColumn("{task.description:<24}"), BarColumn(), TimeElapsedColumn()
    return Progress(*columns, console=console, auto_refresh=False)


@contextmanager
def step(bar: Progress, text: str, total: float) -> Iterator[Callable[[], None]]:
    """One line of the bar; what it yields moves the line on by one of `total`."""
    task = bar.add_task(text, total=total)
    bar.refresh()

    def advance() -> None:
        bar.advance(task)
        bar.refresh()

    yield advance
    bar.update(task, completed=total)
    bar.refresh()


@contextmanager
def spinner(console: Console) -> Iterator[Callable[[str], None]]:
    """A line that says what is being done and vanishes; what it yields changes the text."""
    columns = TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=None)
        yield lambda text: progress.update(task, description=text)
