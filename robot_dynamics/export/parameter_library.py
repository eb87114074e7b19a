"""The parameters of the controller of ros2_control, as generate_parameter_library reads them."""

from __future__ import annotations

from typing import Any

from robot_dynamics.control.parameters import OF_ROS2_CONTROL, ROS2_CONTROL, Parameter
from robot_dynamics.foundation.plain_yaml import yaml_text

FILE = "src/model_controller_parameters.yaml"
"""Where the package `robot_dynamics_controllers` has them."""

_HEAD = "# Written from robot_dynamics/control/parameters.py by docs/make_parameter_tables.py\n"


def parameter_library() -> str:
    """Return the file as text: defaults, descriptions and ranges by name."""
    tree: dict[str, Any] = {}
    for one in OF_ROS2_CONTROL.values():
        *groups, name = one.name.split(".")
        place = tree
        for group in [*groups, *(["__map_joints"] if one.per_joint else [])]:
            place = place.setdefault(group, {})
        place[name] = _entry(one)
    return _HEAD + yaml_text({"model_controller": tree})


def _entry(one: Parameter) -> dict[str, Any]:
    default: Any = one.preset
    if default is None:
        default = [] if one.is_list else float("nan")
    entry = {
        "type": one.type,
        "default_value": list(default) if one.is_list else default,
        "description": one.description,
    }
    if ROS2_CONTROL in one.fixed:
        entry["read_only"] = True
    validation: dict[str, Any] = {}
    if one.choices:
        validation["subset_of<>" if one.is_list else "one_of<>"] = [list(one.choices)]
    if one.low is not None:
        validation["element_bounds<>" if one.is_list else "bounds<>"] = [one.low, one.high]
    return {**entry, "validation": validation} if validation else entry
