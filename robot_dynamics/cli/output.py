"""Output of a verb: tables for people, or one JSON object for programs.

JSON units are SI and radians, and vectors are in joint order; null stands for no limit and for no
answer. Errors and warnings go to stderr, and a verb that fails prints no object.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from robot_dynamics.errors import ArgumentError, MissingPackageError, printable
from robot_dynamics.foundation.lazy import needed
from robot_dynamics.foundation.pictures import picture_bytes
from robot_dynamics.foundation.text_tables import TextTable
from robot_dynamics.foundation.user_files import write_whole

if TYPE_CHECKING:  # matplotlib comes with the extra `cli`
    from matplotlib.figure import Figure

BOLD, PLAIN = "\033[1m", "\033[0m"
"""Terminal codes around the title of a table."""


class Printer:
    """Prints tables and sentences, at most as wide as the terminal.

    Elsewhere than on a terminal a row of a table and a sentence are one line each.

    Args:
        stderr: Whether to print on stderr, beside an object on stdout.
    """

    def __init__(self, *, stderr: bool = False) -> None:
        self._stream = sys.stderr if stderr else sys.stdout

    def __call__(self, *what: TextTable | str) -> None:
        """Print tables, each before an empty line, and sentences."""
        width = _width(self._stream)
        for one in what:
            if isinstance(one, TextTable):
                for line in _wrapped(printable(one.title or ""), width):
                    if line:
                        print(_title(line, self._stream), file=self._stream)
                print(f"{one.lines(width)}\n", file=self._stream)
                continue
            for sentence in one.split("\n"):
                self.line(*_wrapped(printable(sentence), width))

    def line(self, *texts: str) -> None:
        """Print lines as they are, such as a command to copy."""
        for text in texts:
            print(printable(text), file=self._stream)


def _wrapped(sentence: str, width: float) -> list[str]:
    """Break a sentence at blanks, and indent what follows by two more."""
    if len(sentence) <= width:
        return [sentence]
    indent = " " * (len(sentence) - len(sentence.lstrip()) + 2)
    return textwrap.wrap(
        sentence,
        int(width),
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _width(stream: TextIO) -> float:
    """Return the columns of a terminal, or those of the variable COLUMNS; otherwise infinity."""
    if columns := os.environ.get("COLUMNS", ""):
        return float(columns) if columns.isdecimal() and int(columns) else np.inf
    try:
        return float(os.get_terminal_size(stream.fileno()).columns) or np.inf
    except OSError:
        return np.inf


def _title(title: str, stream: TextIO) -> str:
    styled = stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return f"{BOLD}{title}{PLAIN}" if styled else title


def add_json(parser: argparse.ArgumentParser) -> None:
    """The option of every verb that a program might ask."""
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object, in SI units and rad"
    )


def print_json(content: Mapping[str, Any]) -> None:
    """Print an object: arrays and iterators as lists, records as objects, infinity as null.

    Where the output is not in UTF-8, other characters are escaped as JSON has it.
    """
    escaped = not (sys.stdout.encoding or "").lower().startswith("utf")
    print(json.dumps(_plain(content), indent=2, allow_nan=False, ensure_ascii=escaped))


def picture_of(draw: Callable[[], Path]) -> str:
    """Draw a picture; return a line with its path, or with the package that it lacks."""
    try:
        return f"picture: {draw()}"
    except MissingPackageError as error:
        return f"no picture: {error}"


def check_picture(path: Path) -> None:
    """Refuse a file whose name ends in no kind of picture.

    Raises:
        ArgumentError: If Matplotlib writes no such file.
        MissingPackageError: If Matplotlib is not installed.
    """
    canvas = needed("matplotlib.backend_bases", "a picture", "cli").FigureCanvasBase
    if path.suffix[1:].lower() not in canvas.get_supported_filetypes():
        raise ArgumentError(f"{path}: no kind of picture; use .png, .pdf or .svg")


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
