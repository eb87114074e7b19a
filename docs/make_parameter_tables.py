"""Write the parameters of every node, and the statuses of the controller, into the pages of nodes.

The parameters of the controller of ros2_control are written into its package.

Run it as `python docs/make_parameter_tables.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from robot_dynamics.control.status import TABLE
from robot_dynamics.export.controllers_package import package_folder
from robot_dynamics.export.parameter_library import FILE, parameter_library
from robot_dynamics.nodes.controller.controller_parameters import (
    CollisionParameters,
    ControllerParameters,
    GainParameters,
    LimitParameters,
)
from robot_dynamics.nodes.controller.task_space_control import TaskParameters
from robot_dynamics.nodes.feedforward.action import Constraints, JointConstraints
from robot_dynamics.nodes.feedforward.feedforward_parameters import FeedforwardParameters
from robot_dynamics.nodes.marker_node import MarkerParameters
from robot_dynamics.nodes.monitor_node import MonitorParameters
from robot_dynamics.nodes.recorder_node import RecorderParameters
from robot_dynamics.nodes.ros.node_parameters import Described, describe
from robot_dynamics.nodes.runtime.drive_parameters import (
    BandParameters,
    DriveGainParameters,
    ElasticityParameters,
    FrictionParameters,
    RotorParameters,
)
from robot_dynamics.nodes.runtime.friction_input import FrictionScaleParameters
from robot_dynamics.nodes.runtime.online_model import ObserverParameters, PayloadParameters
from robot_dynamics.nodes.runtime.robot_description import JointLimitParameters
from robot_dynamics.nodes.simulator.simulator_parameters import SimulatorParameters
from robot_dynamics.nodes.trajectory_node import TrajectoryParameters
from robot_dynamics.nodes.viewer_node import ViewerParameters

DOCS = Path(__file__).parent

LOOPS = ("drive.<joint>", DriveGainParameters)
DRIVES = (
    ("friction.<joint>", FrictionParameters),
    ("rotor.<joint>", RotorParameters),
    ("elasticity.<joint>", ElasticityParameters),
)
MODEL = (("payload", PayloadParameters), *DRIVES)
FOLLOWING = (*MODEL, ("friction_scale", FrictionScaleParameters))

NODES: Mapping[str, tuple[tuple[str, type], ...]] = {
    "simulator_node": (("", SimulatorParameters), LOOPS, *DRIVES),
    "feedforward_node": (
        ("", FeedforwardParameters),
        ("constraints", Constraints),
        ("constraints.<joint>", JointConstraints),
        LOOPS,
        *FOLLOWING,
    ),
    "controller_node": (
        ("", ControllerParameters),
        ("collision", CollisionParameters),
        LOOPS,
        ("gains.<joint>", GainParameters),
        ("limits.<joint>", LimitParameters),
        ("bands.<joint>", BandParameters),
        ("task", TaskParameters),
        *FOLLOWING,
    ),
    "trajectory_node": (("", TrajectoryParameters),),
    "viewer_node": (("", ViewerParameters),),
    "marker_node": (("", MarkerParameters),),
    "recorder_node": (("", RecorderParameters),),
    "monitor_node": (
        ("", MonitorParameters),
        ("bands.<joint>", BandParameters),
        ("collision", ObserverParameters),
        *MODEL,
    ),
}
NODES = {
    node: (*groups, ("limits.<joint>", JointLimitParameters)) for node, groups in NODES.items()
}
"""Groups of parameters of every node: prefix and dataclass."""


WITH_MODEL = ("feedforward_node", "controller_node", "monitor_node")
"""Nodes that compute efforts with the model of the robot."""


def rows(node: str) -> list[tuple[str, str, str]]:
    """Return name, default with what is allowed, and meaning of every parameter of a node."""
    return [_row(item) for prefix, kind in NODES[node] for item in describe(kind, prefix)]


def _row(item: Described) -> tuple[str, str, str]:
    """Return a row: the default shows that a parameter is a number, a text, or true or false."""
    value = list(item.default) if isinstance(item.default, tuple) else item.default
    shown = str(value).lower() if isinstance(value, bool) else repr(value)
    default = "of the robot" if shown == "nan" else f"`{shown}`"
    allowed = re.sub(r"a finite number ?|a whole number |true or false|text", "", item.allowed)
    allowed = re.sub(r"from (\S+) to ([^\s;]+)", r"[\1, \2]", allowed)
    allowed = re.sub(r"a list(?: of \d+)?, each ?", "", allowed)
    words = (default, allowed.strip(), "fixed" if item.spec.read_only else "")
    return f"`{item.name}`", ", ".join(filter(None, words)), item.spec.description


def owners() -> dict[tuple[str, str, str], list[str]]:
    """Return the nodes that have each row; rows that most nodes have come first."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for node in NODES:
        for row in rows(node):
            found.setdefault(row, []).append(node)
    return dict(sorted(found.items(), key=lambda item: -len(item[1])))


def table(node: str) -> str:
    """Return the table of the parameters that only this node has."""
    shared = owners()
    own = [row for row in rows(node) if len(shared[row]) == 1]
    return _lines([("parameter", "default, allowed", "meaning"), ("---",) * 3, *own])


def common_table() -> str:
    """Return the table of the parameters that several nodes share."""
    shared = [
        (name, default, _names(nodes), meaning)
        for (name, default, meaning), nodes in owners().items()
        if len(nodes) > 1
    ]
    return _lines([("parameter", "default, allowed", "nodes", "meaning"), ("---",) * 4, *shared])


def _names(nodes: list[str]) -> str:
    """Name nodes briefly; those with a model of the robot together."""
    if len(nodes) == len(NODES):
        return "all"
    others = [node for node in nodes if node not in WITH_MODEL]
    named = [*others, "model"] if set(WITH_MODEL) <= set(nodes) else nodes
    return ", ".join(node.removesuffix("_node") for node in named)


def _lines(cells: list[tuple[str, ...]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in cells)


def statuses() -> str:
    """Return the table of the statuses of the controller."""
    head = ("", "status", "words in the log", "when (the first that holds)", "what the arm does")
    rows = [
        (str(int(row.status)), f"`{row.status.name}`", row.status.words, row.condition, row.motion)
        for row in TABLE
    ]
    return _lines([head, ("---",) * len(head), *rows])


def pages() -> Iterator[tuple[Path, str]]:
    """Yield every page with its tables as the code declares them now."""
    tables = {"nodes.md": {"common": common_table()}}
    tables |= {f"nodes/{node}.md": {"parameters": table(node)} for node in NODES}
    tables["nodes/controller_node.md"]["statuses"] = statuses()
    for name, parts in tables.items():
        text = (DOCS / name).read_text(encoding="utf-8")
        for part, rows_of_part in parts.items():
            text = _with_part(name, text, part, rows_of_part)
        yield DOCS / name, text


def _with_part(name: str, page: str, part: str, text: str) -> str:
    """Replace the part of a page between its mark and the end."""
    first, last = f"<!-- make_parameter_tables.py: {part} -->\n", "<!-- end -->"
    before, found, rest = page.partition(first)
    if not found:
        raise SystemExit(f"{name}: no place '{first.strip()}'")
    return before + first + text + rest[rest.index(last) :]


if __name__ == "__main__":
    (package_folder() / FILE).write_text(parameter_library(), encoding="utf-8")
    for path, page in pages():
        path.write_text(page, encoding="utf-8")
