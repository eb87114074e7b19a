"""model.hpp of an exported package: the robot that it was written for.

The controller compares it with the robot_description that it gets.
"""

from __future__ import annotations

from robot_dynamics.export.literals import number, text, vector
from robot_dynamics.foundation.names import comment
from robot_dynamics.robot.kinematic_tree import Joint
from robot_dynamics.robot.robot import Robot
from robot_dynamics.spatial import UPPER


def model_hpp(package: str, robot: Robot, endpoint: str | None, command: str) -> str:
    """Write links and joints of a URDF as far as they matter for the efforts.

    Frames without mass at the tips are left out, and masses that no joint moves.

    Args:
        package: Name of the package.
        robot: The robot of the URDF, without locked joints or payload.
        endpoint: Link or frame of payloads; None for none.
        command: Command that exports the package.
    """
    joints = _relevant(robot, endpoint)
    moved = _moved(joints)
    carried = [link for link in robot.links if link.name in moved]
    links = ",\n".join(
        f"  {{{text(link.name)}, {number(float(link.inertia.mass))},\n"
        f"    {vector(link.inertia.com)},\n    {vector(link.inertia.about_com[UPPER])}}}"
        for link in carried
    )
    rows = ",\n".join(_joint(joint) for joint in joints)
    return f"""// Links and joints of robot {comment(robot.name)} in its URDF
#ifndef {package}_MODEL_HPP_
#define {package}_MODEL_HPP_

#include <array>

namespace {package}
{{

constexpr const char * ROBOT = {text(robot.name)};
constexpr const char * ROOT = {text(robot.links[0].name)};
constexpr const char * EXPORT_COMMAND = {text(command)};

/// Body that a joint moves.
struct ModelLink
{{
  const char * name;
  double mass;                    // kg
  std::array<double, 3> com;      // m
  std::array<double, 6> inertia;  // about com in link axes: xx, xy, xz, yy, yz, zz, kg m^2
}};
constexpr std::array<ModelLink, {len(carried)}> LINKS = {{{{
{links}
}}}};

struct ModelJoint
{{
  const char * name;
  const char * type;
  const char * parent;
  const char * child;
  std::array<double, 3> position;  // of the child in the parent at position zero, m
  std::array<double, 9> rotation;  // row by row
  std::array<double, 3> axis;      // unit vector in child axes
  const char * leader;             // joint that this one follows, or empty
  double multiplier;
  double offset;
}};
constexpr std::array<ModelJoint, {len(joints)}> TREE = {{{{
{rows}
}}}};

}}  // namespace {package}

#endif  // {package}_MODEL_HPP_
"""


def _relevant(robot: Robot, endpoint: str | None) -> list[Joint]:
    """Return the joints that move, and those that lead to a mass or to the payload."""
    payload = endpoint and robot.frame(endpoint).link
    needed = {link.name for link in robot.links if link.inertia.mass or link.name == payload}
    kept = set()
    for joint in reversed(robot.joints):  # from the tips to the root
        if joint.moves or joint.child in needed:
            needed.add(joint.parent)
            kept.add(joint.name)
    return [joint for joint in robot.joints if joint.name in kept]


def _moved(joints: list[Joint]) -> set[str]:
    """Return the links that a joint moves."""
    moved: set[str] = set()
    for joint in joints:
        if joint.moves or joint.parent in moved:
            moved.add(joint.child)
    return moved


def _joint(joint: Joint) -> str:
    mimic = joint.mimic
    follows = (
        f"{text(mimic.joint)}, {number(mimic.multiplier)}, {number(mimic.offset)}"
        if mimic
        else '"", 1.0, 0.0'
    )
    names = ", ".join(map(text, (joint.name, joint.type.value, joint.parent, joint.child)))
    return (
        f"  {{{names},\n    {vector(joint.origin.translation)},\n"
        f"    {vector(joint.origin.rotation.ravel())},\n    {vector(joint.axis)}, {follows}}}"
    )
