"""Writer of URDF files: a robot becomes a URDF that reads back to the same equations of motion.

Every number is printed with all its digits. Links get the shapes of `simple_visuals`, because a
robot holds no meshes.

Choices where the format has no place for what a robot has:

- Gravity that is not the standard one stands in <gravity xyz>, which other programs ignore.
- A missing limit is the largest float. A revolute joint without position limits is continuous.
- A tip that is a named frame becomes a link on a fixed joint. Other named frames are left out.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence

import numpy as np

from robot_dynamics.errors import RobotError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.kinematic_tree import (
    STANDARD_GRAVITY,
    UNLIMITED,
    Joint,
    JointType,
    KinematicTree,
    Link,
)
from robot_dynamics.robot.simple_visuals import simple_visuals
from robot_dynamics.spatial import Pose, rpy_from_rotation


def urdf_of(robot: KinematicTree, *, visuals: bool = True, comment: str = "") -> str:
    """Return a robot as the text of a URDF.

    Args:
        robot: Any robot of numbers.
        visuals: Whether links get simple shapes.
        comment: Text at the beginning of the file, such as where the numbers come from.

    Returns:
        The text, with one element a line.

    Raises:
        RobotError: If it has symbols for numbers, or what a URDF cannot hold: a negative mass, a
            mass centre without mass, or limits of zero.

    Examples:
        >>> from robot_dynamics import read_urdf
        >>> from robot_dynamics.robot import find_robot, urdf_of
        >>> robot = read_urdf(find_robot("planar_2r")).with_payload("endpoint", mass=2.0)
        >>> print(read_urdf(urdf_of(robot)).links[-1].inertia.mass)
        2.0
    """
    try:
        return "\n".join([*_lines(robot, visuals, comment), ""])
    except TypeError:
        raise RobotError(
            f"robot '{robot.name}' has symbols for numbers; a URDF holds numbers alone"
        ) from None


def _lines(robot: KinematicTree, visuals: bool, comment: str) -> Iterator[str]:
    shapes = simple_visuals(robot) if visuals else {}
    yield '<?xml version="1.0"?>'
    if comment:
        yield f"<!-- {' '.join(comment.replace('--', '- -').split())} -->"
    yield f"<robot name={_quoted(robot.name)}>"
    if not np.array_equal(robot.gravity, STANDARD_GRAVITY):
        yield f'  <gravity xyz="{_numbers(robot.gravity)}"/>'
    yield from (f"  {shape}" for shape in shapes.get("", ()))
    for link in robot.links:
        yield from _link(link, shapes.get(link.name, ()))
    for joint in robot.joints:
        yield from _joint(joint)
    for name in robot.tips:
        if name in robot.frames:
            frame = robot.frames[name]
            weld = _free_name(f"{name}_joint", [joint.name for joint in robot.joints])
            yield f"  <link name={_quoted(name)}/>"
            yield from _joint(Joint(weld, JointType.FIXED, frame.link, name, frame.pose))
    yield "</robot>"


_ENTITIES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"} | {c: f"&#{ord(c)};" for c in "\t\n\r"}
)


def _quoted(text: str) -> str:
    """Return the value of an attribute; `xml.sax.saxutils` takes as long to import as a verb."""
    return f'"{text.translate(_ENTITIES)}"'


def _free_name(name: str, taken: Sequence[str]) -> str:
    return _free_name(f"{name}_", taken) if name in taken else name


def _link(link: Link, shapes: Sequence[str]) -> Iterator[str]:
    body, name = link.inertia, _quoted(link.name)
    still = body.mass == 0.0 and not (np.any(body.second_moment) or np.any(body.first_moment))
    if still and not shapes:
        yield f"  <link name={name}/>"
        return
    yield f"  <link name={name}>"
    if not still:
        if body.mass < 0.0 or (body.mass == 0.0 and np.any(body.first_moment)):
            raise RobotError(
                f"link '{link.name}' has a mass of {float(body.mass):.4g} kg, which no URDF holds; "
                "give each link the mass of a body"
            )
        I_C = body.about_com
        entries = " ".join(
            f'i{"xyz"[a]}{"xyz"[b]}="{_number(I_C[a, b])}"' for a in range(3) for b in range(a, 3)
        )
        yield f'    <inertial><origin xyz="{_numbers(body.com)}"/>'
        yield f'      <mass value="{_number(body.mass)}"/>'
        yield f"      <inertia {entries}/></inertial>"
    yield from (f"    {shape}" for shape in shapes)
    yield "  </link>"


def _joint(joint: Joint) -> Iterator[str]:
    kind, limits = joint.type, joint.limits
    bounded = math.isfinite(limits.lower) or math.isfinite(limits.upper)
    if kind is JointType.REVOLUTE and not bounded:
        kind = JointType.CONTINUOUS
    yield f'  <joint name={_quoted(joint.name)} type="{kind.value}">'
    yield f"    <parent link={_quoted(joint.parent)}/><child link={_quoted(joint.child)}/>"
    yield f"    {_origin(joint.origin)}"
    if kind.free or not joint.moves:
        if kind is JointType.PLANAR:
            yield f'    <axis xyz="{_numbers(joint.axis)}"/>'
        yield "  </joint>"
        return
    yield f'    <axis xyz="{_numbers(joint.axis)}"/>'
    ends = {} if kind is JointType.CONTINUOUS else {"lower": limits.lower, "upper": limits.upper}
    rates = {name: getattr(limits, name) for name in ("velocity", "effort", "acceleration")}
    if not all(rates.values()) or (ends and not any(ends.values())):
        raise RobotError(
            f"joint '{joint.name}' has limits of zero, which a URDF takes for no limits; fix the "
            "joint, or give other limits"
        )
    if not math.isfinite(rates["acceleration"]):
        del rates["acceleration"]
    entries = " ".join(f'{name}="{_limit(value)}"' for name, value in {**ends, **rates}.items())
    yield f"    <limit {entries}/>"
    if joint.damping or joint.friction:
        values = _number(joint.damping), _number(joint.friction)
        yield '    <dynamics damping="{}" friction="{}"/>'.format(*values)
    if joint.mimic is not None:
        leader, follows = _quoted(joint.mimic.joint), joint.mimic
        numbers = f'multiplier="{_number(follows.multiplier)}" offset="{_number(follows.offset)}"'
        yield f"    <mimic joint={leader} {numbers}/>"
    yield "  </joint>"


def _origin(X: Pose) -> str:
    rpy = rpy_from_rotation(X.rotation)
    turn = f' rpy="{_numbers(rpy)}"' if np.any(rpy) else ""
    return f'<origin xyz="{_numbers(X.translation)}"{turn}/>'


def _limit(value: float) -> str:
    return _number(max(-UNLIMITED, min(value, UNLIMITED)))


def _number(value: float) -> str:
    """Return all digits of a number; one too small for full precision is zero."""
    value = float(value)
    return repr(value if abs(value) >= sys.float_info.min else 0.0)


def _numbers(values: Array) -> str:
    return " ".join(_number(value) for value in values)
