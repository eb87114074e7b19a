"""A page that a verb serves until it is ended."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # needs viser
    from robot_dynamics.viewer.page import Page


def serve(page: Page, run: Callable[[threading.Event], None]) -> None:
    """Say where a page is, and run what is on it until Ctrl-C or SIGTERM."""
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    print(page.announcement(), flush=True)
    run(ended)
