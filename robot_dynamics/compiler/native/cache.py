"""Object code on disk, so that a robot is compiled once per machine.

Each piece of code has one file, named by a hash of everything that the code depends
on. A file is written under a temporary name and renamed, so that no process reads an
incomplete file. Its digest of name and content is verified on reading; a damaged or
renamed file is ignored.

Code from this folder is executed. The folder and every file must therefore belong to
the user and be writable only by the user, and a file must not be a link. These checks
use the descriptors that are read. A file that fails them is compiled again. An
unusable folder disables the cache, with a warning if the user has set it. The digest
is not a signature: a process that can write as the user needs no forged kernel.

Keys depend on the contents of source files, not on their times, because reproducible
builds give all files the same time.

The folder is $ROBOT_DYNAMICS_CACHE (empty: no cache), else the user's cache folder of
the platform: $XDG_CACHE_HOME/robot_dynamics or ~/.cache/robot_dynamics.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import logging
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from importlib.machinery import EXTENSION_SUFFIXES
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.compiler.native.llvm import Host, compile_object, highest_level, host
from robot_dynamics.foundation.lazy import imported
from robot_dynamics.version import __version__

_log = logging.getLogger(__name__)

_MAGIC = b"robot_dynamics kernel 2\n"
_SUFFIX, _UNFINISHED = ".kernel", ".tmp"
# Non-blocking, so that a pipe does not make the reader wait for a writer
_READ_NO_LINK = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_LARGEST_BYTES = 256 * 2**20  # bytes; above it, the oldest files are deleted down to half of it
_ABANDONED_S = 3600.0  # s; an unfinished file of this age was left by a killed process

_added: dict[Path, int] = {}
"""Bytes that this process has stored in a folder since it last looked at all of its files, which
takes 50 ms where there are ten thousand."""


def folder() -> Path | None:
    """Return the folder of the cache, or None if there is no cache."""
    chosen = os.environ.get("ROBOT_DYNAMICS_CACHE")
    if chosen is not None:
        return Path(os.path.expanduser(chosen)) if chosen else None
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    expanded = os.path.expanduser(base) if base else ""
    return Path(expanded, "robot_dynamics") if os.path.isabs(expanded) else None


_IS_FOLDER = "{} is a folder in the place of a kernel, which is compiled each time; remove it"


def key_of(*parts: str) -> str:
    """Return the key of code that depends on these parts."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:40]


def load(key: str) -> tuple[Mapping[str, Any], bytes] | None:
    """Return metadata and object code of a key, or None if they are missing or damaged."""
    place = folder()
    if place is None:
        return None
    try:
        content = _read(place, key + _SUFFIX)
    except FileNotFoundError:
        return None
    except OSError as error:
        _say_once(f"kernels are not cached in {place}: {error.strerror}")
        return None
    if content is None:
        return None
    start = len(_MAGIC) + hashlib.sha256().digest_size
    digest, payload = content[len(_MAGIC) : start], content[start:]
    if content[: len(_MAGIC)] != _MAGIC or _digest(key, payload) != digest:
        _log.debug("kernel %s on disk is damaged and is compiled again", key)
        return None
    text, _, code = payload.partition(b"\n")
    return json.loads(text), code


def kept(
    key: str, make: Callable[[], tuple[Mapping[str, Any], bytes]]
) -> tuple[Mapping[str, Any], bytes]:
    """Return metadata and object code of a key, from disk, else made and stored there.

    Args:
        key: The key; "" for code that is not kept.
        make: Makes them.
    """
    found = load(key) if key else None
    if found is None:
        found = make()
        if key:
            store(key, *found)
    return found


def remembered(what: str, key: str, make: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return numbers about a robot or its code, from disk, else made and stored there.

    Args:
        what: What they are.
        key: Fingerprint of everything that they depend on but the sources of the package.
        make: Makes them, as JSON takes them.
    """
    sources = source_fingerprint()
    name = "" if sources is None else key_of(what, key, sources)
    return kept(name, lambda: (make(), b""))[0]


def object_code(name: str, text: str) -> bytes:
    """Return the object code of a module that is no kernel, from disk or from the compiler.

    Raises:
        BackendError: If there is no usable llvmlite.
    """
    around = environment(host())
    key = "" if around is None else key_of(name, text, *around)
    return kept(key, lambda: ({"name": name}, compile_object(text)))[1]


def _digest(key: str, payload: bytes) -> bytes:
    """Hash the key and the content of a file."""
    return hashlib.sha256(key.encode() + b"\n" + payload).digest()


def _read(place: Path, name: str) -> bytes | None:
    """Return the content of a file that only the user can have written, else None."""
    if not hasattr(os, "geteuid"):  # Windows: the user's profile is private
        return (place / name).read_bytes()
    folder = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if not _is_private(place, os.fstat(folder)):
            return None
        descriptor = os.open(name, _READ_NO_LINK, dir_fd=folder)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        _log.debug("kernel %s on disk is a link and is compiled again", name)
        return None
    finally:
        os.close(folder)
    state = os.fstat(descriptor)
    if not (stat.S_ISREG(state.st_mode) and _only_mine(state)):
        os.close(descriptor)
        if stat.S_ISDIR(state.st_mode):
            _say_once(_IS_FOLDER.format(place / name))
        _log.debug("kernel %s on disk may be from another user and is compiled again", name)
        return None
    with os.fdopen(descriptor, "rb") as file:
        return file.read()


def store(key: str, about: Mapping[str, Any], code: bytes) -> None:
    """Store metadata and object code under a key; log a failure once."""
    place = folder()
    if place is None:
        return
    payload = json.dumps(about).encode() + b"\n" + code
    unfinished = place / f".{key}.{os.getpid()}.{time.monotonic_ns()}{_UNFINISHED}"
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_private(place, place.stat()):
            return
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(_MAGIC + _digest(key, payload) + payload)
        unfinished.replace(place / (key + _SUFFIX))
        if _has_grown(place, len(payload)):
            _evict_oldest(place)
    except OSError as error:
        if isinstance(error, IsADirectoryError) and error.filename2:
            _say_once(_IS_FOLDER.format(error.filename2))
        else:
            _say_once(f"kernels are not cached in {place}: {error.strerror}")
        with contextlib.suppress(OSError):
            unfinished.unlink()


def _is_private(place: Path, state: os.stat_result) -> bool:
    """Return whether only the user can write to a folder."""
    if not hasattr(os, "geteuid") or _only_mine(state):
        return True
    _say_once(f"kernels are not cached in {place}: others can write there; 'chmod 700' it")
    return False


def _only_mine(state: os.stat_result) -> bool:
    """Return whether the user owns a file and only the user can write to it."""
    return state.st_uid == os.geteuid() and not state.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _has_grown(place: Path, size: int) -> bool:
    """Return whether the files of a folder are due for a look: at first, then now and then."""
    _added[place] = _added.get(place, _LARGEST_BYTES) + size
    if _added[place] < _LARGEST_BYTES // 64:
        return False
    _added[place] = 0
    return True


def _evict_oldest(place: Path) -> None:
    """Delete the oldest files above the size limit, and files that killed processes left."""
    files, now = [], time.time()
    for entry in os.scandir(place):
        with contextlib.suppress(OSError):  # another process may delete files too
            state = entry.stat()
            if entry.name.endswith(_SUFFIX):
                files.append((state.st_mtime, state.st_size, entry.path))
            elif entry.name.endswith(_UNFINISHED) and now - state.st_mtime > _ABANDONED_S:
                os.unlink(entry.path)
    total = sum(size for _, size, _ in files)
    if total > _LARGEST_BYTES:
        for _, size, path in sorted(files):
            if total <= _LARGEST_BYTES // 2:
                break
            with contextlib.suppress(OSError):
                os.unlink(path)
            total -= size


@lru_cache(maxsize=64)
def _say_once(message: str) -> None:
    """Log a message once: as a warning if the user has chosen the folder, else for debugging."""
    chosen = os.environ.get("ROBOT_DYNAMICS_CACHE")
    _log.log(logging.WARNING if chosen else logging.DEBUG, message)


# -- parts of a key besides the equations -------------------------------------------------------

PACKAGES = (
    *("foundation", "dynamics"),
    *("robot", "algorithms", "formulations", "papers", "reduction"),
    *("compiler", "kinematics", "statics", "trajectory", "control", "simulation"),
)
"""Packages whose sources can change an equation or its machine code; root modules count too."""


def environment(host: Host) -> tuple[str, ...] | None:
    """Return sources, versions, processor and binary interfaces; None if sources are unreadable."""
    sources = source_fingerprint()
    if sources is None:
        return None
    python = f"{sys.implementation.cache_tag} {EXTENSION_SUFFIXES[0]}"
    versions = f"{__version__}, {python}, numpy {np.__version__}"
    return sources, versions, host.llvm, host.cpu, host.features, str(highest_level())


@lru_cache(maxsize=1)
def source_fingerprint() -> str | None:
    """Return the fingerprint of this package's sources, or None if they cannot be read."""
    package: Any = Path(__file__).parents[2]
    if not package.is_dir():  # in a zip file
        package = imported("importlib.resources").files("robot_dynamics")
    return fingerprint_of(package)


def fingerprint_of(package: Any) -> str | None:
    """Return the fingerprint of the sources in a package folder, a path or a traversable."""
    h = hashlib.sha256()
    found = False
    try:
        for name, file in sorted(_sources(package), key=itemgetter(0)):
            content = _content(file)
            h.update(f"{name} {len(content)}\n".encode())
            h.update(content)
            found = True
    except OSError:
        return None
    return h.hexdigest()[:32] if found else None


def _sources(package: Any) -> Iterator[tuple[str, Any]]:
    for entry in _entries(package):
        if entry.name.endswith(".py"):
            yield entry.name, entry
        elif entry.name in PACKAGES:
            yield from _python_files(entry, entry.name)


def _python_files(folder: Any, path: str) -> Iterator[tuple[str, Any]]:
    for entry in _entries(folder):
        name = f"{path}/{entry.name}"
        if entry.name.endswith(".py"):
            yield name, entry
        elif entry.name != "__pycache__" and entry.is_dir():
            yield from _python_files(entry, name)


def _entries(folder: Any) -> Iterator[Any]:
    """List a folder, a path or a traversable; paths as `os.DirEntry`, which reads no further."""
    return os.scandir(folder) if isinstance(folder, os.PathLike) else folder.iterdir()


def _content(file: Any) -> bytes:
    """Read a file of `_entries`; the first call of every process reads all of them."""
    if isinstance(file, os.DirEntry):
        with open(file, "rb", buffering=0) as stream:
            return stream.read()
    content: bytes = file.read_bytes()
    return content
