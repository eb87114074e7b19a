"""Hardware of a URDF: the interfaces that its <ros2_control> elements offer for each joint."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from robot_dynamics.robot.urdf.document import Element, open_document


@dataclass(frozen=True)
class Interfaces:
    """Interfaces of a joint by kind, such as "position" and "effort", in document order."""

    command: tuple[str, ...]
    state: tuple[str, ...]


@dataclass(frozen=True)
class Hardware:
    """One <ros2_control> element.

    Args:
        name: Its name.
        plugin: Hardware component that controller_manager loads; empty if none is given.
        joints: Interfaces by joint.
        parameters: Parameters of the component, as text by name.
    """

    name: str
    plugin: str
    joints: Mapping[str, Interfaces]
    parameters: Mapping[str, str]


def read_hardware(source: str | os.PathLike[str]) -> tuple[Hardware, ...]:
    """Read every <ros2_control> of a URDF.

    Args:
        source: Path of a URDF file, or its text (which starts with "<").

    Returns:
        Hardware in document order; empty if the URDF has none.

    Raises:
        UrdfError: If `read_urdf` cannot open the document.
    """
    return tuple(
        Hardware(
            element.get("name", ""),
            (element.findtext("hardware/plugin") or "").strip(),
            {joint.get("name", ""): _interfaces(joint) for joint in element.findall("joint")},
            {
                item.get("name", ""): (item.text or "").strip()
                for item in element.findall("hardware/param")
            },
        )
        for element in open_document(source).root.findall("ros2_control")
    )


def offered(hardware: Sequence[Hardware]) -> dict[str, Interfaces]:
    """Return the interfaces of all hardware by joint."""
    return {name: interfaces for one in hardware for name, interfaces in one.joints.items()}


def _interfaces(joint: Element) -> Interfaces:
    command, state = (
        tuple(item.get("name", "") for item in joint.findall(f"{kind}_interface"))
        for kind in ("command", "state")
    )
    return Interfaces(command, state)
