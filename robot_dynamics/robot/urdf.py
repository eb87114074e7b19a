"""First working version (being replaced)."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from lxml import etree
from urdf_parser_py.urdf import URDF

from robot_dynamics.errors import UrdfError
from robot_dynamics.robot.robot import Inertia, Joint, JointType, Limits, Link, Mimic, Pose, Robot

KEEP = {"link", "joint", "inertial", "origin", "mass", "inertia", "axis", "parent", "child", "limit", "dynamics", "mimic"}


def read_urdf(source: str | os.PathLike[str]) -> Robot:
    text = str(source)
    data = text.encode() if text.lstrip().startswith("<") else Path(text).read_bytes()
    root = etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True))
    for element in list(root.iter()):
        if element is not root and element.tag not in KEEP and element.getparent() is not None:
            element.getparent().remove(element)
        if element.tag == "dynamics":
            for a in set(element.attrib) - {"damping", "friction"}:
                del element.attrib[a]
    urdf = URDF.from_xml_string(etree.tostring(root))
    links = {link.name: Link(link.name, _inertia(link.inertial)) for link in urdf.links}
    joints = [_joint(j) for j in urdf.joints]
    children = {j.child for j in joints}
    roots = [n for n in links if n not in children]
    if len(roots) != 1:
        raise UrdfError(f"roots: {roots}")
    ordered: list[Joint] = []

    def visit(name: str) -> None:
        for j in joints:
            if j.parent == name:
                ordered.append(j)
                visit(j.child)

    visit(roots[0])
    return Robot(urdf.name, tuple([links[roots[0]]] + [links[j.child] for j in ordered]), tuple(ordered))


def _rot(rpy: list[float]) -> np.ndarray:
    (cr, cp, cy), (sr, sp, sy) = np.cos(rpy), np.sin(rpy)
    return np.array([
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    ])


def _pose(o) -> Pose:
    return Pose.identity() if o is None else Pose(_rot(o.rpy or [0, 0, 0]), o.xyz or [0, 0, 0])


def _inertia(inertial) -> Inertia:
    if inertial is None:
        return Inertia.zero()
    I_C = np.zeros((3, 3)) if inertial.inertia is None else np.array(inertial.inertia.to_matrix())
    return Inertia.from_com(inertial.mass, np.zeros(3), I_C).expressed_in(_pose(inertial.origin))


def _joint(j) -> Joint:
    kind = JointType(j.type)
    axis = np.array(j.axis or [1.0, 0, 0])
    lim = Limits()
    if j.limit is not None and kind is not JointType.FIXED:
        lim = Limits(velocity=j.limit.velocity, effort=j.limit.effort)
        if kind is not JointType.CONTINUOUS:
            lim = Limits(j.limit.lower, j.limit.upper, j.limit.velocity, j.limit.effort)
    m = j.mimic
    mimic = None if m is None else Mimic(m.joint, 1.0 if m.multiplier is None else m.multiplier, m.offset or 0.0)
    d = j.dynamics
    return Joint(j.name, kind, j.parent, j.child, _pose(j.origin), axis / np.linalg.norm(axis), lim,
                 (d.damping or 0.0) if d else 0.0, (d.friction or 0.0) if d else 0.0, mimic)
