"""Robots as table files, Denavit-Hartenberg or zero reference position, as `table_files` reads."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from robot_dynamics.errors import ArgumentError
from robot_dynamics.robot.denavit_hartenberg import (
    CONVENTIONS,
    Table,
    chain_to,
    denavit_hartenberg,
    with_slides_reversed,
)
from robot_dynamics.robot.kinematic_tree import JointLimits, JointType
from robot_dynamics.robot.robot import STANDARD_GRAVITY, Robot
from robot_dynamics.robot.table_columns import (
    AXES,
    HARTENBERG_DENAVIT,
    INERTIA,
    UNITS,
    ZERO,
    centre,
    number_columns,
    vectors,
)
from robot_dynamics.robot.zero_position import ZeroReference
from robot_dynamics.robot.zero_reference_tables import hand_of
from robot_dynamics.spatial import Inertia, Pose, rpy_from_rotation

PRINTED = (*CONVENTIONS, HARTENBERG_DENAVIT, ZERO)
"""Conventions that a robot is printed in."""

_UNITS = {"length": "m", "angle": "deg", "mass": "kg", "inertia": "kg m^2"}

_Row = dict[str, Any]


def table_text(
    robot: Robot, tip: str | None = None, convention: str = "classic", *, as_csv: bool = False
) -> str:
    """Return the chain from the root of a robot to a tip as the text of a table file.

    Args:
        robot: Any robot of numbers without mimic joints on the way to the tip. Other branches are
            left out; lock their joints first to keep their mass.
        tip: Link or named frame where the chain ends; by default the only tip of the robot.
        convention: One of `PRINTED`.
        as_csv: Whether to print CSV, instead of YAML.

    Raises:
        UnknownNameError: If there is no such frame.
        ArgumentError: If there is no such convention, or no tip is given and there are several.
        RobotError: If no joint moves the tip, or a joint on the path follows another joint.
    """
    if convention not in PRINTED:
        raise ArgumentError(f"no convention '{convention}'; choose one of: {', '.join(PRINTED)}")
    if convention == ZERO:
        settings, rows = _zero_reference(robot, tip)
    elif convention == HARTENBERG_DENAVIT:
        table = denavit_hartenberg(with_slides_reversed(robot), tip, "modified")
        settings, rows = _denavit_hartenberg(table, convention)
    else:
        table = denavit_hartenberg(robot, tip, convention)
        settings, rows = _denavit_hartenberg(table, convention)
    name = robot.tips[0] if tip is None else tip
    if name not in {row["link"] for row in rows}:
        settings["hand" if convention == ZERO else "tool"]["name"] = name
    head: _Row = {"robot": robot.name, "convention": convention, "units": _UNITS}
    if not np.array_equal(robot.gravity, STANDARD_GRAVITY):
        head["gravity"] = [float(g) for g in robot.gravity]
    settings = {name: value for name, value in {**head, **settings}.items() if value}
    return "\n".join([*(_csv if as_csv else _yaml)(settings, rows, convention), ""])


# -- the rows -------------------------------------------------------------------------------------


def _denavit_hartenberg(table: Table, convention: str) -> tuple[_Row, list[_Row]]:
    rows = []
    for row in table.rows:
        along = {"b": -row.d} if convention == HARTENBERG_DENAVIT else {"d": row.d}
        geometry = {"a": row.a, "alpha": row.alpha, **along, "theta": row.theta}
        cells = _cells(row.inertia, convention, row.limits, row.damping, row.friction)
        rows.append(_row(row.name, row.link, row.type, {**geometry, **cells}, convention))
    return {"base": _pose(table.base), "tool": _pose(table.tool)}, rows


def _zero_reference(robot: Robot, tip: str | None) -> tuple[_Row, list[_Row]]:
    tree, tip, path = chain_to(robot, tip)
    zero = ZeroReference.from_robot(tree)
    hand = hand_of(zero, tip)
    ends = [zero.b[k] for k in path[1:]] + [hand.b]
    rows = []
    for k, end in zip(path, ends, strict=True):
        joint, link = zero.robot.joints[k], zero.robot.links[k + 1]
        u = {f"u_{axis}": value for axis, value in zip(AXES, joint.axis, strict=True)}
        b = {f"b_{axis}": value for axis, value in zip(AXES, end, strict=True)}
        cells = _cells(link.inertia, ZERO, joint.limits, joint.damping, joint.friction)
        rows.append(_row(joint.name, link.name, joint.type, {**u, **b, **cells}, ZERO))
    base = {"xyz": zero.b[path[0]]} if np.any(zero.b[path[0]]) else {}
    return {"base": base, "hand": {"axial": hand.u_oa, "transverse": hand.u_ot}}, rows


def _row(
    joint: str | None, link: str | None, kind: JointType, numbers: _Row, convention: str
) -> _Row:
    """Return a row in the printed units, without what is not known."""
    columns = number_columns(convention)
    moved = "angle" if kind.rotates else "length"
    sizes = {"": 1.0, **{quantity: UNITS[quantity][unit] for quantity, unit in _UNITS.items()}}
    printed = {
        name: float(value) / sizes[moved if columns[name] == "motion" else columns[name]]
        for name, value in numbers.items()
        if math.isfinite(value)
    }
    return {"joint": joint, "link": link, "type": kind.value, **printed}


def _cells(
    body: Inertia, convention: str, limits: JointLimits, damping: float, friction: float
) -> _Row:
    com, I_C = body.com, body.about_com
    cells = {"mass": body.mass}
    cells |= {f"{centre(convention)}_{axis}": x for axis, x in zip(AXES, com, strict=True)}
    cells |= {name: I_C["xyz".index(name[1]), "xyz".index(name[2])] for name in INERTIA}
    others = {"damping": damping, "friction": friction}
    return {**cells, **vars(limits), **{name: value for name, value in others.items() if value}}


def _pose(X: Pose) -> _Row:
    """Return a pose in the printed units, without what is zero."""
    rpy = rpy_from_rotation(X.rotation) / UNITS["angle"][_UNITS["angle"]]
    return {name: v for name, v in (("xyz", X.translation), ("rpy", rpy)) if np.any(v)}


# -- the text -------------------------------------------------------------------------------------


def _yaml(settings: _Row, rows: Sequence[_Row], convention: str) -> Iterator[str]:
    yield from (f"{name}: {_flow(value)}" for name, value in settings.items())
    yield "joints:"
    lists = vectors(convention)
    first = {columns[0]: name for name, columns in lists.items()}
    within = {column for columns in lists.values() for column in columns}
    for row in rows:
        lines = []
        for column, value in row.items():
            if column in first:
                entries = [row[other] for other in lists[first[column]]]
                plain = column == INERTIA[0] and not any(entries[3:])
                lines.append(f"{first[column]}: {_flow(entries[:3] if plain else entries)}")
            elif column not in within:
                lines.append(f"{column}: {_flow(value)}")
        yield "- " + "\n  ".join(lines)


def _csv(settings: _Row, rows: Sequence[_Row], convention: str) -> Iterator[str]:
    yield from (f"# {name}: {_flow(value)}" for name, value in settings.items())
    used = {name for row in rows for name in row}
    columns = ["joint", "link", "type", *number_columns(convention)]
    header = [name for name in columns if name in used]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(
        [_flow(row[name]) if isinstance(row.get(name), float) else row.get(name, "")
         for name in header] for row in rows
    )  # fmt: skip
    yield text.getvalue().rstrip("\n")


def _flow(value: Any) -> str:
    """Return a value as YAML on one line, with all digits."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {_flow(entry)}" for name, entry in value.items()) + "}"
    if isinstance(value, (list, np.ndarray)):
        return f"[{', '.join(map(_flow, value))}]"
    if isinstance(value, float):
        value = float(value) + 0.0  # of NumPy; no -0
        return f"{value:.0f}" if value == round(value) and abs(value) < 1e6 else repr(value)
    return json.dumps(value, ensure_ascii=False)
