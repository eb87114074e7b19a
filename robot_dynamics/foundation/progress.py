"""Progress of a long computation, as it reports it to its caller."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, float], None]
"""Called with the stage that begins, and the share of all work that is done, from 0 to 1."""


def quiet(_stage: str, _done: float) -> None:
    """Ignore the progress."""
