"""The C++ package `robot_dynamics_controllers`: where it is, and its files as text by path."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

from robot_dynamics.errors import RobotDynamicsError

NAME = "robot_dynamics_controllers"

HEADER = f"include/{NAME}/robot_model.h"
"""Interface of a model library."""


def package_folder() -> Any:
    """Return the folder of the package: beside the Python package, or as data inside it.

    A source tree has it beside the Python package. An installation has it inside, where the set-up
    puts it.

    Raises:
        RobotDynamicsError: If it is missing.
    """
    inside = files("robot_dynamics")
    beside = Path(str(inside)).parent / NAME
    for folder in (beside, inside / "export" / NAME):
        if (folder / "package.xml").is_file():
            return folder
    raise RobotDynamicsError(
        f"the folder {NAME} is missing in this installation of robot_dynamics; install it again"
    )


def package_files() -> dict[str, str]:
    """Return the files of the package by path."""
    return dict(_below(package_folder(), ""))


def interface_header() -> str:
    """Return the text of the interface of a model library."""
    return (package_folder() / HEADER).read_text(encoding="utf-8")


def _below(folder: Any, prefix: str) -> Iterator[tuple[str, str]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        path = f"{prefix}{entry.name}"
        if entry.is_dir():
            if entry.name != "__pycache__":
                yield from _below(entry, f"{path}/")
        else:
            yield path, entry.read_text(encoding="utf-8")
