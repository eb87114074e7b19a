"""Drivers of arms: what their public sources say, with file, commit and date of each fact.

A profile is data, in `drivers.json`: a fact is its value, its source, and what its user has to find
out, if anything. `controllers_config` turns it into parameters, `driver_checks` into refusals.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from robot_dynamics.errors import check_known
from robot_dynamics.export.driver_profile import Driver, Fact
from robot_dynamics.robot.urdf.ros2_control import Hardware

ALL = ("position", "velocity", "effort")
"""Command interfaces of a joint."""


def _fact(value: Any, *about: str) -> Fact[Any]:
    return Fact(tuple(value) if isinstance(value, list) else value, *about)


def _driver(name: str, entry: Mapping[str, Any]) -> Driver:
    """Return the profile of an entry of the file."""
    plugins, setup = (tuple(entry.get(key, ())) for key in ("plugins", "setup"))
    found: dict[str, Any] = {"plugins": plugins, "setup": tuple(_fact(*one) for one in setup)}
    for key, value in entry.items():
        if key not in found:
            found[key] = value if key in ("arms", "sources", "bridge") else _fact(*value)
    return Driver(name, **found)


_FILE = Path(__file__).with_name("drivers.json")

DRIVERS: Mapping[str, Driver] = {
    name: _driver(name, entry)
    for name, entry in json.loads(_FILE.read_text(encoding="utf-8")).items()
}
"""The known drivers by name."""


def driver_named(name: str) -> Driver:
    """Return a driver.

    Raises:
        UnknownNameError: If it is not known.
    """
    check_known("driver", name, "robot_dynamics", DRIVERS)
    return DRIVERS[name]


def recognized(hardware: Sequence[Hardware]) -> Driver | None:
    """Return the driver whose hardware component a URDF names, or None."""
    plugins = {one.plugin for one in hardware}
    return next((one for one in DRIVERS.values() if plugins & {*one.plugins}), None)
