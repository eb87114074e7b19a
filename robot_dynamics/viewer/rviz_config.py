"""Configuration of rviz2 for one robot: its fixed frame, and a view of its size."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import yaml

from robot_dynamics.robot import Robot, share_folder
from robot_dynamics.viewer.marks import reach

PREFIXES = "AMENT_PREFIX_PATH"
"""Folders in which rviz2 looks for the packages of meshes."""

HALF_VIEW = np.radians(22.5)
"""Half of the vertical angle of view of rviz2, rad."""

MARGIN = 1.25
"""Distance of the camera over that at which the origins of all links fit into the view, m/m."""


def rviz_config(robot: Robot, *, ghost: bool = True) -> str:
    """Return the shipped configuration of rviz2 for a robot.

    Args:
        robot: The robot.
        ghost: Whether to show the robot at the reference; laws in task space follow none.
    """
    path = next(share_folder().glob("*/robot_dynamics.rviz"))
    tree = yaml.safe_load(path.read_text(encoding="utf-8"))
    manager, space = tree["Visualization Manager"], reach(robot)
    manager["Global Options"]["Fixed Frame"] = robot.links[0].name
    view = manager["Views"]["Current"]
    view["Focal Point"] = dict(zip("XYZ", space.middle.tolist(), strict=True))
    view["Distance"] = MARGIN * space.radius / float(np.sin(HALF_VIEW))
    for display in manager["Displays"]:
        if display["Name"] == "Reference":
            display["Enabled"] = display["Value"] = ghost
    return str(yaml.safe_dump(tree))


def mesh_prefixes() -> str:
    """Return AMENT_PREFIX_PATH with the prefix in which the package index installs robots."""
    folders = [Path(entry) / "cmeel.prefix" for entry in sys.path]
    found = [str(folder) for folder in folders if (folder / "share/ament_index").is_dir()]
    return os.pathsep.join(filter(None, [os.environ.get(PREFIXES), *dict.fromkeys(found)]))
