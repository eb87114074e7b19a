"""Transmissions of a URDF: the relation of actuator and joint positions.

ROS describes gears as <transmission>, in several dialects: the type is an element, an
attribute or a plugin; the reduction belongs to the actuator, the joint or the
transmission. All of them mean x_actuator = M (x_joint - offset), with the types of
ros2_control's `transmission_interface`.
"""

from __future__ import annotations

import logging
import os
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from robot_dynamics.foundation.arrays import Array, Value, frozen
from robot_dynamics.foundation.numbers import number_from
from robot_dynamics.robot.urdf.document import Document, Element, open_document

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Transmission(Value):
    """One transmission: actuator positions are matrix @ (joint positions - offset).

    Actuator velocities are matrix @ joint velocities. By virtual work, joint efforts are
    matrix.T @ actuator efforts.

    Args:
        name: Name in the URDF.
        joints: Names of the driven joints, shape (k,).
        actuators: Names of the actuators, shape (k,).
        matrix: Shape (k, k), reductions included.
        offset: Joint positions at which the actuators are at zero, shape (k,), rad or m.
    """

    name: str
    joints: tuple[str, ...]
    actuators: tuple[str, ...]
    matrix: Array
    offset: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "matrix", frozen(self.matrix))
        object.__setattr__(self, "offset", frozen(self.offset))


def _simple(a: list[float], j: list[float]) -> Array:
    return np.array([[a[0] * j[0]]])


def _four_bar(a: list[float], j: list[float]) -> Array:
    """Return the matrix of a remote drive: the second actuator is on the base."""
    return np.array([[a[0] * j[0], 0.0], [a[1], a[1] * j[1]]])


def _differential(a: list[float], j: list[float]) -> Array:
    return np.array([[a[0] * j[0], a[0] * j[1]], [a[1] * j[0], -a[1] * j[1]]])


TYPES: dict[str, tuple[int, Callable[[list[float], list[float]], Array]]] = {
    "SimpleTransmission": (1, _simple),
    "FourBarLinkageTransmission": (2, _four_bar),
    "DifferentialTransmission": (2, _differential),
}
"""Supported types: number of joints, and the matrix from actuator and joint reductions."""


def read_transmissions(source: str | os.PathLike[str]) -> tuple[Transmission, ...]:
    """Read every <transmission> of a URDF, also those inside <ros2_control>.

    Args:
        source: Path of a URDF file, or its text (which starts with "<").

    Returns:
        Transmissions in document order. Types other than `TYPES` are omitted with a warning.

    Raises:
        UrdfError: If a transmission lacks a name, joint or actuator, or has a reduction that is
            zero or not a number, or if `read_urdf` refuses the document.
    """
    document = open_document(source)
    transmissions, left_out = [], defaultdict(list)
    for element in document.root.iter("transmission"):
        written = element.findtext("type") or element.findtext("plugin") or element.get("type")
        kind = (written or "").strip().split("/")[-1]
        if kind in TYPES:
            transmissions.append(_transmission(document, element, kind))
        else:
            left_out[kind].append(element.get("name", "without a name"))
    for kind, names in left_out.items():
        logger.warning(
            "%s: transmissions of type '%s' are not read (%s are): %s",
            *(document.name, kind, ", ".join(TYPES), ", ".join(names)),
        )
    return tuple(transmissions)


def _transmission(document: Document, element: Element, kind: str) -> Transmission:
    name = element.get("name")
    if not name:
        raise document.error(element, "a transmission has no name; give it one")
    size, matrix = TYPES[kind]
    joints = _by_role(element.findall("joint"))
    actuators = _by_role(element.findall("actuator"))
    for what, elements in (("joint", joints), ("actuator", actuators)):
        if len(elements) != size or not all(e.get("name") for e in elements):
            raise document.error(
                element,
                f"transmission '{name}' of type '{kind}' needs {size} named <{what}>, "
                f"got {len(elements)}",
            )
    common = _reduction(document, name, element)
    return Transmission(
        name,
        tuple(e.get("name") for e in joints),
        tuple(e.get("name") for e in actuators),
        common
        * matrix(
            [_reduction(document, name, e) for e in actuators],
            [_reduction(document, name, e) for e in joints],
        ),
        np.array([_number(document, name, e, "offset", 0.0) for e in joints]),
    )


def _by_role(elements: list[Element]) -> list[Element]:
    """Sort by role (joint1, joint2); keep document order if a role is missing."""
    roles = [e.get("role") or (e.findtext("role") or "").strip() for e in elements]
    if not all(roles):
        return elements
    return [e for _, e in sorted(zip(roles, elements, strict=True), key=lambda pair: pair[0])]


def _reduction(document: Document, name: str, element: Element) -> float:
    tag = "mechanicalReduction" if element.find("mechanicalReduction") is not None else ""
    value = _number(document, name, element, tag or "mechanical_reduction", 1.0)
    if value == 0.0:
        raise document.error(
            element, f"transmission '{name}': a reduction of 0 couples nothing; give its gear ratio"
        )
    return value


def _number(document: Document, name: str, element: Element, tag: str, default: float) -> float:
    text = element.findtext(tag)
    if text is None:
        return default
    try:
        value = number_from(text)
    except ValueError:
        value = float("nan")
    if not np.isfinite(value):
        raise document.error(
            element, f"transmission '{name}': <{tag}> is '{text.strip()}', not a finite number"
        )
    return value
