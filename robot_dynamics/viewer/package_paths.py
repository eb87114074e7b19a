"""Resolve the file names in a URDF: `package://`, `file://` and relative paths."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

PACKAGE_SCHEMES = ("package://", "model://")


def mesh_path(uri: str, folder: Path | None = None) -> Path | None:
    """Find the file of a mesh; nothing is fetched.

    Args:
        uri: As the attribute `filename` of a <mesh> has it.
        folder: Folder of the URDF; none where it came as text.

    Returns:
        The file, or None if there is none.
    """
    for scheme in PACKAGE_SCHEMES:
        if uri.startswith(scheme):
            package, _, rest = unquote(uri[len(scheme) :]).partition("/")
            return _first_file(share / rest for share in _shares(package, folder))
    path = Path(unquote(uri.removeprefix("file://")))
    return _first_file([path] if folder is None else [folder / path])


def _first_file(paths: Iterator[Path] | list[Path]) -> Path | None:
    return next((path for path in paths if path.is_file()), None)


def _shares(package: str, folder: Path | None) -> Iterator[Path]:
    """Return candidate folders of a package: those of ROS in its order, then near the URDF."""
    for prefix in _entries("AMENT_PREFIX_PATH"):
        yield prefix / "share" / package
    for entry in _entries("ROS_PACKAGE_PATH"):
        yield entry / package
        if entry.name == package:
            yield entry
    if folder is not None:
        for parent in (folder.resolve(), *folder.resolve().parents):
            yield parent / package
            if parent.name == package:
                yield parent
    for prefix in (*(Path(entry) / "cmeel.prefix" for entry in sys.path), Path(sys.prefix)):
        yield prefix / "share" / package


def _entries(variable: str) -> list[Path]:
    return [Path(entry) for entry in os.environ.get(variable, "").split(os.pathsep) if entry]
