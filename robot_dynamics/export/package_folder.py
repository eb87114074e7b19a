"""A folder of generated files: written as a whole, and never over the changes of its user.

A manifest in the folder holds the digest of every file. Files that are not in it are left alone.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from robot_dynamics.errors import RobotDynamicsError

MANIFEST = ".robot_dynamics_export"
"""Digest and path of every generated file, one line each, as of sha256sum."""

_LINE = re.compile(r"([0-9a-f]{64})  (.+)")


def write_folder(folder: Path, files: Mapping[str, str], *, force: bool = False) -> None:
    """Write files into a folder, all of them or none.

    A folder with a manifest is updated: files that an earlier export wrote and this one does not
    are removed.

    Args:
        folder: The folder; it is created if there is none.
        files: Text by path in the folder.
        force: Overwrite changed files and a folder without a manifest.

    Raises:
        RobotDynamicsError: If a file was changed or written by other means and not `force`, or
            if the folder cannot be written. What was there stays.
    """
    data = {path: text.encode() for path, text in files.items()}
    lines = [f"{_digest(content)}  {path}\n" for path, content in sorted(data.items())]
    data[MANIFEST] = "".join(lines).encode()
    place = Path(os.path.realpath(folder))  # the folder of a workspace may be a link
    if folder.is_symlink() and not place.exists():
        raise RobotDynamicsError(f"{folder}: is a link that leads nowhere; remove it")
    if place.exists() and not place.is_dir():
        raise RobotDynamicsError(f"{folder}: is a file; remove it, or choose another name")
    written = _manifest(place)
    if place.exists():
        _check(folder, place, data, written, force=force)
    created: list[Path] = []
    beside = place.with_name(f".{place.name}.{secrets.token_hex(4)}")
    try:
        _make(place.parent, created)
        beside.mkdir()
        for path, content in data.items():
            (beside / path).parent.mkdir(parents=True, exist_ok=True)
            (beside / path).write_bytes(content)
        if place.exists():
            # Files that stay the same keep their time, so that only the others are compiled again
            new = [path for path in data if _changed(place / path, _digest(data[path]), none=True)]
            _update(place, beside, new, [path for path in written if path not in data])
        else:
            beside.rename(place)
    except BaseException as error:
        for made in reversed(created):
            shutil.rmtree(made, ignore_errors=True)
        if isinstance(error, OSError):
            raise RobotDynamicsError(
                f"{folder}: cannot be written ({error.strerror}); name a folder of yours"
            ) from None
        raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _check(
    folder: Path, place: Path, data: Iterable[str], written: Mapping[str, str], *, force: bool
) -> None:
    """Refuse a folder whose files an export may not replace."""
    for path in sorted({*data, *written}):
        for parent in list(Path(path).parents)[-2::-1]:
            at = place / parent
            if at.is_symlink() or (at.exists() and not at.is_dir()):
                raise RobotDynamicsError(
                    f"{folder / parent}: is no folder of an export; move it away"
                )
        if (place / path).is_dir() and not (place / path).is_symlink():
            raise RobotDynamicsError(f"{folder / path}: is a folder; move it away")
    if force:
        return
    if not written and any(place.iterdir()):
        raise RobotDynamicsError(
            f"{folder}: was not written by an export; choose another name, or overwrite its files "
            "with --force"
        )
    for path in sorted({*data, *written} - {MANIFEST}):
        if _changed(place / path, written.get(path)):
            raise RobotDynamicsError(
                f"{folder / path}: was changed after its export; move your changes to another "
                "package, or overwrite them with --force"
            )


def _changed(path: Path, digest: str | None, *, none: bool = False) -> bool:
    """Return whether a file holds something else; `none` if there is no file."""
    if not os.path.lexists(path):
        return none
    if path.is_symlink() or not path.is_file():
        return True
    try:
        return _digest(path.read_bytes()) != digest
    except OSError:
        return True


def _update(place: Path, beside: Path, data: Iterable[str], old: Iterable[str]) -> None:
    """Move files from the folder beside into place; after an error all is as before."""
    kept = beside / ".before"
    moved: list[str] = []
    created: list[Path] = []
    try:
        for path in [*data, *old]:
            moved.append(path)
            if os.path.lexists(place / path):
                (kept / path).parent.mkdir(parents=True, exist_ok=True)
                os.rename(place / path, kept / path)
            if os.path.lexists(beside / path):
                _make((place / path).parent, created)
                os.rename(beside / path, place / path)
    except BaseException:
        for path in moved:
            if os.path.lexists(kept / path):
                os.replace(kept / path, place / path)
            elif path != moved[-1]:
                (place / path).unlink(missing_ok=True)
        for made in reversed(created):
            made.rmdir()
        raise
    for path in old:
        for parent in list(Path(path).parents)[:-1]:
            if (place / parent).is_dir() and not any((place / parent).iterdir()):
                (place / parent).rmdir()


def _make(folder: Path, created: list[Path]) -> None:
    """Create a folder with its parents, and add those that were missing to a list."""
    if not folder.exists():
        _make(folder.parent, created)
        folder.mkdir()
        created.append(folder)


def _manifest(place: Path) -> dict[str, str]:
    """Return the digests of an earlier export by path; empty without one."""
    try:
        text = (place / MANIFEST).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return {}
    found = {}
    for line in text.splitlines():
        match = _LINE.fullmatch(line)
        if match and ".." not in Path(match[2]).parts and not Path(match[2]).is_absolute():
            found[match[2]] = match[1]
    return found


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
