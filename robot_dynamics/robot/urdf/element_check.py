"""Check of URDF elements against the specification, before they are parsed.

`urdf_parser_py` accepts zero axes and missing limits, and writes to stderr about every
unknown attribute. This module checks each element against the tables below and returns
a copy with only the elements that the robot needs. `tree_check` checks that they form a
tree.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lxml import etree

from robot_dynamics.errors import nearest
from robot_dynamics.robot.joint import JointType
from robot_dynamics.robot.urdf.document import Document, Element

# -- the specification ------------------------------------------------------------------------


@dataclass(frozen=True)
class Attribute:
    """One attribute of an element.

    Args:
        count: How many numbers it holds; 0 for text.
        required: Whether the element needs it.
        read: Whether the robot depends on it; otherwise it is only allowed.
    """

    count: int = 1
    required: bool = False
    read: bool = True


NAME = Attribute(count=0, required=True)
KNOWN = Attribute(count=0, read=False)
NUMBER = Attribute()
NEEDED = Attribute(required=True)
VECTOR = Attribute(count=3)

ATTRIBUTES: Mapping[str, Mapping[str, Attribute]] = {
    "robot": {"name": NAME, "version": KNOWN},
    "link": {"name": NAME, "type": KNOWN},
    "joint": {"name": NAME, "type": NAME},
    "inertial": {},
    "origin": {"xyz": VECTOR, "rpy": VECTOR},
    "mass": {"value": NEEDED},
    "inertia": dict.fromkeys(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), NEEDED),
    "parent": {"link": NAME},
    "child": {"link": NAME},
    "axis": {"xyz": Attribute(count=3, required=True)},
    "limit": {"lower": NUMBER, "upper": NUMBER, "velocity": NEEDED, "effort": NEEDED},
    "dynamics": {"damping": NUMBER, "friction": NUMBER},
    "mimic": {"joint": NAME, "multiplier": NUMBER, "offset": NUMBER},
}
"""Attributes of every element that the robot depends on."""

OF_ALL_JOINTS = {"origin": False, "parent": True, "child": True}
OF_MOVING_JOINTS = {"axis": False, "limit": False, "dynamics": False, "mimic": False}

CHILDREN: Mapping[str, Mapping[str, bool]] = {
    "robot": {"link": True, "joint": False},
    "link": {"inertial": False},
    "inertial": {"origin": False, "mass": True, "inertia": True},
    "joint": OF_ALL_JOINTS | OF_MOVING_JOINTS,
}
"""Child elements that the robot depends on, and whether they are required."""

ELSEWHERE: Mapping[str, frozenset[str]] = {
    "robot": frozenset({"material", "gazebo", "transmission", "ros2_control", "sensor", "mujoco"}),
    "link": frozenset({"visual", "collision", "contact", "self_collision_checking"}),
    # A fixed joint may have leftovers of a moving joint
    "joint": frozenset({"safety_controller", "calibration", *OF_MOVING_JOINTS}),
}
"""Elements for other programs, skipped without a warning."""

LARGEST = 1e15
"""Bound on all numbers but limits, so that no product of them overflows."""

JOINT_TYPES = tuple(member.value for member in JointType)

UNSUPPORTED_TYPES: Mapping[str, str] = {
    "floating": "the base does not move here, so weld it with type='fixed'",
    "planar": "use two prismatic joints and a revolute one, or weld it with type='fixed'",
}

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


# -- elements ---------------------------------------------------------------------------------


def checked_copy(document: Document) -> Element:
    """Check every element by itself, and copy those that the robot depends on.

    Raises:
        UrdfError: At the first fault.
    """
    ignored: dict[str, list[int]] = {}
    copy = _copy_element(document, document.root, ignored)
    _warn_ignored(document, ignored)
    return copy


def _copy_element(document: Document, element: Element, ignored: dict[str, list[int]]) -> Element:
    copy = etree.Element(element.tag)
    _copy_attributes(document, element, copy, ignored)
    children = CHILDREN.get(element.tag, {})
    if element.tag == "joint":
        children = _children_of_joint(document, element)
    for child in element.iterchildren(etree.Element):
        if child.tag in children:
            if element.tag != "robot" and copy.find(child.tag) is not None:
                raise document.error(child, f"<{element.tag}> has two <{child.tag}>; keep one")
            copy.append(_copy_element(document, child, ignored))
        elif child.prefix is None and child.tag not in ELSEWHERE.get(element.tag, ()):
            # A prefix marks the extension of another program, as in <drake:joint>
            ignored.setdefault(f"<{child.tag}> in <{element.tag}>", []).append(child.sourceline)
    for name, required in children.items():
        if required and copy.find(name) is None:
            raise document.error(element, f"<{element.tag}> has no <{name}>; add it")
    if element.tag == "joint":
        _check_joint(document, element)
    return copy


def _copy_attributes(
    document: Document, element: Element, copy: Element, ignored: dict[str, list[int]]
) -> None:
    attributes, tag = ATTRIBUTES[element.tag], element.tag
    for name, value in element.attrib.items():
        if name.startswith("{"):  # an extension of another program
            continue
        if name not in attributes:
            if name == "quat_xyzw":  # URDF 1.1; a rotation cannot be ignored
                raise document.error(
                    element, "quat_xyzw is not supported; give the rotation as rpy"
                )
            ignored.setdefault(f"attribute '{name}' of <{tag}>", []).append(element.sourceline)
            continue
        if attributes[name].count:
            _check_numbers(document, element, name, attributes[name].count)
        elif not value.strip():
            raise document.error(element, f"attribute '{name}' of <{tag}> is empty; fill it in")
        if attributes[name].read:
            copy.set(name, value)
    for name, attribute in attributes.items():
        if attribute.required and name not in element.attrib:
            raise document.error(element, f"<{tag}> has no attribute '{name}'; add it")


def _children_of_joint(document: Document, joint: Element) -> Mapping[str, bool]:
    kind = joint.get("type")
    if kind in UNSUPPORTED_TYPES:
        remedy = UNSUPPORTED_TYPES[kind]
        raise document.error(joint, f"{kind} joints are not supported; {remedy}")
    if kind not in JOINT_TYPES:
        close = nearest(kind, JOINT_TYPES)
        hint = f"did you mean '{close}'?" if close else f"use one of {', '.join(JOINT_TYPES)}"
        raise document.error(joint, f"unknown joint type '{kind}'; {hint}")
    if kind == JointType.FIXED.value:
        return OF_ALL_JOINTS
    return OF_ALL_JOINTS | OF_MOVING_JOINTS


def _check_numbers(document: Document, element: Element, name: str, count: int) -> None:
    words = element.get(name).split()
    what = f'{name}="{element.get(name)}" of <{element.tag}>'
    for word in words:
        if not _NUMBER.fullmatch(word):
            hint = "; use a decimal point" if "," in word else ""
            raise document.error(element, f"{what}: '{word}' is not a finite number{hint}")
        # A limit may be the largest float, meaning "none"; other numbers must not overflow
        bound = sys.float_info.max if element.tag == "limit" else LARGEST
        if abs(float(word)) > bound:
            raise document.error(element, f"{what}: '{word}' is larger than {bound:g}; correct it")
    if len(words) != count:
        need = "one number" if count == 1 else f"{count} numbers"
        raise document.error(element, f"{what}: needs {need}, got {len(words)}")


def _check_joint(document: Document, element: Element) -> None:
    kind = element.get("type")
    if kind == JointType.FIXED.value:
        return
    axis = element.find("axis")
    if axis is not None:
        length = math.hypot(*map(float, axis.get("xyz").split()))
        if length < 1e-9:
            raise document.error(axis, 'axis is zero; give its direction, such as xyz="0 0 1"')
        if abs(length - 1.0) > 1e-3:  # more than the rounding of an exporter
            document.warn(axis, f"axis has length {length:.6g}; only its direction is used")
    limit = element.find("limit")
    if limit is None:
        if kind != JointType.CONTINUOUS.value:
            raise document.error(
                element,
                f"a {kind} joint needs <limit lower upper velocity effort>; add it"
                + (", or use type='continuous'" if kind == JointType.REVOLUTE.value else ""),
            )
    else:
        lower, upper = float(limit.get("lower", 0.0)), float(limit.get("upper", 0.0))
        if lower > upper and kind != JointType.CONTINUOUS.value:
            raise document.error(limit, f"lower limit {lower} is above upper {upper}; swap them")
        _check_not_negative(document, limit, ("velocity", "effort"))
    dynamics = element.find("dynamics")
    if dynamics is not None:
        _check_not_negative(document, dynamics, ("damping", "friction"))


def _check_not_negative(document: Document, element: Element, names: Iterable[str]) -> None:
    for name in names:
        value = float(element.get(name, 0.0))
        if value < 0.0:
            raise document.error(element, f"{name} is negative ({value}); give its magnitude")


def _warn_ignored(document: Document, ignored: Mapping[str, list[int]]) -> None:
    """Log one line for everything that is unknown to URDF, because it may be a typo."""
    if not ignored:
        return
    what = [
        f"{name} (line {lines[0]}{f' and {len(lines) - 1} more' if len(lines) > 1 else ''})"
        for name, lines in ignored.items()
    ]
    document.warn(document.root, f"ignored, unknown to URDF: {', '.join(what)}")
