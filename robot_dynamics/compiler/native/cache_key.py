"""What machine code depends on beside the equations, as parts of its name on disk.

Contents of files and not their times: other contents with the same times and sizes
make other machine code (reproducible builds set all times to one).
"""

from __future__ import annotations

import hashlib
import sys
import sysconfig
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.compiler.native.llvm import Host
from robot_dynamics.forking import imported
from robot_dynamics.version import __version__

ROOMS = (
    *("spatial", "robot", "algorithms", "formulations", "coordinates", "papers", "reduction"),
    *("compiler", "kinematics", "control", "simulation"),
)
"""Folders that an equation, or the code made of it, can come from; and files beside them."""


def environment(host: Host) -> tuple[str, ...] | None:
    """Versions, processor and binary interfaces; None if the sources cannot be read."""
    sources = source_fingerprint()
    if sources is None:
        return None
    python = f"{sys.implementation.cache_tag} {sysconfig.get_config_var('SOABI')}"
    versions = f"{__version__}, {python}, numpy {np.__version__}"
    return sources, versions, host.llvm, host.cpu, host.features


@lru_cache(maxsize=1)
def source_fingerprint() -> str | None:
    """Fingerprint of the sources of this package; None if they cannot be read."""
    package: Any = Path(__file__).parents[2]
    if not package.is_dir():  # in a zip file
        package = imported("importlib.resources").files("robot_dynamics")
    return fingerprint_of(package)


def fingerprint_of(package: Any) -> str | None:
    """Fingerprint of the sources in a folder like that of this package, a path or traversable."""
    h = hashlib.sha256()
    found = False
    try:
        for name, file in sorted(_sources(package)):
            content = file.read_bytes()
            h.update(f"{name} {len(content)}\n".encode() + content)
            found = True
    except OSError:
        return None
    return h.hexdigest()[:32] if found else None


def _sources(package: Any) -> Iterator[tuple[str, Any]]:
    for entry in package.iterdir():
        if entry.name.endswith(".py"):
            yield entry.name, entry
        elif entry.name in ROOMS:
            yield from _python_files(entry, entry.name)


def _python_files(folder: Any, path: str) -> Iterator[tuple[str, Any]]:
    for entry in folder.iterdir():
        name = f"{path}/{entry.name}"
        if entry.name.endswith(".py"):
            yield name, entry
        elif entry.name != "__pycache__" and entry.is_dir():
            yield from _python_files(entry, name)
