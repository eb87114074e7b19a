"""Check that links and joints of a URDF form one tree and that mimic joints have a leader.

`urdf_parser_py` accepts duplicate names, unknown links and loops.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from robot_dynamics.errors import nearest
from robot_dynamics.robot.joint import JointType
from robot_dynamics.robot.urdf.document import Document, Element


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
