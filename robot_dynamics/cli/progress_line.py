"""Progress of a verb on the terminal: percentage and stage on stderr, nothing elsewhere."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from robot_dynamics.foundation.progress import Progress, quiet

REFRESH_S = 0.1
"""Least time between two updates of a stage, s."""


@contextmanager
def stages() -> Iterator[Progress]:
    """Yield a function that shows the stage of a computation while it runs."""
    if not sys.stderr.isatty():
        yield quiet
        return
    shown = ("", 0.0)  # stage, and when it was written

    def show(stage: str, done: float) -> None:
        nonlocal shown
        now = time.monotonic()
        if stage == shown[0] and now < shown[1] + REFRESH_S:
            return
        shown = stage, now
        _write(f"{100.0 * done:3.0f} %  {stage}")

    try:
        yield show
    finally:
        _write("")


def _write(text: str) -> None:
    """Replace the line at which the cursor is."""
    width = shutil.get_terminal_size().columns - 1
    print(f"\r{text[:width].ljust(width)}\r", end="", file=sys.stderr, flush=True)
