"""Trajectories in files: YAML as ROS 2 prints trajectory_msgs/JointTrajectory, and CSV.

`ros2 topic echo joint_trajectory > motion.yaml` gives a file that this reads,
and what this writes can be pasted into `ros2 topic pub`.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from robot_dynamics.errors import TrajectoryError
from robot_dynamics.trajectory.waypoints import FIELDS, Point, Waypoints, read_points

NS_PER_S = 1_000_000_000
"""Nanoseconds of a second."""

CSV_COLUMNS = {"positions": "q", "velocities": "qd", "accelerations": "qdd", "effort": "tau"}
"""Prefix of a column for each field: `q.joint1`."""


def read_trajectory(
    path: str | Path,
    known: Sequence[str] | None = None,
    *,
    allow_partial: bool = True,
    allow_end_velocity: bool = False,
) -> Waypoints:
    """Read waypoints from a .yaml or .csv file.

    Args:
        path: The file; its suffix says which format.
        known: Names of all joints of the robot; by default any names are taken.
        allow_partial: Accept a motion of some of the joints.
        allow_end_velocity: Accept a motion that does not end at rest.

    Raises:
        TrajectoryError: One line that names the file, what is wrong in it, and the remedy.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise TrajectoryError(f"{path}: cannot be read ({reason}); give a text file") from None
    try:
        if path.suffix not in (".yaml", ".yml", ".csv"):
            raise TrajectoryError("unknown kind of file; use .yaml or .csv")
        if not text.strip():
            raise TrajectoryError(
                "the file is empty; write joint_names and points, or a .csv table"
            )
        names, points = _from_csv(text) if path.suffix == ".csv" else _from_yaml(text)
        return read_points(
            names,
            points,
            names if known is None else known,
            allow_partial=allow_partial,
            allow_end_velocity=allow_end_velocity,
        )
    except TrajectoryError as error:
        raise TrajectoryError(f"{path}: {error}") from None


def write_trajectory(path: str | Path, waypoints: Waypoints) -> None:
    """Write waypoints to a .yaml or .csv file; `read_trajectory` reads them back exactly.

    Times are rounded to the nanosecond in YAML, as in a message.

    Raises:
        TrajectoryError: If the suffix is neither.
    """
    path = Path(path)
    if path.suffix == ".csv":
        text = _to_csv(waypoints)
    elif path.suffix in (".yaml", ".yml"):
        text = _to_yaml(waypoints)
    else:
        raise TrajectoryError(f"{path}: unknown kind of file; use .yaml or .csv")
    path.write_text(text, encoding="utf-8")


def points_of(waypoints: Waypoints) -> list[Point]:
    """Waypoints as points, a field that a point does not give left empty: for a message."""
    rows: list[list[Sequence[float]]] = []
    for field in FIELDS:
        values = getattr(waypoints, field)
        empty: Sequence[float] = ()
        rows.append(
            [empty] * len(waypoints.times)
            if values is None
            else [empty if np.isnan(row).all() else row.tolist() for row in values]
        )
    return [
        Point(time, *fields) for time, *fields in zip(waypoints.times.tolist(), *rows, strict=True)
    ]


def _from_yaml(text: str) -> tuple[list[str], list[Point]]:
    try:
        document = next(iter(yaml.safe_load_all(text)), None)  # echo ends each message with ---
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        line = f"line {where.line + 1}: " if where else ""
        raise TrajectoryError(f"{line}not YAML; write joint_names and points") from None
    if not isinstance(document, dict) or "joint_names" not in document:
        raise TrajectoryError("no joint_names; write them as in trajectory_msgs/JointTrajectory")
    names = document["joint_names"]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise TrajectoryError("joint_names is not a list of names")
    entries = document.get("points") or []
    if not isinstance(entries, list):
        raise TrajectoryError("points is not a list")
    return names, [_point(k, entry) for k, entry in enumerate(entries)]


def _point(k: int, entry: Any) -> Point:
    if not isinstance(entry, dict):
        raise TrajectoryError(f"point {k} is not a mapping; give positions and time_from_start")
    time = entry.get("time_from_start")
    if isinstance(time, dict):
        time = _number(k, "time_from_start", time.get("sec", 0)) + (
            _number(k, "time_from_start", time.get("nanosec", 0)) / NS_PER_S
        )
    fields = []
    for field in FIELDS:
        values = entry.get(field) or []
        if not isinstance(values, list):
            raise TrajectoryError(f"point {k}: {field} is not a list")
        fields.append([_number(k, field, value) for value in values])
    return Point(_number(k, "time_from_start", time), *fields)


def _number(k: int, field: str, value: Any) -> float:
    try:
        return float(value)  # YAML 1.1 reads 1e-3 as text
    except (TypeError, ValueError):
        raise TrajectoryError(f"point {k}: {field} holds {value!r}; give a number") from None


def _to_yaml(waypoints: Waypoints) -> str:
    lines = ["joint_names:"] + [f"- {_quoted(name)}" for name in waypoints.joint_names]
    lines.append("points:")
    for point in points_of(waypoints):
        for at, field in enumerate(FIELDS):
            values = ", ".join(repr(float(x)) for x in getattr(point, field))
            lines.append(f"{'  ' if at else '- '}{field}: [{values}]")
        seconds, nanoseconds = divmod(round(point.time * NS_PER_S), NS_PER_S)
        lines.append(f"  time_from_start: {{sec: {seconds}, nanosec: {nanoseconds}}}")
    return "\n".join(lines) + "\n"


def _quoted(name: str) -> str:
    return "'" + name.replace("'", "''") + "'"


def _from_csv(text: str) -> tuple[list[str], list[Point]]:
    rows = [row for row in csv.reader(text.splitlines()) if row]
    if not rows or rows[0][0].strip() != "time":
        raise TrajectoryError("no header; the first row is: time, q.<joint>, ..., qd.<joint>, ...")
    columns: dict[str, dict[str, int]] = {field: {} for field in FIELDS}
    prefixes = {prefix: field for field, prefix in CSV_COLUMNS.items()}
    for at, heading in enumerate(rows[0][1:], start=1):
        prefix, _, name = heading.strip().partition(".")
        if prefix not in prefixes or not name:
            raise TrajectoryError(
                f"column '{heading.strip()}' is unknown; name columns time, q.<joint>, "
                "qd.<joint>, qdd.<joint>, tau.<joint>"
            )
        if name in columns[prefixes[prefix]]:
            raise TrajectoryError(f"column '{heading.strip()}' stands twice; give it once")
        columns[prefixes[prefix]][name] = at
    names = list(columns["positions"])
    for field, own in columns.items():
        if own and set(own) != set(names):
            name = sorted(set(own) ^ set(names))[0]
            raise TrajectoryError(
                f"joint '{name}' has {'no ' if name in names else ''}column "
                f"'{CSV_COLUMNS[field]}.{name}'; give each kind of column for every joint or none"
            )
    points = []
    for k, row in enumerate(rows[1:]):
        if len(row) != len(rows[0]):
            raise TrajectoryError(
                f"point {k}: {len(row)} entries for {len(rows[0])} columns; give one per column"
            )
        fields = []
        for field, own in columns.items():
            cells = [row[own[name]].strip() for name in names] if own else []
            fields.append([_number(k, field, cell) for cell in cells] if any(cells) else [])
        points.append(Point(_number(k, "time", row[0]), *fields))
    return names, points


def _to_csv(waypoints: Waypoints) -> str:
    given = [field for field in FIELDS if getattr(waypoints, field) is not None]
    headings = ["time"] + [
        f"{CSV_COLUMNS[field]}.{name}" for field in given for name in waypoints.joint_names
    ]
    lines = [",".join(headings)]
    absent = [""] * len(waypoints.joint_names)
    for point in points_of(waypoints):
        cells = [repr(float(point.time))]
        for field in given:
            cells += [repr(float(x)) for x in getattr(point, field)] or absent
        lines.append(",".join(cells))
    return "\n".join(lines) + "\n"
