"""Checks of a URDF before it is parsed: its elements one by one, then the tree they form.

`urdf_parser_py` accepts zero axes, missing limits, duplicate names, unknown links and loops,
and writes to stderr about every unknown attribute. `checked_copy` checks each element against
the tables below and copies those that the robot needs. `check_tree` checks that links and
joints form one tree, and that mimic joints have a leader.
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


# -- the tree ---------------------------------------------------------------------------------


def check_tree(document: Document) -> None:
    """Check that links and joints form one tree, and that no mimic joint follows itself.

    Raises:
        UrdfError: At the first fault.
    """
    links, joints = elements_by_name(document, "link"), elements_by_name(document, "joint")
    _check_links(document, links, joints)
    _check_mimics(document, joints)


def elements_by_name(document: Document, tag: str) -> dict[str, Element]:
    """Return the links or joints of a robot by name.

    Raises:
        UrdfError: If two have the same name.
    """
    elements: dict[str, Element] = {}
    for element in document.root.iterchildren(tag):
        name = element.get("name")
        if name in elements:
            line = elements[name].sourceline
            raise document.error(element, f"line {line} has a {tag} of that name; rename one")
        elements[name] = element
    return elements


def _check_links(
    document: Document, links: Mapping[str, Element], joints: Mapping[str, Element]
) -> None:
    """Check that every link except one root is the child of exactly one joint, without loops."""
    carried_by: dict[str, str] = {}
    parent_of: dict[str, str] = {}
    for name, joint in joints.items():
        for role in ("parent", "child"):
            element = joint.find(role)
            if element.get("link") not in links:
                raise document.error(element, _unknown(f"{role} link", element.get("link"), links))
        parent, child = joint.find("parent").get("link"), joint.find("child").get("link")
        if child == parent:
            raise document.error(joint, f"leads from link '{child}' to itself; correct one end")
        if child in carried_by:
            raise document.error(
                joint,
                f"link '{child}' is already the child of joint '{carried_by[child]}'; "
                "a link has one parent (closed chains are not supported)",
            )
        carried_by[child], parent_of[child] = name, parent
    loop = _find_loop(parent_of)
    if loop:
        names = _first_first([carried_by[link] for link in reversed(loop)], joints)
        raise document.error(
            joints[names[0]],
            f"joints {_quoted(names)} form a loop; a robot is a tree, cut one of them",
        )
    roots = [name for name in links if name not in parent_of]
    if len(roots) > 1:
        raise document.error(
            links[roots[1]],
            f"{len(roots)} links have no parent: {_quoted(roots)}; a robot has one root, so "
            "connect the others with joints",
        )


def _check_mimics(document: Document, joints: Mapping[str, Element]) -> None:
    leader_of: dict[str, str] = {}
    for name, joint in joints.items():
        mimic = joint.find("mimic")
        if mimic is None or joint.get("type") == JointType.FIXED.value:
            continue
        leader = mimic.get("joint")
        if leader not in joints:
            raise document.error(mimic, _unknown("mimicked joint", leader, joints))
        if leader == name:
            raise document.error(mimic, "mimics itself; name the joint that it follows")
        if joints[leader].get("type") == JointType.FIXED.value:
            raise document.error(
                mimic, f"mimics joint '{leader}', which is fixed; make this one fixed too"
            )
        leader_of[name] = leader
    loop = _find_loop(leader_of)
    if loop:
        names = _first_first(loop, joints)
        raise document.error(
            joints[names[0]].find("mimic"),
            f"joints {_quoted(names)} mimic each other in a loop; let one of them lead",
        )


def _find_loop(next_of: Mapping[str, str]) -> list[str]:
    """Return the names of a loop, in order; empty if there is none."""
    done: set[str] = set()
    for start in next_of:
        walk: dict[str, None] = {}
        name: str | None = start
        while name is not None and name not in done:
            if name in walk:
                names = list(walk)
                return names[names.index(name) :]
            walk[name] = None
            name = next_of.get(name)
        done.update(walk)
    return []


def _first_first(loop: list[str], order: Iterable[str]) -> list[str]:
    """Rotate a loop to start at the name that is first in the document."""
    start = next(loop.index(name) for name in order if name in loop)
    return loop[start:] + loop[:start]


def _unknown(kind: str, name: str, known: Iterable[str]) -> str:
    close = nearest(name, known)
    hint = f"did you mean '{close}'?" if close else "define it, or correct the name"
    return f"{kind} '{name}' does not exist; {hint}"


def _quoted(names: Iterable[str]) -> str:
    names, most = list(names), 6
    shown = ", ".join(f"'{name}'" for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
