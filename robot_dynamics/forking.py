"""What a fork of the process waits for.

A child of a fork has one thread: a lock that another one held is never released in it, be it
LLVM's or Python's own on a module that is being imported.
"""

from __future__ import annotations

import os
import threading
from importlib import import_module
from typing import Any

lock = threading.RLock()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release
    )


def imported(module: str) -> Any:
    """Import a module late, where it is slow to import and seldom needed, safe from forks."""
    with lock:
        return import_module(module)
