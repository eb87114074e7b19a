"""Output of a verb: tables for people, or one JSON object for programs.

JSON units are SI and radians, and vectors are in joint order; null stands for no limit and for no
answer. Errors and warnings go to stderr, and a verb that fails prints no object.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from robot_dynamics.foundation.pictures import picture_bytes
from robot_dynamics.foundation.user_files import write_whole

if TYPE_CHECKING:  # rich comes with the extra `cli`; JSON output works without
    from matplotlib.figure import Figure
    from rich.console import Console
    from rich.table import Table


def wide_console(width: int = 120, *, stderr: bool = False) -> Console:
    """Return a console as wide as the terminal, or of a width where there is no terminal.

    It prints names as they are, without styles and emoji that they may spell.
    """
    from rich.console import Console  # noqa: PLC0415

    wide = None if Console().is_terminal else width
    return Console(stderr=stderr, width=wide, markup=False, emoji=False)


def plain_table(title: str | None, text: Iterable[str], numbers: Iterable[str] = ()) -> Table:
    """Return a table without a frame and with underlined headings.

    Args:
        title: Title above the table, at the left.
        text: Headings of the first columns, which are aligned to the left.
        numbers: Headings of the columns after these, aligned to the right.
    """
    from rich import box  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for heading in text:
        table.add_column(heading)
    for heading in numbers:
        table.add_column(heading, justify="right")
    return table


def add_json(parser: argparse.ArgumentParser) -> None:
    """The option of every verb that a program might ask."""
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object, in SI units and rad"
    )


def print_json(content: Mapping[str, Any]) -> None:
    """Print an object: arrays and iterators as lists, records as objects, infinity as null."""
    print(json.dumps(_plain(content), indent=2, allow_nan=False, ensure_ascii=False))


def save_picture(figure: Figure, path: Path) -> Path:
    """Save a picture, whole or not at all, in a folder that is created if need be."""
    content = picture_bytes(figure, path.suffix[1:].lower())
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, content)
    return path


def _plain(value: Any) -> Any:
    """Convert a value to types that the json module accepts."""
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if is_dataclass(value):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [_plain(entry) for entry in value]
    if isinstance(value, float):
        return value + 0.0 if np.isfinite(value) else None  # no minus before zero
    return value
