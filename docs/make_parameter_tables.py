"""Write the parameters of every node, as the code declares them, into docs/nodes.md.

Run it as `python docs/make_parameter_tables.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from robot_dynamics.nodes.bag_recorder import BagRecorderParameters
from robot_dynamics.nodes.controller.controller_parameters import (
    ControllerParameters,
    GainParameters,
    LimitParameters,
)
from robot_dynamics.nodes.feedforward.action import Constraints, JointConstraints
from robot_dynamics.nodes.feedforward.feedforward_parameters import FeedforwardParameters
from robot_dynamics.nodes.monitor_node import MonitorParameters
from robot_dynamics.nodes.ros.node_parameters import markdown
from robot_dynamics.nodes.runtime.drive_parameters import FrictionParameters, RotorParameters
from robot_dynamics.nodes.runtime.online_model import PayloadParameters
from robot_dynamics.nodes.simulator.simulator_parameters import SimulatorParameters
from robot_dynamics.nodes.trajectory_node import TrajectoryParameters
from robot_dynamics.nodes.viewer_node import ViewerParameters

PAGE = Path(__file__).with_name("nodes.md")

DRIVES = (("friction.<joint>", FrictionParameters), ("rotor.<joint>", RotorParameters))
MODEL = (("payload", PayloadParameters), *DRIVES)

NODES: Mapping[str, tuple[tuple[str, type], ...]] = {
    "simulator_node": (("", SimulatorParameters), *DRIVES),
    "feedforward_node": (
        ("", FeedforwardParameters),
        ("constraints", Constraints),
        ("constraints.<joint>", JointConstraints),
        *MODEL,
    ),
    "controller_node": (
        ("", ControllerParameters),
        ("gains.<joint>", GainParameters),
        ("limits.<joint>", LimitParameters),
        *MODEL,
    ),
    "trajectory_node": (("", TrajectoryParameters),),
    "viewer_node": (("", ViewerParameters),),
    "recorder_node": (("", BagRecorderParameters),),
    "monitor_node": (("", MonitorParameters), *MODEL),
}
"""Groups of parameters of every node: prefix and dataclass."""


def table(node: str) -> str:
    """Table of all parameters of a node."""
    groups = [markdown(kind, prefix) for prefix, kind in NODES[node]]
    return groups[0] + "".join("".join(group.splitlines(True)[2:]) for group in groups[1:])


def with_tables(page: str) -> str:
    """The page with the tables as they are now."""
    for node in NODES:
        section = re.compile(rf"(^## {node}\n.*?)^\| parameter .*?(?=\n\n|\Z)", re.M | re.S)
        found = section.search(page)
        if found is None:
            raise SystemExit(f"{PAGE.name}: no section '## {node}' with a table of parameters")
        page = page[: found.end(1)] + table(node).rstrip("\n") + page[found.end() :]
    return page.rstrip("\n") + "\n"


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
