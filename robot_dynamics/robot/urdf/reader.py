"""Reader of URDF files: a URDF becomes a robot.

`urdf_parser_py` parses the document. Because it accepts invalid robots, `document` checks the
elements and `check_tree` the tree before it, and `plausibility` checks the robot after it.
Every message is one line with file, line, link or joint, and remedy.

Conventions where the format is ambiguous:

- Joints are listed depth first, those of one link in document order.
- A missing axis is (1, 0, 0) and a missing position limit is 0, as in the specification.
- Exporters write effort or velocity limits of 0, and position limits of 0 and 0, for
  "unknown": no limit, with a warning. Position limits of a continuous joint are ignored.
- A right angle printed with eleven decimals or more is exact: see `rotation_from_rpy`.
- A joint that mimics a mimic joint follows the leader of both.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from lxml import etree

from robot_dynamics.errors import nearest
from robot_dynamics.robot.kinematic_tree import Joint, JointLimits, JointType, Link, Mimic
from robot_dynamics.robot.plausibility import (
    LONG_M,
    body_faults,
    inertialess_joints,
    massless_links,
)
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.urdf.document import Document, Element, checked_copy, open_document
from robot_dynamics.robot.urdf.parser import URDF
from robot_dynamics.spatial import Inertia, Pose, rotation_from_rpy


def read_urdf(
    source: str | os.PathLike[str], *, require_inertia: bool = True, free_joints: bool = True
) -> Robot:
    """Read a robot from a URDF.

    Args:
        source: Path of a URDF file, or its text (which starts with "<"). No other file is opened,
            in particular no meshes.
        require_inertia: Whether a joint that moves no inertia is an error. Otherwise it is a
            warning: the robot has kinematics and inverse dynamics, but no forward dynamics until
            that joint is locked.
        free_joints: Whether floating and planar joints are read; otherwise they are an error.

    Returns:
        Robot in its zero reference position. Implausible data are logged as warnings.

    Raises:
        UrdfError: If the source is not a URDF of a tree of joints.
    """
    document = open_document(source)
    copy = checked_copy(document)
    check_tree(document)
    urdf = _parse(document, copy)
    link_elements = elements_by_name(document, "link")
    joint_elements = elements_by_name(document, "joint")
    links = {link.name: _link(document, link_elements[link.name], link) for link in urdf.links}
    joints = {
        joint.name: _joint(document, joint_elements[joint.name], joint) for joint in urdf.joints
    }
    for name, joint in joints.items():
        if joint.type.free and not free_joints:
            problem = f"is {joint.type.value}, but the base does not move here"
            raise document.error(joint_elements[name], f"{problem}; weld it with type='fixed'")
    root, ordered = _depth_first(links, _with_independent_leaders(joints))
    robot = Robot(
        urdf.name, (links[root], *(links[joint.child] for joint in ordered)), tuple(ordered)
    )
    problem = "moves no inertia about its axis, so no effort determines its acceleration"
    remedy = "give its links an <inertial>, or make it fixed"
    still = inertialess_joints(robot)
    if still and require_inertia:  # before the warnings, whose cause the error names
        way_out = "or read it with require_inertia=False: kinematics needs none"
        raise document.error(joint_elements[still[0]], f"{problem}; {remedy}, {way_out}")
    for name in massless_links(robot):
        document.warn(link_elements[name], "moves but has no mass; give it an <inertial>")
    for name in still:
        document.warn(joint_elements[name], f"{problem}; lock it, or {remedy}")
    return robot


def _parse(document: Document, copy: Element) -> Any:
    try:
        return URDF.from_xml_string(etree.tostring(copy))
    except Exception as error:  # any type; the checks above should leave none
        problem = f"urdf_parser_py cannot parse it: {error}"
        raise document.error(document.root, problem) from error


# -- links ------------------------------------------------------------------------------------


def _link(document: Document, element: Element, link: Any) -> Link:
    if link.inertial is None:
        return Link(link.name)
    mass, X = float(link.inertial.mass), _pose(link.inertial.origin)
    I_C = np.array(link.inertial.inertia.to_matrix())
    inertial = element.find("inertial")
    if mass < 0.0:
        raise document.error(inertial, f"mass is negative ({mass} kg); give a positive one")
    for fault in body_faults(mass, X.translation, I_C):
        document.warn(inertial, fault)
    return Link(link.name, Inertia.from_com(mass, np.zeros(3), I_C).expressed_in(X))


def _pose(origin: Any) -> Pose:
    if origin is None:
        return Pose.identity()
    rpy, xyz = origin.rpy or np.zeros(3), origin.xyz or np.zeros(3)
    return Pose(rotation_from_rpy(rpy), np.array(xyz))


# -- joints -----------------------------------------------------------------------------------


def _joint(document: Document, element: Element, joint: Any) -> Joint:
    kind, origin = JointType(joint.type), _pose(joint.origin)
    distance = np.linalg.norm(origin.translation)
    if distance > LONG_M:
        problem = f"lies {distance:.4g} m from its parent link; are the lengths in millimetres?"
        document.warn(element, problem)
    if kind is JointType.FIXED:
        return Joint(joint.name, kind, joint.parent, joint.child, origin)
    axis = np.array(joint.axis or (1.0, 0.0, 0.0))
    dynamics, mimic = joint.dynamics, joint.mimic
    return Joint(
        name=joint.name,
        type=kind,
        parent=joint.parent,
        child=joint.child,
        origin=origin,
        axis=axis / np.linalg.norm(axis),
        limits=_limits(document, element, kind, joint.limit),
        damping=0.0 if dynamics is None else dynamics.damping or 0.0,
        friction=0.0 if dynamics is None else dynamics.friction or 0.0,
        mimic=None if mimic is None else _mimic(mimic),
    )


def _mimic(mimic: Any) -> Mimic:
    multiplier = 1.0 if mimic.multiplier is None else mimic.multiplier
    return Mimic(mimic.joint, multiplier, mimic.offset or 0.0)


def _limits(document: Document, element: Element, kind: JointType, limit: Any) -> JointLimits:
    if limit is None:  # only for continuous joints, by `checked_copy`
        return JointLimits()
    known = {"velocity": limit.velocity, "effort": limit.effort}
    if kind is not JointType.CONTINUOUS:
        known |= {"lower": limit.lower, "upper": limit.upper}
    zero = [name for name in ("velocity", "effort") if known[name] == 0.0]
    if kind is not JointType.CONTINUOUS and limit.lower == limit.upper == 0.0:
        zero += ["lower", "upper"]
    if zero:
        problem = f"limits {', '.join(zero)} of 0 are taken as unknown, so unlimited; give them"
        document.warn(element.find("limit"), problem)
    return JointLimits(**{name: value for name, value in known.items() if name not in zero})


def _with_independent_leaders(joints: Mapping[str, Joint]) -> Iterator[Joint]:
    """Replace the leader of each mimic joint by its independent leader; there are no loops."""
    for joint in joints.values():
        mimic = joint.mimic
        while mimic is not None and (leading := joints[mimic.joint].mimic) is not None:
            mimic = Mimic(
                leading.joint,
                mimic.multiplier * leading.multiplier,
                mimic.multiplier * leading.offset + mimic.offset,
            )
        yield replace(joint, mimic=mimic)


def _depth_first(links: Iterable[str], joints: Iterable[Joint]) -> tuple[str, list[Joint]]:
    """Return the root link, and the joints depth first."""
    joints_on: dict[str, list[Joint]] = {name: [] for name in links}
    root = dict.fromkeys(joints_on)
    for joint in joints:
        joints_on[joint.parent].append(joint)
        del root[joint.child]
    (name,) = root
    ordered: list[Joint] = []
    waiting = joints_on[name][::-1]
    while waiting:
        joint = waiting.pop()
        ordered.append(joint)
        waiting += reversed(joints_on[joint.child])
    return name, ordered


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
                "a link has one parent (of closed chains, parallelograms can be written with mimic "
                "joints: docs/moving-bases.md)",
            )
        carried_by[child], parent_of[child] = name, parent
    loop = _find_loop(parent_of)
    if loop:
        names = _first_first([carried_by[link] for link in reversed(loop)], joints)
        raise document.error(
            joints[names[0]],
            f"joints {_quoted(names)} form a loop; a robot is a tree, cut one of them (a "
            "parallelogram can be written with mimic joints: docs/moving-bases.md)",
        )
    roots = [name for name in links if name not in parent_of]
    if len(roots) > 1:
        raise document.error(
            links[roots[1]],
            f"{len(roots)} links have no parent: {_quoted(roots)}; a robot has one root, so "
            "connect the others with joints",
        )


NEVER_FOLLOW = tuple(kind.value for kind in JointType if kind is JointType.FIXED or kind.free)
"""Joints whose mimic tags are ignored, as in other programs."""


def _check_mimics(document: Document, joints: Mapping[str, Element]) -> None:
    leader_of: dict[str, str] = {}
    for name, joint in joints.items():
        mimic = joint.find("mimic")
        if mimic is None or joint.get("type") in NEVER_FOLLOW:
            continue
        leader = mimic.get("joint")
        if leader not in joints:
            raise document.error(mimic, _unknown("mimicked joint", leader, joints))
        if leader == name:
            raise document.error(mimic, "mimics itself; name the joint that it follows")
        leading = joints[leader].get("type")
        if leading == JointType.FIXED.value:
            raise document.error(
                mimic, f"mimics joint '{leader}', which is fixed; make this one fixed too"
            )
        if JointType(leading).free:
            raise document.error(
                mimic, f"mimics joint '{leader}', which is {leading}; name one with one position"
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
