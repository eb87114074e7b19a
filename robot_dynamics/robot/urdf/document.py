"""A URDF as an XML document: opened safely, its elements checked, errors with file and line.

A robot description may come from an untrusted topic or download. `open_document` fetches
nothing, expands no entities and limits the size before parsing.

`check_elements` checks each element that the robot needs against the tables below.
"""

from __future__ import annotations

import logging
import math
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lxml import etree

from robot_dynamics.errors import UrdfError, nearest
from robot_dynamics.foundation.numbers import counted, number_from, words_of
from robot_dynamics.robot.catalogue import (
    becomes_urdf,
    is_table,
    known_robots,
    split_arguments,
    urdf_text,
)
from robot_dynamics.robot.kinematic_tree import JointType

Element = Any  # lxml's element class is private to it

MAX_BYTES = 16 * 1024 * 1024
"""Largest accepted description: ten times the largest known (meshes are separate files)."""

MOST_NAMES = 6
"""Number of names in a message."""

TEXT_NAME = "<robot_description>"
"""Name in messages of a description given as text."""

_DEFINITIONS = (
    "//*[contains(namespace-uri(), 'xacro')]"
    "[local-name() = 'property' or local-name() = 'macro' or local-name() = 'arg']"
)
"""Elements of xacro that change nothing by themselves."""

_UNEXPANDED = (
    "//*[contains(namespace-uri(), 'xacro') or @*[contains(., '${') or contains(., '$(')]]"
)
_LINE_AND_COLUMN = re.compile(r",? line \d+, column \d+$")
XML_DECLARATION = re.compile(r"\A(\s*)<\?xml[^>]*\?>")
"""The declaration that opens a document, and the space before it."""

_WRONG_DECLARATION = re.compile(
    rb"\A(\s+)<\?xml\b[^>]*\?>|\A<\?xml\b(?!\s+version\s*=\s*[\"']1\.)[^>]*\?>"
)
"""A declaration behind blank lines, or without version 1: no XML, but readers of URDF take it."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Document:
    """The elements of one URDF, and messages that locate them.

    Args:
        name: Path as the caller gave it, or `TEXT_NAME`.
        root: The element <robot>.
    """

    name: str
    root: Element

    def error(self, element: Element, problem: str) -> UrdfError:
        """Build the error for a problem with an element: file, line, link or joint, problem."""
        return UrdfError(self._message(element, problem))

    def warn(self, element: Element, problem: str) -> None:
        """Log a problem that is no error, in the format of an error."""
        logger.warning("%s", self._message(element, problem))

    def warn_of(self, elements: Sequence[Element], problem: str) -> None:
        """Log a problem that several links, or joints, have, in one line."""
        if len(elements) < 2:
            for element in elements:
                self.warn(element, problem)
            return
        names = quoted(element.get("name") for element in elements)
        self.warn(self.root, f"{elements[0].tag}s {names}: each {problem}")

    def _message(self, element: Element, problem: str) -> str:
        # Names may contain line breaks; a message is one line
        text = f"{self.name}:{element.sourceline}: {describe(element)}: {problem}"
        return " ".join(text.split())


ESTIMATES = "robot_dynamics: estimated inertias"
"""Beginning of the comment that marks a URDF with estimates."""


def warn_of_estimates(document: Document) -> None:
    """Warn about inertias that are no more than estimates, as a comment of the file says."""
    for comment in document.root.iterchildren(etree.Comment):
        text = " ".join((comment.text or "").split())
        if text.startswith(ESTIMATES):
            document.warn(document.root, text.partition(": ")[2])


def quoted(names: Iterable[str]) -> str:
    """Return names in quotes, at most `MOST_NAMES` of them."""
    names = list(names)
    shown = ", ".join(f"'{name}'" for name in names[:MOST_NAMES])
    rest = len(names) - MOST_NAMES
    return shown + (f" and {rest} more" if rest > 0 else "")


def describe(element: Element) -> str:
    """Return the link or joint that an element belongs to, such as "link 'forearm'"."""
    while element.getparent() is not None and element.getparent().tag != "robot":
        element = element.getparent()
    tag, name = etree.QName(element).localname, element.get("name")
    if element.prefix:
        tag = f"{element.prefix}:{tag}"
    return f"{tag} '{name}'" if name else tag


def open_document(source: str | os.PathLike[str]) -> Document:
    """Read a URDF from a path or from its XML text; a xacro or table becomes one first.

    Arguments of a xacro file stand behind its path: "ur.urdf.xacro ur_type:=ur5e".

    Raises:
        UrdfError: If xacro is missing or fails, if the source is missing or empty, if it is not an
            XML document with root <robot>, or if it declares a document type.
    """
    name, data = content_of(source)
    parser = _parser()
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        # The log of the error also holds what other documents of this thread logged
        if not all(map(_is_undeclared_prefix, parser.error_log)):
            problem = _LINE_AND_COLUMN.sub("", " ".join(str(error.msg).split()))
            hint = f"; {_run_xacro(name)}" if "xacro" in problem else ""
            raise UrdfError(f"{name}:{error.lineno or 1}: not XML: {problem}{hint}") from None
        root = etree.fromstring(data, _parser(recover=True))
    document = Document(name, root)
    if root.getroottree().docinfo.internalDTD is not None:
        raise UrdfError(f"{name}:1: declares a document type (DTD), which is refused; remove it")
    if None in root.nsmap:  # <robot xmlns="..."> would prefix every tag
        for element in root.iter(etree.Element):
            if element.prefix is None:
                element.tag = etree.QName(element).localname
    if root.tag != "robot":
        raise UrdfError(
            f"{name}:{root.sourceline}: the root element is <{root.tag}>, not <robot>; "
            "give a URDF (convert other formats first)"
        )
    for element in root.xpath(_DEFINITIONS):
        element.getparent().remove(element)
    for element in root.xpath(_UNEXPANDED):
        raise document.error(element, f"xacro is not expanded here; {_run_xacro(name)}")
    return document


def _run_xacro(name: str) -> str:
    if name == TEXT_NAME:
        return "run xacro first: xacro robot.urdf.xacro > robot.urdf"
    return f"rename the file to {Path(name).stem}.urdf.xacro, which is expanded"


def _parser(recover: bool = False) -> Any:
    # A new parser each time: parsers are cheap and must not be shared between threads
    return etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=recover
    )


def _is_undeclared_prefix(problem: Any) -> bool:
    """Return whether other readers of URDF accept what is no XML, as <sensor:camera> of Gazebo."""
    return problem.type_name == "NS_ERR_UNDEFINED_NAMESPACE" and "xacro" not in problem.message


def content_of(source: str | os.PathLike[str]) -> tuple[str, bytes]:
    """Return the name for messages and the content in bytes.

    Raises:
        UrdfError: If the source cannot be read, is empty or too large.
    """
    if not isinstance(source, (str, os.PathLike)):
        raise UrdfError(f"read_urdf takes a path or XML text, got {type(source).__name__}")
    if isinstance(source, str):
        text = source.removeprefix("\ufeff")
        if not text.strip():
            raise UrdfError(f"{TEXT_NAME}: empty; give the path of a URDF, or its XML text")
        if text.lstrip().startswith("<"):
            # A declared encoding refers to a file and does not apply to text
            data = XML_DECLARATION.sub(r"\1", text).encode("utf-8", "surrogatepass")
            return TEXT_NAME, _bounded(TEXT_NAME, data)
        if "\n" in text:
            raise UrdfError(f"{TEXT_NAME}: neither a path nor XML text (which starts with '<')")
    name = os.fspath(source)
    file, arguments = split_arguments(name)
    path = Path(file)
    if path.is_file() and (arguments or becomes_urdf(path)):
        made = XML_DECLARATION.sub(r"\1", urdf_text(name)).encode()
        name = f"{name} as URDF" if is_table(path) else name
        return name, _bounded(name, made)
    try:
        with path.open("rb") as opened:
            data = opened.read(MAX_BYTES + 1)  # the size of a pipe is unknown
    except FileNotFoundError:
        hint = f" (a robot known by name: read_urdf(find_robot('{name}')))"
        known = not path.suffix and name in known_robots()
        raise UrdfError(
            f"{name}: no such file; give the path of a URDF, or its XML text{hint if known else ''}"
        ) from None
    except IsADirectoryError:
        raise UrdfError(f"{name}: is a folder; give the URDF file in it") from None
    except (OSError, ValueError) as error:  # ValueError: a null byte in the path
        reason = getattr(error, "strerror", None) or error
        raise UrdfError(f"{name}: cannot be read: {reason}") from None
    if not data.strip():
        raise UrdfError(f'{name}: empty; a URDF starts with <robot name="...">')
    return name, _bounded(name, _WRONG_DECLARATION.sub(rb"\1", data))


def _bounded(name: str, data: bytes) -> bytes:
    if len(data) > MAX_BYTES:
        raise UrdfError(
            f"{name}: larger than {MAX_BYTES // 2**20} MiB, so not a URDF; meshes belong in files "
            "of their own"
        )
    return data


# -- the specification ------------------------------------------------------------------------


@dataclass(frozen=True)
class Attribute:
    """One attribute of an element.

    Args:
        count: How many numbers it holds; 0 for text.
        required: Whether the element needs it.
    """

    count: int = 1
    required: bool = False


NAME = Attribute(count=0, required=True)
KNOWN = Attribute(count=0)
NUMBER = Attribute()
NEEDED = Attribute(required=True)
VECTOR = Attribute(count=3)
QUATERNION = Attribute(count=4)

LIMITS = ("velocity", "effort", "acceleration", "deceleration", "jerk")
"""Limits that are not negative."""

ATTRIBUTES: Mapping[str, Mapping[str, Attribute]] = {
    "robot": {"name": NAME, "version": KNOWN},
    "gravity": {"xyz": Attribute(count=3, required=True)},  # of this package
    "link": {"name": NAME, "type": KNOWN},
    "joint": {"name": NAME, "type": NAME},
    "inertial": {},
    "origin": {"xyz": VECTOR, "rpy": VECTOR, "quat_xyzw": QUATERNION},
    "mass": {"value": NEEDED},
    "inertia": dict.fromkeys(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), NEEDED),
    "parent": {"link": NAME},
    "child": {"link": NAME},
    "axis": {"xyz": Attribute(count=3, required=True)},
    "limit": dict.fromkeys((*LIMITS, "lower", "upper"), NUMBER),
    "dynamics": {"damping": NUMBER, "friction": NUMBER},
    "mimic": {"joint": NAME, "multiplier": NUMBER, "offset": NUMBER},
    "safety_controller": dict.fromkeys(
        ("k_velocity", "k_position", "soft_lower_limit", "soft_upper_limit"), NUMBER
    ),
}
"""Attributes of every element that the robot depends on; some have no effect."""

OF_ALL_JOINTS = {"origin": False, "parent": True, "child": True}
OF_MOVING_JOINTS = dict.fromkeys(("axis", "limit", "dynamics", "mimic", "safety_controller"), False)

CHILDREN: Mapping[str, Mapping[str, bool]] = {
    "robot": {"link": True, "joint": False, "gravity": False},
    "link": {"inertial": False},
    "inertial": {"origin": False, "mass": True, "inertia": True},
    "joint": OF_ALL_JOINTS | OF_MOVING_JOINTS,
}
"""Child elements that the robot depends on, and whether they are required."""

ELSEWHERE: Mapping[str, frozenset[str]] = {
    "robot": frozenset(
        {"material", "gazebo", "transmission", "ros2_control", "sensor", "mujoco", "loop_joint"}
    ),
    "link": frozenset({"visual", "collision", "contact", "self_collision_checking"}),
    # A fixed joint may have leftovers of a moving joint
    "joint": frozenset({"calibration", *OF_MOVING_JOINTS}),
}
"""Elements for other programs, skipped without a warning."""

LARGEST_NUMBER = 1e15
"""Bound on all numbers but limits, so that no product of them overflows."""

CATALOGUES = frozenset({"example-robot-data", "robot_descriptions"})
"""Folders of robots that users find by name."""

Ignored = dict[tuple[str, str], list[int]]
"""Lines of what is unknown to URDF, by name and place."""

JOINT_TYPES = tuple(member.value for member in JointType)

# -- elements ---------------------------------------------------------------------------------


def children_of(element: Element) -> Mapping[str, bool]:
    """Return the tags of child elements that the robot depends on, and which are required."""
    kind = element.get("type")
    if element.tag != "joint":
        return CHILDREN.get(element.tag, {})
    if kind in (JointType.FIXED.value, JointType.FLOATING.value):
        return OF_ALL_JOINTS
    if kind == JointType.PLANAR.value:
        return OF_ALL_JOINTS | {"axis": False}
    return OF_ALL_JOINTS | OF_MOVING_JOINTS


def child_of(element: Element, tag: str) -> Element | None:
    """Return the child element of that tag if the robot depends on it, else None."""
    return element.find(tag) if tag in children_of(element) else None


def check_elements(document: Document) -> None:
    """Check every element that the robot depends on by itself, and name the unknown ones.

    Raises:
        UrdfError: At the first fault.
    """
    ignored: Ignored = {}
    _check_element(document, document.root, ignored)
    _warn_ignored(document, ignored)


def _check_element(document: Document, element: Element, ignored: Ignored) -> None:
    _check_attributes(document, element, ignored)
    children = children_of(element)
    for child in element.iterchildren(etree.Element):
        if child.tag in children:
            once = element.tag != "robot" or child.tag == "gravity"
            if once and element.find(child.tag) is not child:
                raise document.error(child, f"<{element.tag}> has two <{child.tag}>; keep one")
            _check_element(document, child, ignored)
        elif child.prefix is None and child.tag not in ELSEWHERE.get(element.tag, ()):
            # A prefix marks the extension of another program, as in <drake:joint>
            what = f"<{child.tag}>", f"in <{element.tag}>"
            ignored.setdefault(what, []).append(child.sourceline)
    for name, required in children.items():
        if required and element.find(name) is None:
            raise document.error(element, f"<{element.tag}> has no <{name}>; add it")
    if element.tag == "joint":
        _check_joint(document, element)
    if element.tag == "origin" and "quat_xyzw" in element.attrib:
        _check_quaternion(document, element)


def _check_attributes(document: Document, element: Element, ignored: Ignored) -> None:
    attributes, tag = ATTRIBUTES[element.tag], element.tag
    for name, value in element.attrib.items():
        if name.startswith("{"):  # an extension of another program
            continue
        if name not in attributes:
            what = f"attribute '{name}'", f"of <{tag}>"
            ignored.setdefault(what, []).append(element.sourceline)
        elif attributes[name].count:
            _check_numbers(document, element, name, attributes[name].count)
        elif not value.strip():
            raise document.error(element, f"attribute '{name}' of <{tag}> is empty; fill it in")
    for name, attribute in attributes.items():
        if attribute.required and name not in element.attrib:
            raise document.error(element, f"<{tag}> has no attribute '{name}'; add it")
    kind = element.get("type")
    if tag == "joint" and kind not in JOINT_TYPES:
        close = nearest(kind, JOINT_TYPES)
        hint = f"did you mean '{close}'?" if close else f"use one of {', '.join(JOINT_TYPES)}"
        raise document.error(element, f"unknown joint type '{kind}'; {hint}")


def _check_numbers(document: Document, element: Element, name: str, count: int) -> None:
    words = words_of(element.get(name))
    what = f'{name}="{element.get(name)}" of <{element.tag}>'
    for word in words:
        try:
            value = number_from(word)
        except ValueError as error:
            small = "; write 0" if "too small" in str(error) else ""
            hint = "; use a decimal point" if "," in word else small
            raise document.error(
                element, f"{what}: '{word}' is not a finite number{hint}"
            ) from None
        if word.lower().strip("+-")[0] in "in":
            raise document.error(element, f"{what}: '{word}' is not a finite number")
        # A limit may be the largest float, meaning "none"; other numbers must not overflow
        bound = sys.float_info.max if element.tag == "limit" else LARGEST_NUMBER
        if abs(value) > bound:
            raise document.error(element, f"{what}: '{word}' is larger than {bound:g}; correct it")
    if len(words) != count:
        raise document.error(element, f"{what}: needs {counted(count, 'number')}, got {len(words)}")


def _check_joint(document: Document, element: Element) -> None:
    kind = element.get("type")
    axis, limit, dynamics = (child_of(element, tag) for tag in ("axis", "limit", "dynamics"))
    if axis is not None:
        length = math.hypot(*map(float, axis.get("xyz").split()))
        if length < 1e-9:
            raise document.error(axis, 'axis is zero; give its direction, such as xyz="0 0 1"')
        if abs(length - 1.0) > 1e-3:  # more than the rounding of an exporter
            document.warn(axis, f"axis has length {length:.6g}; only its direction is used")
    if limit is not None:
        lower, upper = float(limit.get("lower", 0.0)), float(limit.get("upper", 0.0))
        if lower > upper and kind != JointType.CONTINUOUS.value:
            raise document.error(limit, f"lower limit {lower} is above upper {upper}; swap them")
        _check_not_negative(document, limit, LIMITS)
    elif kind in (JointType.REVOLUTE.value, JointType.PRISMATIC.value):
        raise document.error(
            element,
            f"a {kind} joint needs <limit lower upper velocity effort>; add it"
            + (", or use type='continuous'" if kind == JointType.REVOLUTE.value else ""),
        )
    if dynamics is not None:
        _check_not_negative(document, dynamics, ("damping", "friction"))


def _check_quaternion(document: Document, origin: Element) -> None:
    if "rpy" in origin.attrib:
        raise document.error(origin, "has both rpy and quat_xyzw; keep one")
    length = math.hypot(*map(number_from, words_of(origin.get("quat_xyzw"))))
    if length < 1e-9:
        raise document.error(origin, 'quat_xyzw is zero; without a rotation it is "0 0 0 1"')
    if abs(length - 1.0) > 1e-3:  # more than the rounding of an exporter
        document.warn(origin, f"quat_xyzw has length {length:.6g}; it is normalized")


def _check_not_negative(document: Document, element: Element, names: Iterable[str]) -> None:
    for name in names:
        value = float(element.get(name, 0.0))
        if value < 0.0:
            raise document.error(element, f"{name} is negative ({value}); give its magnitude")


def _warn_ignored(document: Document, ignored: Ignored) -> None:
    """Log one line for everything that is unknown to URDF, because it may be a typo.

    In a file of a catalogue it is none of the user's.
    """
    if not ignored or not CATALOGUES.isdisjoint(Path(document.name).parts):
        return
    alike: dict[tuple[str, tuple[int, ...]], list[str]] = {}  # attributes of the same elements
    for (name, where), lines in ignored.items():
        alike.setdefault((where, tuple(lines)), []).append(name)
    what = [
        f"{', '.join(names)} {where} (line {lines[0]}"
        f"{f' and {len(lines) - 1} more' if len(lines) > 1 else ''})"
        for (where, lines), names in alike.items()
    ]
    document.warn(document.root, f"ignored, unknown to URDF: {', '.join(what)}")
