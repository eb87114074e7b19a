"""Files of users: one reader of YAML, one reader of CSV, and one writer of whole files.

Each error names the file, its line or element, and the remedy. The caller names the exception,
because a faulty trajectory and a faulty recording are different errors.
"""

from __future__ import annotations

import csv
import gzip
import os
from pathlib import Path
from typing import IO, Any, NamedTuple

import yaml

from robot_dynamics.errors import RobotDynamicsError

Failure = type[RobotDynamicsError]


def read_yaml(path: str | os.PathLike[str], failure: Failure, contents: str) -> Any:
    """Return the first document of a YAML file, or None if the file is empty.

    Args:
        path: The file. Documents behind the first `---` are ignored.
        failure: Exception to raise.
        contents: Expected contents, for the message: "write `contents`".

    Raises:
        failure: If the file cannot be read or is not YAML.
    """
    try:
        with _opened(path) as file:
            return next(iter(yaml.safe_load_all(file.read())), None)
    except (OSError, UnicodeDecodeError) as error:
        raise failure(f"{path}: cannot be read ({_reason(error)}); give a text file") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f"line {mark.line + 1}: " if mark else ""
        raise failure(f"{path}: {line}not YAML; write {contents}") from None


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
    """

    header: list[str]
    rows: list[CsvRow]


def read_csv(
    path: str | os.PathLike[str],
    failure: Failure,
    *,
    row_name: str = "",
    drop_cut_row: bool = False,
) -> CsvTable:
    """Read a CSV file with a header, plain or gzipped (.gz).

    Args:
        path: The file.
        failure: Exception to raise.
        row_name: Name of a row for messages, counted from 0; by default the line of the file.
        drop_cut_row: Drop the last of several rows if it is not complete.

    Returns:
        The table; header and rows are empty if the file is.

    Raises:
        failure: If the file cannot be read, or a row has more or fewer cells than the header.
    """
    try:
        with _opened(path) as file:
            reader = csv.reader(file)
            rows = [(reader.line_num, cells) for cells in reader if cells]
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
        raise failure(
            f"{path}: cannot be read ({_reason(error)}); give a CSV file with a header"
        ) from None
    header = [cell.strip() for cell in rows.pop(0)[1]] if rows else []
    if drop_cut_row and len(rows) > 1 and len(rows[-1][1]) != len(header):
        rows.pop()
    table = CsvTable(
        header,
        [
            CsvRow(f"{row_name} {k}" if row_name else f"line {line}", cells)
            for k, (line, cells) in enumerate(rows)
        ],
    )
    for row in table.rows:
        if len(row.cells) != len(header):
            raise failure(
                f"{path}: {row.name}: {len(row.cells)} entries for {len(header)} columns; "
                "give one per column"
            )
    return table


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
        return float(value)
    except (TypeError, ValueError):
        raise failure(f"{where} holds {value!r}; give a number") from None


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file in whole or not at all: beside its place, then renamed into it.

    Raises:
        OSError: If the disk is full or the place cannot be written; nothing is left there.
    """
    path = Path(path)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(beside, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        if error.filename is None:
            error.filename = str(path)
        raise


def _opened(path: str | os.PathLike[str]) -> IO[str]:
    if Path(path).suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8", newline="")
    return open(path, encoding="utf-8", newline="")


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "not UTF-8 text"
    return getattr(error, "strerror", None) or str(error)
