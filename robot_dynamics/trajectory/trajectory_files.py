"""Trajectories in files: YAML as ROS 2 prints trajectory_msgs/JointTrajectory, and CSV.

`read_trajectory` reads the output of `ros2 topic echo joint_trajectory > motion.yaml`, and
`ros2 topic pub` takes the output of `write_trajectory`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from robot_dynamics.errors import TrajectoryError, shown
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.units import NS_PER_S
from robot_dynamics.foundation.user_files import CsvTable, number, read_csv, read_yaml, write_whole
from robot_dynamics.robot.kinematic_tree import Mimic
from robot_dynamics.trajectory.waypoints import FIELDS, Point, Waypoints, read_points

CSV_COLUMNS = {"positions": "q", "velocities": "qd", "accelerations": "qdd", "effort": "tau"}
"""Prefix of a column for each field: `q.joint1`."""


def read_trajectory(
    path: str | Path,
    known: Sequence[str] | None = None,
    *,
    followers: Mapping[str, Mimic] | None = None,
    speeds: Array | None = None,
    allow_end_velocity: bool = False,
) -> Waypoints:
    """Read waypoints from a .yaml or .csv file.

    Args:
        path: The file; its suffix selects the format.
        known: Names of all joints of the robot; by default the names in the file.
        followers: Couplings of joints that mimic others, as of `Robot.followers`.
        speeds: Speed limits of `known`, shape (n,), rad/s or m/s.
        allow_end_velocity: Accept a motion that does not end at rest.

    Returns:
        The waypoints.

    Raises:
        TrajectoryError: One line that names the file, its faulty element, and the remedy.
    """
    path = Path(path)
    empty = f"{path}: the file is empty; write joint_names and points, or a .csv table"
    if path.suffix == ".csv":
        table = read_csv(path, TrajectoryError, row_name="point")
        if not table.header:
            raise TrajectoryError(empty)
    elif path.suffix in (".yaml", ".yml"):
        document = read_yaml(path, TrajectoryError, "joint_names and points")
        if document is None:
            raise TrajectoryError(empty)
    else:
        raise TrajectoryError(f"{path}: unknown kind of file; use .yaml or .csv")
    try:
        names, points = _of_table(table) if path.suffix == ".csv" else _of_document(document)
        return read_points(
            names,
            points,
            names if known is None else known,
            followers=followers,
            speeds=speeds,
            allow_end_velocity=allow_end_velocity,
        )
    except TrajectoryError as error:
        raise TrajectoryError(f"{path}: {error}") from None


def write_trajectory(path: str | Path, waypoints: Waypoints) -> None:
    """Write waypoints to a .yaml or .csv file; `read_trajectory` reads them back exactly.

    Times are rounded to the nanosecond in YAML, as in a message.

    Args:
        path: The file; its suffix selects the format.
        waypoints: The motion.

    Raises:
        TrajectoryError: If the suffix is neither.
        OSError: If it cannot be written; what was there stays.
    """
    path = Path(path)
    if path.suffix == ".csv":
        text = _to_csv(waypoints)
    elif path.suffix in (".yaml", ".yml"):
        text = _to_yaml(waypoints)
    else:
        raise TrajectoryError(f"{path}: unknown kind of file; use .yaml or .csv")
    write_whole(path, text)


def points_of(waypoints: Waypoints) -> list[Point]:
    """Return waypoints as the points of a message; a field that a point lacks is empty."""
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


def _of_document(document: Any) -> tuple[list[str], list[Point]]:
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
    return number(f"point {k}: {field}", value, TrajectoryError)


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
    return str(yaml.safe_dump(name, default_style="'", width=10**6)).strip()


def _of_table(table: CsvTable) -> tuple[list[str], list[Point]]:
    if table.header[0] != "time":
        raise TrajectoryError("no header; the first row is: time, q.<joint>, ..., qd.<joint>, ...")
    columns: dict[str, dict[str, int]] = {field: {} for field in FIELDS}
    prefixes = {prefix: field for field, prefix in CSV_COLUMNS.items()}
    for at, heading in enumerate(table.header[1:], start=1):
        prefix, _, name = heading.partition(".")
        if prefix not in prefixes or not name:
            raise TrajectoryError(
                f"column {shown(heading)} is unknown; name columns time, q.<joint>, "
                "qd.<joint>, qdd.<joint>, tau.<joint>"
            )
        if name in columns[prefixes[prefix]]:
            raise TrajectoryError(f"column {shown(heading)} stands twice; give it once")
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
    for k, row in enumerate(table.rows):
        fields = []
        for field, own in columns.items():
            cells = [row.cells[own[name]].strip() for name in names] if own else []
            fields.append([_number(k, field, cell) for cell in cells] if any(cells) else [])
        points.append(Point(_number(k, "time", row.cells[0]), *fields))
    return names, points


def _to_csv(waypoints: Waypoints) -> str:
    given = [field for field in FIELDS if getattr(waypoints, field) is not None]
    headings = ["time"] + [
        f"{CSV_COLUMNS[field]}.{name}" for field in given for name in waypoints.joint_names
    ]
    lines = [",".join(map(_cell, headings))]
    absent = [""] * len(waypoints.joint_names)
    for point in points_of(waypoints):
        cells = [repr(float(point.time))]
        for field in given:
            cells += [repr(float(x)) for x in getattr(point, field)] or absent
        lines.append(",".join(cells))
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Quote a cell of CSV where it needs it."""
    return '"' + text.replace('"', '""') + '"' if re.search('[",\r\n]', text) else text
