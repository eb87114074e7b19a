"""Where a verb writes: tried before its work, so that nothing is computed in vain.

Types for argparse. What they raise is no ValueError, which argparse would answer in its own words.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from robot_dynamics.errors import RobotDynamicsError


def output_folder(text: str) -> Path:
    """Check a folder to write to; the writer creates it, so that an error leaves none behind.

    Raises:
        RobotDynamicsError: If it could not be made, or not be written to.
    """
    path = Path(text)
    there = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
    _try(there, path, "name a folder of yours")
    return path


def output_file(text: str | Path) -> Path:
    """A file to write, in the place of one that is there.

    Raises:
        RobotDynamicsError: If it could not be written.
    """
    path = Path(text)
    if path.is_dir():
        raise RobotDynamicsError(f"{path}: is a folder; name a file")
    if not path.exists():
        _try(path.parent, path, "name a file in a folder of yours")
    elif not os.access(path, os.W_OK):
        raise RobotDynamicsError(f"{path}: cannot be written; name another file")
    return path


def new_file(text: str | Path) -> Path:
    """A file to make.

    Raises:
        RobotDynamicsError: If it exists, or could not be written.
    """
    path = Path(text)
    if path.exists():
        raise RobotDynamicsError(f"{path}: exists already; name a new file")
    return output_file(path)


def new_recording(text: str) -> Path:
    """A recording to make.

    Raises:
        RobotDynamicsError: As of `new_file`; or if the name says that it is none.
    """
    if Path(text).suffix != ".mcap":
        raise RobotDynamicsError(f"{text}: is to hold a recording; name it {Path(text).stem}.mcap")
    return new_file(text)


def _try(folder: Path, named: Path, remedy: str) -> None:
    """Make a file, which vanishes: permissions alone do not tell, least of all root."""
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise RobotDynamicsError(
            f"{named}: cannot be written ({error.strerror}); {remedy}"
        ) from None
