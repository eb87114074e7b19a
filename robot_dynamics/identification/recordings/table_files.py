"""Recorded motions in tables: CSV with a header, plain or gzipped, and NPZ.

A CSV has one column of time and one for each joint and quantity. Names of columns are
`q.elbow`, `qd.elbow`, `tau.elbow`, or the same with position, velocity, effort, or with the
joint first (`elbow.position`, `elbow/effort`, `elbow_velocity`). An NPZ has the arrays time
(N,), q (N, n), qd, tau and, if the columns are not those of the robot, joint_names.
"""

from __future__ import annotations

import csv
import gzip
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.errors import RecordingError
from robot_dynamics.identification.recordings.channels import Channels

WORDS = {
    "position": ("q", "pos", "position", "positions"),
    "velocity": ("qd", "dq", "vel", "velocity", "velocities"),
    "effort": ("tau", "effort", "efforts", "torque", "torques", "current", "currents"),
}
"""What files call a quantity."""

TIMES = ("time", "t", "stamp", "timestamp", "time_s", "__time")
"""What files call time."""

_SPLIT = re.compile(r"[./\[\]:]+")


def read_csv(path: Path, joints: Sequence[str]) -> Channels:
    """Read a table with a header.

    Raises:
        RecordingError: If it cannot be read, has no times, or has no column of a quantity.
    """
    header, table = _table(path)
    time = [i for i, name in enumerate(header) if name.lower() in TIMES]
    if len(time) != 1:
        raise RecordingError(
            f"{path}: needs one column 'time' in s, has {', '.join(header[:8])}; name it in the "
            "header"
        )
    places: dict[str, dict[str, int]] = {quantity: {} for quantity in WORDS}
    for i, name in enumerate(header):
        found = _meaning(name, joints)
        if found is not None:
            places[found[0]][found[1]] = i
    names = tuple(places["position"])
    if not names:
        raise RecordingError(
            f"{path}: has no column of a position; name them q.<joint>, qd.<joint>, tau.<joint>"
        )
    fields = [_field(table, names, places[quantity]) for quantity in WORDS]
    return Channels(f"{path}", names, table[:, time[0]], *fields)


def _table(path: Path) -> tuple[list[str], Array]:
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8", newline="") as file:
            header = [name.strip() for name in next(csv.reader(file), [])]
            rows = [row for row in csv.reader(file) if row]
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise RecordingError(f"{path}: cannot be read ({error}); give a CSV with header") from None
    if not rows:
        raise RecordingError(f"{path}: holds no rows; record again")
    if len(rows) > 1 and len(rows[-1]) != len(header):  # the recorder was stopped while it wrote
        rows.pop()
    for number, row in enumerate(rows, start=2):
        if len(row) != len(header):
            raise RecordingError(
                f"{path}:{number}: {len(row)} entries under a header of {len(header)}; mend the row"
            )
    try:
        return header, np.array([[_number(x) for x in row] for row in rows])
    except ValueError as error:
        raise RecordingError(f"{path}: {error}; every entry must be a number") from None


def _number(text: str) -> float:
    return float(text) if text.strip() else np.nan


def _meaning(column: str, joints: Sequence[str]) -> tuple[str, str] | None:
    """Quantity and joint of a column."""
    parts = [part for part in _SPLIT.split(column) if part]
    if len(parts) == 1:  # elbow_effort, effort_elbow
        head, _, tail = column.partition("_")
        front, _, last = column.rpartition("_")
        parts = [front, last] if _quantity(last) else [head, tail]
    for quantity_at, joint_at in ((0, 1), (-1, -2)):
        if len(parts) >= 2 and (quantity := _quantity(parts[quantity_at])):
            joint = parts[joint_at]
            if joint.isdigit() and joint not in joints and int(joint) < len(joints):
                return quantity, joints[int(joint)]  # numbered from zero
            return quantity, joint
    return None


def _quantity(word: str) -> str | None:
    return next((name for name, words in WORDS.items() if word.lower() in words), None)


def _field(table: Array, names: Sequence[str], places: dict[str, int]) -> Array:
    empty = np.full(len(table), np.nan)
    columns = [table[:, places[name]] if name in places else empty for name in names]
    return np.column_stack(columns)


def read_npz(path: Path, joints: Sequence[str]) -> Channels:
    """Read arrays time, q, qd (may be missing), tau, joint_names (may be missing).

    Raises:
        RecordingError: If it cannot be read, or an array is missing or of another shape.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise RecordingError(f"{path}: cannot be read ({error}); give an NPZ of arrays") from None
    missing = [name for name in ("time", "q", "tau") if name not in arrays]
    if missing:
        raise RecordingError(
            f"{path}: has no array '{missing[0]}' (arrays: {', '.join(arrays) or 'none'}); "
            "store time, q, tau and, if measured, qd"
        )
    names = tuple(str(name) for name in arrays.get("joint_names", joints))
    shape = (len(arrays["time"]), len(names))
    fields = []
    for name in ("q", "qd", "tau"):
        values = np.asarray(arrays.get(name, np.full(shape, np.nan)), dtype=float)
        if values.shape != shape:
            raise RecordingError(
                f"{path}: array '{name}' has shape {values.shape}, not {shape}: times by joints"
            )
        fields.append(values)
    return Channels(f"{path}", names, np.asarray(arrays["time"], dtype=float), *fields)
