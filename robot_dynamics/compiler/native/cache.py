"""Object code on disk, so that a robot is compiled once per machine.

One file per piece of code, named by a hash of everything that the code depends
on. A file is written beside its place and renamed into it, so that nobody ever
reads half of one; its checksum is verified on reading, and a damaged file is as
good as none. Code from this folder will be run, so the folder must belong to the
user and to nobody else. A folder that cannot be used means no cache, with a
warning if the user has chosen it.

The folder is $ROBOT_DYNAMICS_CACHE (empty: no cache), else the platform's place
for caches of the user: $XDG_CACHE_HOME/robot_dynamics or ~/.cache/robot_dynamics.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import stat
import sys
import time
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

_log = logging.getLogger(__name__)

_MAGIC = b"robot_dynamics kernel 1\n"
_SUFFIX, _UNFINISHED = ".kernel", ".tmp"
_LARGEST = 256 * 2**20  # bytes; beyond, the oldest files go until half of it is left
_ABANDONED = 3600.0  # s; an unfinished file that old belongs to a process that was killed


def folder() -> Path | None:
    """The folder of the cache; None if there is to be none."""
    chosen = os.environ.get("ROBOT_DYNAMICS_CACHE")
    if chosen is not None:
        return Path(chosen) if chosen else None
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    expanded = os.path.expanduser(base) if base else ""
    return Path(expanded, "robot_dynamics") if os.path.isabs(expanded) else None


def key_of(*parts: str) -> str:
    """Name of the code that is made from these parts."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:40]


def load(key: str) -> tuple[dict[str, Any], bytes] | None:
    """Metadata and object code stored under a key; None if there are none or they are damaged."""
    place = folder()
    if place is None:
        return None
    try:
        if not _is_private(place):
            return None
        content = (place / (key + _SUFFIX)).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        _say_once(f"kernels are not kept in {place}: {error.strerror}")
        return None
    start = len(_MAGIC) + hashlib.sha256().digest_size
    checksum, payload = content[len(_MAGIC) : start], content[start:]
    if content[: len(_MAGIC)] != _MAGIC or hashlib.sha256(payload).digest() != checksum:
        _log.debug("kernel %s on disk is damaged; it is built again", key)
        return None
    text, _, code = payload.partition(b"\n")
    return json.loads(text), code


def store(key: str, about: Mapping[str, Any], code: bytes) -> None:
    """Keep metadata and object code under a key; if that is not possible, say so once."""
    place = folder()
    if place is None:
        return
    payload = json.dumps(about).encode() + b"\n" + code
    unfinished = place / f".{key}.{os.getpid()}.{time.monotonic_ns()}{_UNFINISHED}"
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_private(place):
            return
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(_MAGIC + hashlib.sha256(payload).digest() + payload)
        unfinished.replace(place / (key + _SUFFIX))
        _make_room(place)
    except OSError as error:
        _say_once(f"kernels are not kept in {place}: {error.strerror}")
        with contextlib.suppress(OSError):
            unfinished.unlink()


@lru_cache(maxsize=1)
def source_fingerprint() -> str:
    """Fingerprint of the sources of this package: changed equations make other kernels."""
    package = Path(__file__).parents[2]
    files = sorted(path for part in _SOURCES for path in package.glob(part))
    states = [(str(p.relative_to(package)), p.stat().st_size, p.stat().st_mtime_ns) for p in files]
    return hashlib.sha256(repr(states).encode()).hexdigest()[:16]


_SOURCES = ("*.py",) + tuple(
    f"{room}/**/*.py"
    for room in (
        *("spatial", "robot", "algorithms", "formulations", "papers", "reduction"),
        *("compiler", "kinematics"),
    )
)
"""Every file that an equation, or the code made of it, can come from."""


def _is_private(place: Path) -> bool:
    """True if only the user can write there."""
    if not hasattr(os, "geteuid"):
        return True  # Windows: the user's profile is private
    state = place.stat()
    if state.st_uid == os.geteuid() and not state.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return True
    _say_once(f"kernels are not kept in {place}: others can write there; 'chmod 700' it")
    return False


def _make_room(place: Path) -> None:
    """Delete the oldest files when there are too many, and what killed processes left."""
    files, now = [], time.time()
    for entry in os.scandir(place):
        with contextlib.suppress(OSError):  # another process may be tidying up too
            state = entry.stat()
            if entry.name.endswith(_SUFFIX):
                files.append((state.st_mtime, state.st_size, entry.path))
            elif entry.name.endswith(_UNFINISHED) and now - state.st_mtime > _ABANDONED:
                os.unlink(entry.path)
    total = sum(size for _, size, _ in files)
    if total > _LARGEST:
        for _, size, path in sorted(files):
            if total <= _LARGEST // 2:
                break
            with contextlib.suppress(OSError):
                os.unlink(path)
            total -= size


@lru_cache(maxsize=64)
def _say_once(message: str) -> None:
    """Of the default folder nobody needs to know; who has named another one expects it to work."""
    chosen = os.environ.get("ROBOT_DYNAMICS_CACHE")
    _log.log(logging.WARNING if chosen else logging.DEBUG, message)
