"""Reader of URDF files: a URDF becomes a robot.

`document` checks the elements and `check_tree` the tree before they are read, and `plausibility`
checks the robot after it.
Every message is one line with file, line, link or joint, and remedy.

Conventions where the format is ambiguous:

- Joints are listed depth first, those of one link in document order.
- A missing axis is (1, 0, 0) and a missing position limit is 0, as in the specification.
- Effort or velocity limits that are absent or 0, and position limits of 0 and 0, are unknown: no
  limit, with a warning. Position limits of a continuous joint are ignored.
- A limit that is the largest float is unknown too, without a warning.
- <gravity xyz> is read, an element of this package; without it gravity is the standard one.
- Soft limits of <safety_controller> narrow the position limits.
- A right angle printed with eleven decimals or more is exact: see `rotation_from_rpy`.
- A joint that mimics a mimic joint follows the leader of both.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from robot_dynamics.errors import nearest
from robot_dynamics.foundation.arrays import Array, frozen
from robot_dynamics.foundation.numbers import number_from, words_of
from robot_dynamics.robot.kinematic_tree import (
    UNLIMITED,
    Joint,
    JointLimits,
    JointType,
    Link,
    Mimic,
)
from robot_dynamics.robot.plausibility import (
    INERTIALESS,
    LONG_M,
    MASSLESS,
    body_faults,
    inertialess_joints,
    massless_links,
)
from robot_dynamics.robot.robot import STANDARD_GRAVITY, Robot
from robot_dynamics.robot.urdf.document import (
    Document,
    Element,
    check_elements,
    child_of,
    open_document,
    quoted,
    warn_of_estimates,
)
from robot_dynamics.spatial import Inertia, Pose, rotation_from_quaternion, rotation_from_rpy
from robot_dynamics.version import SITE

POSITION = ("lower", "upper")
"""Attributes of <limit> that bound the position."""

OPEN_CHAIN = "efforts are those of the open chain"
"""Words of the warning about a loop."""

ESTIMATE = "robot-dynamics info FILE --estimate-inertia -o NEW.urdf estimates them"
"""Remedy for links without inertia."""


def read_urdf(
    source: str | os.PathLike[str], *, require_inertia: bool = True, free_joints: bool = True
) -> Robot:
    """Read a robot from a URDF.

    Args:
        source: Path of a URDF, xacro or table file, or text of a URDF (which starts with "<"). No
            other file is opened, in particular no meshes.
        require_inertia: Whether a joint that moves no inertia is an error. Otherwise it is a
            warning: the robot has kinematics and inverse dynamics, but no forward dynamics until
            that joint is locked.
        free_joints: Whether floating and planar joints are read; otherwise they are an error.

    Returns:
        Robot in its zero reference position. Implausible data are logged as warnings.

    Raises:
        UrdfError: If the source is not a URDF of a tree of joints.

    Examples:
        >>> from robot_dynamics import read_urdf
        >>> from robot_dynamics.robot import find_robot
        >>> robot = read_urdf(find_robot("ur5"))
        >>> robot.dof, robot.tips
        (6, ('ee_link', 'tool0'))
    """
    document = open_document(source)
    check_elements(document)
    check_tree(document)
    link_elements = elements_by_name(document, "link")
    joint_elements = elements_by_name(document, "joint")
    jerky = [element for element in joint_elements.values() if _number(_limit(element), "jerk")]
    document.warn_of(jerky, "has a limit of jerk, which is not used")
    links = {name: _link(document, element) for name, element in link_elements.items()}
    joints = {name: _joint(document, element) for name, element in joint_elements.items()}
    _warn_of_unlimited(document, joint_elements.values())
    for name, joint in joints.items():
        if joint.type.free and not free_joints:
            problem = f"is {joint.type.value}, but the base does not move here"
            raise document.error(joint_elements[name], f"{problem}; weld it with type='fixed'")
    warn_of_loops(document, link_elements)
    warn_of_estimates(document)
    root, ordered = _depth_first(links, _with_independent_leaders(joints))
    moved = (links[joint.child] for joint in ordered)
    gravity = document.root.find("gravity")
    g = frozen(STANDARD_GRAVITY if gravity is None else _vector(gravity, "xyz"))
    robot = Robot(document.root.get("name"), (links[root], *moved), tuple(ordered), g)
    remedy = f"give its links an <inertial> ({ESTIMATE}), or make it fixed"
    still = inertialess_joints(robot)
    if still and require_inertia:  # before the warnings, whose cause the error names
        alternative = "or read it with require_inertia=False: kinematics needs none"
        raise document.error(joint_elements[still[0]], f"{INERTIALESS}; {remedy}, {alternative}")
    massless = [link_elements[name] for name in massless_links(robot)]
    document.warn_of(massless, f"{MASSLESS}; give it an <inertial> ({ESTIMATE})")
    document.warn_of(
        [joint_elements[name] for name in still], f"{INERTIALESS}; lock it, or {remedy}"
    )
    return robot


# -- links ------------------------------------------------------------------------------------


def _link(document: Document, element: Element) -> Link:
    name, inertial = element.get("name"), element.find("inertial")
    if inertial is None:
        return Link(name)
    mass, X = _number(inertial.find("mass"), "value"), _pose(inertial.find("origin"))
    inertia = inertial.find("inertia")
    I_C = np.array([[_number(inertia, "i" + "".join(sorted(a + b))) for b in "xyz"] for a in "xyz"])
    if mass < 0.0:
        raise document.error(inertial, f"mass is negative ({mass} kg); give a positive one")
    for fault in body_faults(mass, X.translation, I_C):
        document.warn(inertial, fault)
    return Link(name, Inertia.from_com(mass, np.zeros(3), I_C).expressed_in(X))


def _pose(origin: Element | None) -> Pose:
    if origin is None:
        return Pose.identity()
    if "quat_xyzw" in origin.attrib:
        quaternion = _vector(origin, "quat_xyzw")
        rotation = rotation_from_quaternion(quaternion / np.linalg.norm(quaternion))
    else:
        rotation = rotation_from_rpy(_vector(origin, "rpy"))
    return Pose(rotation, _vector(origin, "xyz"))


def _vector(element: Element, name: str) -> Array:
    return np.array([number_from(word) for word in words_of(element.get(name, "0 0 0"))])


def _number(element: Element | None, name: str, default: float = 0.0) -> float:
    text = None if element is None else element.get(name)
    return default if text is None else number_from(text)


# -- joints -----------------------------------------------------------------------------------


def _joint(document: Document, element: Element) -> Joint:
    kind, origin = JointType(element.get("type")), _pose(element.find("origin"))
    distance = np.linalg.norm(origin.translation)
    if distance > LONG_M:
        problem = f"lies {distance:.4g} m from its parent link; are the lengths in millimetres?"
        document.warn(element, problem)
    axis = child_of(element, "axis")
    direction = np.array([1.0, 0.0, 0.0]) if axis is None else _vector(axis, "xyz")
    dynamics, mimic = child_of(element, "dynamics"), child_of(element, "mimic")
    return Joint(
        name=element.get("name"),
        type=kind,
        parent=element.find("parent").get("link"),
        child=element.find("child").get("link"),
        origin=origin,
        axis=direction / np.linalg.norm(direction),
        limits=_soft(document, _limits(kind, _limit(element)), kind, element),
        damping=_number(dynamics, "damping"),
        friction=_number(dynamics, "friction"),
        mimic=None if mimic is None else _mimic(mimic),
    )


def _limit(joint: Element) -> Element | None:
    return child_of(joint, "limit")


def _mimic(mimic: Element) -> Mimic:
    return Mimic(mimic.get("joint"), _number(mimic, "multiplier", 1.0), _number(mimic, "offset"))


def _limits(kind: JointType, limit: Element | None) -> JointLimits:
    if limit is None:  # only for joints that need none, by `check_elements`
        return JointLimits()
    known = {name: _number(limit, name) for name in ("velocity", "effort", "lower", "upper")}
    given = [_number(limit, name, np.inf) for name in ("acceleration", "deceleration")]
    known["acceleration"] = min((one for one in given if one), default=np.inf)
    if kind is JointType.CONTINUOUS:
        del known["lower"], known["upper"]
    zero = _unlimited(kind, limit)
    return JointLimits(
        **{
            name: value if abs(value) < UNLIMITED else np.copysign(np.inf, value)
            for name, value in known.items()
            if name not in zero
        }
    )


def _unlimited(kind: JointType, limit: Element | None) -> tuple[str, ...]:
    """Return the limits of a joint that are absent or 0, which is the same in a URDF."""
    if limit is None:
        return ()
    names = ("lower", "upper", "velocity", "effort")
    zero = [name for name in names if _number(limit, name) == 0.0]
    ranged = kind is not JointType.CONTINUOUS and {"lower", "upper"} <= {*zero}
    return tuple(name for name in zero if ranged or name not in POSITION)


def _warn_of_unlimited(document: Document, joints: Iterable[Element]) -> None:
    """Name the joints that lack the same limits in one line."""
    lacking: dict[str, list[Element]] = {}
    for joint in joints:
        kind = JointType(joint.get("type"))
        names = _unlimited(kind, _limit(joint))
        if names and (kind.rotates or kind is JointType.PRISMATIC):
            bounds = dict.fromkeys("position" if name in POSITION else name for name in names)
            lacking.setdefault(" or ".join(bounds), []).append(joint)
    for bounded, elements in lacking.items():
        problem = f"has no limit of {bounded}, so none is enforced; give one"
        document.warn_of(elements, f"{problem} (absent or 0)")


def _soft(
    document: Document, limits: JointLimits, kind: JointType, element: Element
) -> JointLimits:
    """Narrow position limits to the soft limits of a joint, if it has some."""
    safety = child_of(element, "safety_controller")
    names = ("soft_lower_limit", "soft_upper_limit")
    if kind is JointType.CONTINUOUS or not any(_number(safety, name) for name in names):
        return limits
    lower = max(limits.lower, _number(safety, names[0], -np.inf))
    upper = min(limits.upper, _number(safety, names[1], np.inf))
    if lower < upper:
        return replace(limits, lower=lower, upper=upper)
    document.warn(safety, "soft limits leave no range within the position limits; not used")
    return limits


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
                f"joints: {SITE}/moving-bases.html)",
            )
        carried_by[child], parent_of[child] = name, parent
    loop = _find_loop(parent_of)
    if loop:
        names = _first_first([carried_by[link] for link in reversed(loop)], joints)
        raise document.error(
            joints[names[0]],
            f"joints {quoted(names)} form a loop; a robot is a tree, cut one of them (a "
            f"parallelogram can be written with mimic joints: {SITE}/moving-bases.html)",
        )
    roots = [name for name in links if name not in parent_of]
    if len(roots) > 1:
        raise document.error(
            links[roots[1]],
            f"{len(roots)} links have no parent: {quoted(roots)}; a robot has one root, so "
            "connect the others with joints",
        )


def warn_of_loops(document: Document, links: Mapping[str, Element]) -> None:
    """Name the joints of other programs that close a loop, which URDF cannot hold.

    Gazebo's <joint> in <gazebo> names its links in elements; <loop_joint> is Drake's.
    """
    for element in document.root.iter("joint", "{*}loop_joint"):
        ends = (element.findtext(role, "").strip() for role in ("parent", "child"))
        if element.tag != "joint" or all(end in links for end in ends):
            document.warn(element, f"closes a loop, which is not modelled; {OPEN_CHAIN}")


def _check_mimics(document: Document, joints: Mapping[str, Element]) -> None:
    leader_of: dict[str, str] = {}
    for name, joint in joints.items():
        mimic = child_of(joint, "mimic")
        if mimic is None:  # other programs ignore that of a fixed or free joint too
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
            f"joints {quoted(names)} mimic each other in a loop; let one of them lead",
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
