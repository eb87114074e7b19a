"""Warnings on the command line: one line each on stderr, and one for all about a URDF."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

READER = "robot_dynamics.robot.urdf.document"
"""Logger of the reader of URDF files, which only `collected` handles here."""


class _Once(logging.Filter):
    """Pass every text once, and none of the reader of URDF files."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether the text is new, and not of the reader."""
        text = record.getMessage()
        if record.name == READER or text in self._seen:
            return False
        self._seen.add(text)
        return True


@contextmanager
def warnings_shown(quiet: bool) -> Iterator[None]:
    """Print warnings of the package on stderr, unless they are unwanted."""
    logger = logging.getLogger("robot_dynamics")
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(levelname)s: %(message)s"))
    handler.addFilter(_Once())
    handler.setLevel(logging.ERROR if quiet else logging.WARNING)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


class _Collector(logging.Handler):
    """Keeps the texts of records."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a text."""
        self.texts.append(record.getMessage())


@contextmanager
def collected() -> Iterator[list[str]]:
    """Collect the warnings of the reader of URDF files."""
    handler, reader = _Collector(), logging.getLogger(READER)
    reader.addHandler(handler)
    try:
        yield handler.texts
    finally:
        reader.removeHandler(handler)
