"""Configuration of rviz2 for one robot: its fixed frame, and a view and efforts of its size."""

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

POSE_DELAY_S = 0.2
"""Longest time that joint_states wait in rviz2 for the poses of the links, s: four periods of
robot_state_publisher."""

HALF_VIEW = np.radians(22.5)
"""Half of the vertical angle of view of rviz2, rad."""

MARGIN = 1.25
"""Distance of the camera over that at which the origins of all links fit into the view, m/m."""

RING_SCALE, RING_WIDTH = 0.5, 0.01
"""Scale and line width of the rings of efforts per reach, m/m: at its limit a ring has a radius of
0.05 m, which rviz2 adds, and half of the scale."""


def rviz_config(robot: Robot, rate: float = 0.0, *, ghost: bool = True) -> str:
    """Return the shipped configuration of rviz2 for a robot.

    Args:
        robot: The robot.
        rate: Rate of joint_states, Hz; by default up to 1000.
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
        if "Filter size" in (topic := display.get("Topic", {})):
            topic["Filter size"] = max(topic["Filter size"], round(POSE_DELAY_S * rate))
            display["Scale"], display["Width"] = RING_SCALE * space.size, RING_WIDTH * space.size
    return str(yaml.safe_dump(tree))


def mesh_prefixes() -> str:
    """Return AMENT_PREFIX_PATH with the prefix in which the package index installs robots."""
    folders = [Path(entry) / "cmeel.prefix" for entry in sys.path]
    found = [str(folder) for folder in folders if (folder / "share/ament_index").is_dir()]
    return os.pathsep.join(filter(None, [os.environ.get(PREFIXES), *dict.fromkeys(found)]))
