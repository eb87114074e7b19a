"""Files of users: one reader each of YAML, CSV and arrays, and one writer of whole files.

For any bytes, a reader returns a value or raises one error that names the file, its line or
element, and the remedy. The caller names the exception, because a faulty trajectory and a faulty
recording are different errors.
"""

from __future__ import annotations

import io
import os
import re
import secrets
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.errors import RobotDynamicsError, shown
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.lazy import imported
from robot_dynamics.foundation.numbers import counted, number_from

Failure = type[RobotDynamicsError]

MOST_BYTES = 2**30
"""Largest content of a file, decompressed."""

MOST_YAML = 2**24
"""Largest content of a YAML file."""


def read_yaml(path: str | os.PathLike[str], failure: Failure, contents: str) -> Any:
    """Return the first document of a YAML file, as of `parse_yaml`.

    Raises:
        failure: If the file cannot be read or is not plain YAML.
    """
    text = _text(path, failure, "a text file", MOST_YAML)
    yaml = imported("robot_dynamics.foundation.plain_yaml")  # with PyYAML, which takes a while
    return yaml.parse_yaml(text, f"{path}", failure, contents)


class CsvRow(NamedTuple):
    """A row of a CSV file.

    Attributes:
        name: Name for messages: "line 7", or "point 0".
        cells: Text of each column.
    """

    name: str
    cells: list[str]


class CsvTable(NamedTuple):
    """A CSV file.

    Attributes:
        header: Names of the columns, without spaces around them.
        rows: All other rows that are not empty; each has one cell per column.
        comments: Text behind the # of the lines before the header.
    """

    header: list[str]
    rows: list[CsvRow]
    comments: str = ""


_DECIMAL_COMMA = re.compile(r"\A(\s*[+-]?\d*),(\d*(?:[eE][+-]?\d+)?\s*)\Z")


def read_csv(
    path: str | os.PathLike[str],
    failure: Failure,
    *,
    row_name: str = "",
    drop_cut_row: bool = False,
    header: Sequence[str] | None = None,
) -> CsvTable:
    """Read a CSV file, plain or gzipped (.gz), of cells between commas.

    Lines before the header that begin with # are comments. Without a comma in the first line behind
    them, semicolons, tabs or blanks separate the cells, and numbers
    may have a decimal comma.

    Args:
        path: The file.
        failure: Exception to raise.
        row_name: Name of a row for messages, counted from 0; by default the line of the file.
        drop_cut_row: Drop the last of several rows if it is not complete.
        header: Names of the columns of a file without a header.

    Returns:
        The table; header and rows are empty if the file is.

    Raises:
        failure: If the file cannot be read, or a row has more or fewer cells than the header.
    """
    remedy = "a CSV file" if header else "a CSV file with a header"
    text = _text(path, failure, remedy, MOST_BYTES)
    comments, text = _comments(text)
    first = next((line for line in text.splitlines() if line.strip()), "").strip()
    between = next((mark for mark in ",;\t " if mark in first), ",")
    blanks = between == " "
    lines = (" ".join(line.split()) + "\n" for line in text.splitlines()) if blanks else None
    reader = imported("csv").reader(lines or io.StringIO(text, newline=""), delimiter=between)
    try:
        rows = [(reader.line_num, cells) for cells in reader if cells]
    except imported("csv").Error as error:
        raise failure(
            f"{path}: line {reader.line_num}: cannot be read ({error}); give {remedy}"
        ) from None
    if between != ",":
        rows = [
            (line, [_DECIMAL_COMMA.sub(r"\1.\2", cell) for cell in cells]) for line, cells in rows
        ]
    if header is None:
        header = [cell.strip() for cell in rows.pop(0)[1]] if rows else []
    if drop_cut_row and len(rows) > 1 and len(rows[-1][1]) != len(header):
        rows.pop()
    table = CsvTable(
        list(header),
        [
            CsvRow(f"{row_name} {k}" if row_name else f"line {line}", cells)
            for k, (line, cells) in enumerate(rows)
        ],
        comments,
    )
    for row in table.rows:
        if len(row.cells) != len(header):
            raise failure(
                f"{path}: {row.name}: {counted(len(row.cells), 'entry')} for "
                f"{counted(len(header), 'column')}; give one per column"
            )
    return table


def _comments(text: str) -> tuple[str, str]:
    """Split the comments at the top of a CSV file from the rest, which keeps its lines."""
    lines = text.splitlines(keepends=True)
    count = next((k for k, line in enumerate(lines) if not line.startswith("#")), len(lines))
    comments = "".join(line[1:].removeprefix(" ") for line in lines[:count])
    return comments, "\n" * count + "".join(lines[count:])


def number(where: str, value: Any, failure: Failure) -> float:
    """Return the number in a cell of CSV or an entry of YAML.

    Text is converted too, because YAML 1.1 reads 1e-3 as text.

    Args:
        where: Name of the entry, for the message: "point 0: positions".
        value: Text or number.
        failure: Exception to raise.

    Raises:
        failure: If it is not a number.
    """
    try:
        return number_from(value) if isinstance(value, str) else float(value)
    except (TypeError, ValueError, OverflowError):
        raise failure(f"{where} holds {shown(value)}; give a number") from None


def read_arrays(path: str | os.PathLike[str], failure: Failure) -> dict[str, Array]:
    """Return the arrays of an NPZ file by name, of numbers or text.

    Raises:
        failure: If the file cannot be read.
    """
    try:
        with imported("zipfile").ZipFile(path) as file:
            size = sum(item.file_size for item in file.infolist())
        if size > MOST_BYTES:
            raise ValueError(f"more than {MOST_BYTES >> 20} MiB")
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: np.asarray(file[name]) for name in file.files}
        if any(values.dtype.kind not in "fiubU" for values in arrays.values()):
            raise ValueError("not of numbers")
    except Exception as error:  # of zipfile, zlib, NumPy, memory: each has errors of its own
        raise failure(f"{path}: cannot be read ({_reason(error)}); give an NPZ of arrays") from None
    return arrays


def write_whole(path: str | os.PathLike[str], content: bytes | str) -> None:
    """Write a file in whole or not at all: beside its place, then renamed into it.

    A file that is there keeps its permissions, and a link its target.

    Raises:
        OSError: If the disk is full or the place cannot be written; it names the file, and what
            was there stays.
    """
    data = content.encode() if isinstance(content, str) else content
    place = Path(os.path.realpath(path))
    beside = place.with_name(f".{place.name[:100]}.{secrets.token_hex(4)}")
    try:
        mode = Path(path).stat().st_mode if Path(path).exists() else None
        if mode is not None and not stat.S_ISREG(mode):  # a terminal, a pipe
            Path(path).write_bytes(data)
            return
        if mode is not None and not os.access(place, os.W_OK):
            raise PermissionError(13, "Permission denied")
        try:
            with beside.open("xb") as file:
                if mode is not None:
                    os.fchmod(file.fileno(), stat.S_IMODE(mode))
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(place)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


def _text(path: str | os.PathLike[str], failure: Failure, remedy: str, most: int) -> str:
    """Return the text of a file, plain or gzipped, without a byte-order mark."""
    try:
        opened = imported("gzip").open if Path(path).suffix == ".gz" else open
        with opened(path, "rb") as file:
            data = file.read(most + 1)
        if len(data) > most:
            raise ValueError(f"more than {most >> 20} MiB")
        return str(data, "utf-8-sig")
    except Exception as error:  # of the system, of gzip, of the codec: each has its own
        raise failure(f"{path}: cannot be read ({_reason(error)}); give {remedy}") from None


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "not UTF-8 text"
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(text.split())[:120]
