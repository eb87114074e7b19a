"""Reader of URDF files: a URDF becomes a robot.

`urdf_parser_py` parses the document. Because it accepts invalid robots, `checks` checks the
document before it, and `plausibility` checks the robot after it. Every message is one line
with file, line, link or joint, and remedy.

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
from urdf_parser_py.urdf import URDF

from robot_dynamics.robot.joint import Joint, JointLimits, JointType, Mimic
from robot_dynamics.robot.link import Link
from robot_dynamics.robot.plausibility import (
    LONG_M,
    body_faults,
    inertialess_joints,
    massless_links,
)
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.urdf.checks import check_tree, checked_copy, elements_by_name
from robot_dynamics.robot.urdf.document import Document, Element, open_document
from robot_dynamics.spatial.rigid_body import Inertia, Pose
from robot_dynamics.spatial.rotation import rotation_from_rpy


def read_urdf(source: str | os.PathLike[str], *, require_inertia: bool = True) -> Robot:
    """Read a robot from a URDF.

    Args:
        source: Path of a URDF file, or its text (which starts with "<"). No other file is opened,
            in particular no meshes.
        require_inertia: Whether a joint that moves no inertia is an error. Otherwise it is a
            warning: the robot has kinematics and inverse dynamics, but no forward dynamics until
            that joint is locked.

    Returns:
        Robot in its zero reference position. Implausible data are logged as warnings.

    Raises:
        UrdfError: If the source is not a URDF of a tree of revolute, continuous, prismatic and
            fixed joints.
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
    if limit is None:  # only for continuous joints, by `checks`
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
