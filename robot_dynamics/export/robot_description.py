"""URDF of an exported package: that of the user, with the interfaces of ros2_control."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from lxml import etree

from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.urdf.document import open_document

MOCK = "mock_components/GenericSystem"
"""Plugin of ros2_control that copies commands to states."""

MARGIN = 0.2
"""Distance of the initial position from the ends of a range, relative to the range."""

STATES = ("position", "velocity", "effort")


def controlled_urdf(text: str, robot: Robot, locked: Mapping[str, float]) -> tuple[str, list[str]]:
    """Add hardware to a URDF that has none.

    Args:
        text: The URDF.
        robot: The robot that is controlled.
        locked: Positions of joints that stand still, rad or m.

    Returns:
        The URDF, and the controlled joints without a command interface `effort` in it.
    """
    root = open_document(text).root
    missing: list[str] = []
    if root.find("ros2_control") is not None:
        ready = {
            joint.get("name")
            for joint in root.iterfind("ros2_control/joint")
            if any(item.get("name") == "effort" for item in joint.iterfind("command_interface"))
        }
        missing = [name for name in robot.joint_names if name not in ready]
    else:
        hardware = _hardware(robot, locked)
        etree.indent(hardware, level=1)
        hardware.tail = "\n"
        root.append(hardware)
    return f"{etree.tostring(root.getroottree(), encoding='unicode')}\n", missing


def initial_positions(robot: Robot) -> Array:
    """Return positions away from the ends of the ranges, zero where possible, shape (n,)."""
    lower, upper = robot.limits.lower, robot.limits.upper
    bounded = np.isfinite(upper - lower)
    margin = MARGIN * np.where(bounded, upper - lower, 0.0)
    found: Array = np.clip(0.0, lower + margin, upper - margin)
    return np.round(found, 4) + 0.0


def _hardware(robot: Robot, locked: Mapping[str, float]) -> Any:
    hardware = etree.Element("ros2_control", name="arm", type="system")
    plugin = etree.SubElement(hardware, "hardware")
    etree.SubElement(plugin, "plugin").text = MOCK
    etree.SubElement(plugin, "param", name="calculate_dynamics").text = "true"
    begin = dict(zip(robot.joint_names, initial_positions(robot), strict=True))
    for name, position in {**begin, **locked}.items():
        joint = etree.SubElement(hardware, "joint", name=name)
        for command in ("position", "effort") if name in begin else ("position",):
            etree.SubElement(joint, "command_interface", name=command)
        for state in STATES:
            item = etree.SubElement(joint, "state_interface", name=state)
            if state == "position":
                etree.SubElement(item, "param", name="initial_value").text = repr(float(position))
    return hardware
