"""Export of an identified robot into the URDF of its user; all other bytes stay the same."""

from __future__ import annotations

import codecs
import os
import re

import numpy as np

from robot_dynamics.errors import RobotError, UrdfError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.numbers import number_from, words_of
from robot_dynamics.foundation.user_files import write_whole
from robot_dynamics.identification.export.urdf_text import Element, UrdfText
from robot_dynamics.robot.kinematic_tree import Link
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.urdf.document import (
    ESTIMATES,
    XML_DECLARATION,
    content_of,
    open_document,
)
from robot_dynamics.robot.urdf.reader import read_urdf
from robot_dynamics.spatial import rotation_from_rpy

ENTRIES = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}

_MARK = re.compile(rb"<!-- " + re.escape(ESTIMATES).encode() + rb".*?-->\n?", re.DOTALL)

ROUND_OFF = 1e-9
"""Largest relative error of a number after it was exported and read."""


def with_identified(source: str | os.PathLike[str], robot: Robot) -> bytes:
    """Return the text of a URDF with the inertias and joint friction of a robot.

    Args:
        source: Path or text of the URDF that the robot was read from.
        robot: The same robot with other inertias and friction.

    Returns:
        Content of the new file. Unchanged numbers keep their text.

    Raises:
        UrdfError: If the source is no URDF, or the changed text does not give the robot.
        RobotError: If a link or joint of the robot is not in it.
    """
    before = read_urdf(source, require_inertia=False)
    text = UrdfText(_bytes(source))
    links, joints = dict(text.named("link")), dict(text.named("joint"))
    old = {link.name: link for link in before.links}
    for link in robot.links:
        if link.name not in old:
            raise RobotError(f"link '{link.name}' is not in the URDF to write to; give its own")
        if link.inertia != old[link.name].inertia:
            _write_body(text, links[link.name], link)
    for joint in robot.moving_joints:
        was = before.joint(joint.name)
        if (joint.damping, joint.friction) != (was.damping, was.friction):
            _write_friction(text, joints[joint.name], joint.damping, joint.friction)
    data = _MARK.sub(b"", text.changed())
    _check(data, robot)
    return data


def write_urdf(source: str | os.PathLike[str], robot: Robot, path: str | os.PathLike[str]) -> None:
    """Export `with_identified` to a file, whole or not at all.

    Args:
        source: Path or text of the URDF that the robot was read from.
        robot: The same robot with other inertias and friction.
        path: The file to write.

    Raises:
        UrdfError: If the source is no URDF, or the changed text does not give the robot.
        RobotError: If a link or joint of the robot is not in it.
    """
    write_whole(path, with_identified(source, robot))


def _bytes(source: str | os.PathLike[str]) -> bytes:
    """Return a URDF in UTF-8; `open_document` raises an error with file and line."""
    encoding = open_document(source).root.getroottree().docinfo.encoding or "utf-8"
    name, data = content_of(source)
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    if encoding.lower() == "utf-8":
        return data
    try:
        text = data.decode(encoding)
    except (LookupError, UnicodeDecodeError):
        raise UrdfError(f"{name}: has the encoding {encoding}; convert it to UTF-8") from None
    return XML_DECLARATION.sub(r"\1", text).encode()


def _write_body(text: UrdfText, element: Element, link: Link) -> None:
    inertial = element.child("inertial")
    mass, com, I_C = float(link.inertia.mass), link.inertia.com, link.inertia.about_com
    if inertial is None:
        entries = " ".join(f'{name}="{_number(I_C[at])}"' for name, at in ENTRIES.items())
        text.add(
            element,
            f'<inertial><origin xyz="{_numbers(com)}"/><mass value="{_number(mass)}"/>'
            f"<inertia {entries}/></inertial>",
        )
        return
    origin = inertial.child("origin")
    if origin is None:
        text.add(inertial, f'<origin xyz="{_numbers(com)}"/>')
    else:
        text.set(origin, "xyz", _numbers(com))
        rpy = text.get(origin, "rpy")
        R = rotation_from_rpy(np.array([number_from(x) for x in words_of(rpy or "0 0 0")]))
        I_C = R.T @ I_C @ R
    for tag in ("mass", "inertia"):
        if inertial.child(tag) is None:
            raise UrdfError(f"link '{link.name}': <inertial> has no <{tag}> to write to; add one")
    text.set(inertial.child("mass"), "value", _number(mass))  # type: ignore[arg-type]
    for name, at in ENTRIES.items():
        text.set(inertial.child("inertia"), name, _number(I_C[at]))  # type: ignore[arg-type]


def _write_friction(text: UrdfText, element: Element, damping: float, friction: float) -> None:
    dynamics = element.child("dynamics")
    if dynamics is None:
        values = f'damping="{_number(damping)}" friction="{_number(friction)}"'
        text.add(element, f"<dynamics {values}/>")
        return
    text.set(dynamics, "damping", _number(damping))
    text.set(dynamics, "friction", _number(friction))


def _number(value: float) -> str:
    return repr(float(value))


def _numbers(values: Array) -> str:
    return " ".join(_number(value) for value in values)


def _check(data: bytes, robot: Robot) -> None:
    """Refuse a text that does not give the inertias of the robot."""
    again = {
        link.name: link.inertia for link in read_urdf(data.decode(), require_inertia=False).links
    }
    for link in robot.links:
        wanted, got = link.inertia, again[link.name]
        size = max(float(np.abs(wanted.second_moment).max()), 1e-12)
        off = float(np.abs(wanted.second_moment - got.second_moment).max()) / size
        if off > ROUND_OFF or abs(wanted.mass - got.mass) > ROUND_OFF * max(wanted.mass, 1e-12):
            raise UrdfError(f"link '{link.name}' reads otherwise than it was written; mend its tag")
