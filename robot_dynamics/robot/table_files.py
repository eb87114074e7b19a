"""Robots from table files: Denavit-Hartenberg parameters or a zero reference position, with bodies.

    # convention: classic
    # units: {length: mm, angle: deg}
    joint,type,a,alpha,d,theta,mass,com_x,com_y,com_z,ixx,iyy,izz,lower,upper,velocity,effort
    shoulder,revolute,0,90,400,0,12,0,-40,0,0.1,0.05,0.1,-170,170,150,200

A CSV file has its settings in comments at the top. A YAML file has the same settings as keys, and
a list `joints` of one map per row, in which a vector may be a list. `table_columns` has all names.

Every fault is one error that names file, row, column and remedy.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.errors import ArgumentError, RobotError, UrdfError, nearest, shown
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.plain_yaml import parse_yaml
from robot_dynamics.foundation.user_files import number, read_csv, read_yaml
from robot_dynamics.robot.denavit_hartenberg import TOOL, DHRow, Table, with_slides_reversed
from robot_dynamics.robot.kinematic_tree import JointLimits, JointType
from robot_dynamics.robot.robot import STANDARD_GRAVITY, Robot
from robot_dynamics.robot.table_columns import (
    AXES,
    GEOMETRY,
    HARTENBERG_DENAVIT,
    INERTIA,
    LIMITS,
    SETTINGS,
    TEXTS,
    UNITS,
    ZERO,
    centre,
    number_columns,
    vectors,
)
from robot_dynamics.robot.zero_reference_tables import HAND, zero_reference_from_tables
from robot_dynamics.spatial import Inertia, Pose, rotation_from_rpy
from robot_dynamics.version import SITE

CONTENTS = f"a table of a robot: its convention, and one row per joint ({SITE}/tables.html)"

TYPES = {
    "revolute": JointType.REVOLUTE,
    "R": JointType.REVOLUTE,
    "continuous": JointType.CONTINUOUS,
    "prismatic": JointType.PRISMATIC,
    "P": JointType.PRISMATIC,
}
"""Types of joints, by the words of a table."""

BASE = "base"
"""Name of the root link of a robot of a table."""

LARGEST_ENTRY = 1e15
"""Bound on all numbers, so that no product of them overflows."""

POSITIVE = ("velocity", "effort", "acceleration")
"""Columns whose numbers are positive where they are given."""

POSE_ENTRIES = ("xyz", "rpy")

TOOL_ENTRIES = (*POSE_ENTRIES, "name")

NOT_NEGATIVE = ("mass", "damping", "friction")


def read_table(path: str | os.PathLike[str]) -> Robot:
    """Read a robot from a table file.

    Returns:
        The robot, with the frame of its tool or hand as its tip.

    Raises:
        UrdfError: If the file is not a table of a robot.
    """
    return _robot(_sheet(Path(path)))


def source_of(path: str | os.PathLike[str]) -> str:
    """Return what a table file says of where its numbers come from, or ""."""
    sheet = _sheet(Path(path))
    source = sheet.settings.get("source", "")
    return _name(sheet, "source", source) if source else ""


@dataclass(frozen=True)
class _Row:
    """One joint: its name in messages, and the contents of its columns."""

    name: str
    cells: Mapping[str, Any]


@dataclass(frozen=True)
class _Sheet:
    """Settings and rows of a file."""

    path: Path
    settings: Mapping[str, Any]
    rows: list[_Row]

    def error(self, problem: str) -> UrdfError:
        return UrdfError(" ".join(f"{self.path}: {problem}".split()))


# -- from a file to settings and rows -------------------------------------------------------------


def _sheet(path: Path) -> _Sheet:
    if path.suffix.lower() == ".csv":
        table = read_csv(path, UrdfError)
        settings = parse_yaml(table.comments, f"{path}", UrdfError, CONTENTS) or {}
        rows = [
            _Row(row.name, dict(zip(table.header, row.cells, strict=True))) for row in table.rows
        ]
        double = [name for name in table.header if table.header.count(name) > 1]
        if double:
            raise UrdfError(f"{path}: has two columns '{double[0]}'; keep one")
    else:
        document = read_yaml(path, UrdfError, CONTENTS)
        settings = dict(document) if isinstance(document, dict) else {}
        joints = settings.pop("joints", None)
        if not isinstance(joints, list) or not all(isinstance(row, dict) for row in joints):
            raise UrdfError(f"{path}: has no list `joints` with a map per joint; write {CONTENTS}")
        rows = [_Row(f"row {k}", row) for k, row in enumerate(joints, start=1)]
    if not isinstance(settings, dict):
        raise UrdfError(f"{path}: settings are {shown(settings)}; write one `name: value` a line")
    sheet = _Sheet(path, settings, rows)
    _check_names(sheet, "", settings, SETTINGS, "setting")
    if not rows:
        raise sheet.error("has no row; give one per joint, from the base")
    return sheet


def _check_names(
    sheet: _Sheet, where: str, given: Iterable[Any], known: Iterable[str], kind: str
) -> None:
    known = list(known)
    for name in given:
        if name not in known:
            close = nearest(str(name), known)
            hint = f"did you mean '{close}'?" if close else f"known are {', '.join(known)}"
            raise sheet.error(f"{where}no {kind} is named {shown(name)}; {hint}")


def _flat(sheet: _Sheet, row: _Row, convention: str) -> dict[str, Any]:
    """Return the cells of a row, with each list spread over its columns, without empty ones."""
    cells: dict[str, Any] = {}
    lists = vectors(convention)
    for name, value in row.cells.items():
        if name in lists and not isinstance(value, str):
            entries = value if isinstance(value, list) else [value]
            columns = lists[name]
            if len(entries) not in ({3, 6} if name == "inertia" else {3}):
                need = "3 or 6 numbers" if name == "inertia" else "3 numbers"
                raise sheet.error(f"{row.name}: {name} holds {shown(value)}; give {need}")
            cells.update(zip(columns, entries, strict=False))
        else:
            cells[name] = value
    empty = {name for name, value in cells.items() if value is None or value == ""}
    return {
        name: value.strip() if isinstance(value, str) else value
        for name, value in cells.items()
        if name not in empty and not (isinstance(value, str) and not value.strip())
    }


# -- settings -------------------------------------------------------------------------------------


def _convention(sheet: _Sheet) -> str:
    convention = sheet.settings.get("convention")
    if not isinstance(convention, str) or convention not in GEOMETRY:
        said = "has no convention" if convention is None else f"convention is {shown(convention)}"
        raise sheet.error(f"{said}; write `convention:` with one of {', '.join(GEOMETRY)}")
    return convention


def _units(sheet: _Sheet) -> dict[str, float]:
    given = sheet.settings.get("units") or {}
    if not isinstance(given, dict):
        raise sheet.error(f"units are {shown(given)}; write {{length: mm, angle: deg}}")
    _check_names(sheet, "units: ", given, UNITS, "quantity")
    sizes = {}
    for quantity, known in UNITS.items():
        unit = given.get(quantity, next(iter(known)))
        if not isinstance(unit, str) or unit not in known:
            raise sheet.error(
                f"units: {quantity} is in {shown(unit)}; use one of {', '.join(known)}"
            )
        sizes[quantity] = known[unit]
    return sizes


def _vector(sheet: _Sheet, where: str, value: Any) -> Array:
    if not isinstance(value, list) or len(value) != 3:
        raise sheet.error(f"{where} is {shown(value)}; give 3 numbers")
    return np.array([_number(sheet, where, entry) for entry in value])


def _map(sheet: _Sheet, name: str, known: Iterable[str]) -> Mapping[str, Any]:
    value = sheet.settings.get(name) or {}
    if not isinstance(value, dict):
        raise sheet.error(f"{name} is {shown(value)}; write it as {{{', '.join(known)}}}")
    _check_names(sheet, f"{name}: ", value, known, "entry")
    return value


def _pose(
    sheet: _Sheet, name: str, units: Mapping[str, float], known: Iterable[str] = POSE_ENTRIES
) -> Pose:
    given = _map(sheet, name, known)
    xyz = _vector(sheet, f"{name}: xyz", given.get("xyz", [0, 0, 0]))
    rpy = _vector(sheet, f"{name}: rpy", given.get("rpy", [0, 0, 0]))
    return Pose(rotation_from_rpy(units["angle"] * rpy), units["length"] * xyz)


# -- rows -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Joint:
    """Joint and body of one row, in SI units; geometry by column."""

    geometry: Mapping[str, float]
    body: tuple[float, Array, Array]
    kind: JointType
    name: str
    link: str
    limits: JointLimits
    damping: float
    friction: float

    def vector(self, name: str) -> Array:
        return np.array([self.geometry[f"{name}_{axis}"] for axis in AXES])


def _joints(sheet: _Sheet, convention: str, units: Mapping[str, float]) -> list[_Joint]:
    joints: list[_Joint] = []
    names = {("link", BASE): "the base"}
    for k, row in enumerate(sheet.rows, start=1):
        joint = _joint(sheet, row, convention, units, k)
        for key in (("joint", joint.name), ("link", joint.link)):
            if key in names:
                kind, name = key
                problem = f"{kind} '{name}' is that of {names[key]} too; rename one"
                raise sheet.error(f"{row.name}: {problem}")
            names[key] = row.name
        joints.append(joint)
    return joints


def _joint(sheet: _Sheet, row: _Row, convention: str, units: Mapping[str, float], k: int) -> _Joint:
    columns = number_columns(convention)
    cells = _flat(sheet, row, convention)
    _check_names(sheet, f"{row.name}: ", cells, (*TEXTS, *columns), "column")
    kind = cells.get("type", "revolute")
    if not isinstance(kind, str) or kind not in TYPES:
        raise sheet.error(
            f"{row.name}: type is {shown(kind)}; a joint is revolute, continuous or prismatic"
        )
    missing = [name for name in GEOMETRY[convention] if name not in cells]
    if missing:
        raise sheet.error(
            f"{row.name}: column {missing[0]} is missing or empty, which the {convention} "
            "convention needs; give a number"
        )
    sizes = {"": 1.0, **units, "motion": units["angle" if TYPES[kind].rotates else "length"]}
    values = {
        name: sizes[quantity] * _number(sheet, f"{row.name}: column {name}", cells[name], name)
        for name, quantity in columns.items()
        if name in cells
    }
    if convention == ZERO and not any(values[f"u_{axis}"] for axis in AXES):
        raise sheet.error(f"{row.name}: column u_x, u_y, u_z are zero; give the joint's direction")
    limits = {name: values[name] for name in LIMITS if name in values}
    lower, upper = limits.get("lower", -np.inf), limits.get("upper", np.inf)
    if lower > upper or lower == upper == 0.0:
        problem = f"limits lower {cells['lower']} and upper {cells['upper']} leave no range"
        raise sheet.error(f"{row.name}: {problem}; correct one")
    com = [values.get(f"{centre(convention)}_{axis}", 0.0) for axis in AXES]
    ixx, iyy, izz, ixy, ixz, iyz = (values.get(name, 0.0) for name in INERTIA)
    return _Joint(
        {name: values[name] for name in GEOMETRY[convention]},
        (
            values.get("mass", 0.0),
            np.array(com),
            np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]]),
        ),
        TYPES[kind],
        _name(sheet, f"{row.name}: joint", cells.get("joint", f"joint_{k}")),
        _name(sheet, f"{row.name}: link", cells.get("link", f"link_{k}")),
        JointLimits(**limits),
        values.get("damping", 0.0),
        values.get("friction", 0.0),
    )


def _name(sheet: _Sheet, where: str, value: Any) -> str:
    if not isinstance(value, (str, int)) or not str(value).strip() or not str(value).isprintable():
        raise sheet.error(f"{where} is {shown(value)}; give a name")
    return str(value)


def _number(sheet: _Sheet, where: str, value: Any, column: str = "") -> float:
    found = number(f"{sheet.path}: {where}", value, UrdfError)
    if isinstance(value, bool) or not abs(found) <= LARGEST_ENTRY:
        raise sheet.error(f"{where} holds {shown(value)}; give a finite number")
    if column in NOT_NEGATIVE and found < 0.0:
        raise sheet.error(f"{where} holds {shown(value)}; it is not negative")
    if column in POSITIVE and not found > 0.0:
        raise sheet.error(f"{where} holds {shown(value)}; leave it out if there is no limit")
    return found


# -- the robot ------------------------------------------------------------------------------------


def _robot(sheet: _Sheet) -> Robot:
    convention, units = _convention(sheet), _units(sheet)
    joints = _joints(sheet, convention, units)
    gravity = _vector(sheet, "gravity", sheet.settings.get("gravity", list(STANDARD_GRAVITY)))
    name = _name(sheet, "robot", sheet.settings.get("robot", sheet.path.stem))
    try:
        if convention == ZERO:
            return _from_zero_reference(sheet, joints, gravity, name, units)
        return _from_denavit_hartenberg(sheet, joints, gravity, name, units)
    except (RobotError, ArgumentError) as error:
        raise sheet.error(str(error)) from None


def _from_denavit_hartenberg(
    sheet: _Sheet,
    joints: list[_Joint],
    gravity: Array,
    name: str,
    units: Mapping[str, float],
) -> Robot:
    if "hand" in sheet.settings:
        raise sheet.error(f"a hand is of the {ZERO} convention; give a tool: {{xyz, rpy}}")
    reversed_b = sheet.settings["convention"] == HARTENBERG_DENAVIT
    rows = [
        DHRow(
            joint.kind,
            joint.geometry["a"],
            joint.geometry["alpha"],
            -joint.geometry["b"] if reversed_b else joint.geometry["d"],
            joint.geometry["theta"],
            Inertia.from_com(*joint.body),
            joint.name,
            joint.link,
            joint.limits,
            joint.damping,
            joint.friction,
        )
        for joint in joints
    ]
    robot = Table(
        tuple(rows),
        "modified" if reversed_b else str(sheet.settings["convention"]),
        _pose(sheet, "base", units),
        _pose(sheet, "tool", units, TOOL_ENTRIES),
        gravity,
        name,
    ).to_robot()
    if reversed_b:  # b runs against z, and so does a prismatic joint, whose position adds to b
        robot = with_slides_reversed(robot)
    tip = _name(sheet, "tool: name", _map(sheet, "tool", TOOL_ENTRIES).get("name", TOOL))
    return _with_tip(sheet, robot, TOOL, tip)


def _from_zero_reference(
    sheet: _Sheet,
    joints: list[_Joint],
    gravity: Array,
    name: str,
    units: Mapping[str, float],
) -> Robot:
    if "tool" in sheet.settings:
        raise sheet.error("a tool is of other tables; give a hand: {axial, transverse}")
    hand = _map(sheet, "hand", ("axial", "transverse", "name"))
    base = units["length"] * _vector(
        sheet, "base: xyz", _map(sheet, "base", ("xyz",)).get("xyz", [0, 0, 0])
    )
    masses, centres, inertias = zip(*(joint.body for joint in joints), strict=True)
    robot = zero_reference_from_tables(
        [joint.kind for joint in joints],
        [joint.vector("u") for joint in joints],
        centres,
        [joint.vector("b") for joint in joints],
        masses,
        inertias,
        u_oa=_vector(sheet, "hand: axial", hand.get("axial", [0, 0, 1])),
        u_ot=_vector(sheet, "hand: transverse", hand.get("transverse", [1, 0, 0])),
        gravity=gravity,
        name=name,
    ).robot
    names = [BASE, *(joint.link for joint in joints)]
    made = [
        replace(
            old,
            name=joint.name,
            parent=names[k],
            child=joint.link,
            origin=Pose(np.eye(3), base) if k == 0 else old.origin,
            limits=joint.limits,
            damping=joint.damping,
            friction=joint.friction,
        )
        for k, (old, joint) in enumerate(zip(robot.joints, joints, strict=True))
    ]
    links = [replace(link, name=new) for link, new in zip(robot.links, names, strict=True)]
    frames = {HAND: replace(robot.frames[HAND], link=names[-1])}
    robot = replace(robot, links=tuple(links), joints=tuple(made), frames=frames)
    return _with_tip(sheet, robot, HAND, _name(sheet, "hand: name", hand.get("name", HAND)))


def _with_tip(sheet: _Sheet, robot: Robot, old: str, new: str) -> Robot:
    """Return the robot with its only tip under another name."""
    if any(link.name == new for link in robot.links):
        raise sheet.error(f"the tip has the name of link '{new}'; give it another one")
    frames = {new if name == old else name: frame for name, frame in robot.frames.items()}
    return replace(robot, frames=frames, tips=(new,))
