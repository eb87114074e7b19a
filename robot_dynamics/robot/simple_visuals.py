"""Simple shapes of a robot without meshes: rods between joints, drums on them, rails."""

from __future__ import annotations

import math

import numpy as np

from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.kinematic_tree import Joint, JointType, KinematicTree

COLOURS = {"grey": "0.55 0.57 0.60 1", "orange": "0.93 0.49 0.19 1", "blue": "0.20 0.42 0.69 1"}
"""Colours of links in turn, red, green, blue and opacity."""

THICKNESS = 0.03
"""Radius of a rod, as a share of the extent of the robot."""

SMALLEST_M = 0.1
"""Extent of a robot whose joints all lie in one point, m."""


def simple_visuals(tree: KinematicTree) -> dict[str, list[str]]:
    """Return the elements <visual> of each link by its name, and of `COLOURS` under ""."""
    radius = THICKNESS * _extent(tree)
    shapes: dict[str, list[str]] = {link.name: [] for link in tree.links}
    for link in tree.links:
        for end in _ends(tree, link.name):
            shapes[link.name] += _rod(np.zeros(3), end, radius)
    for joint in tree.joints:
        axis, origin = joint.axis, joint.origin
        if joint.type.rotates:
            shapes[joint.child] += _rod(-2.0 * radius * axis, 2.0 * radius * axis, 1.5 * radius)
        if joint.type is JointType.PRISMATIC:
            shapes[joint.child] += _box(3.0 * radius)
            lower, upper = _rail(joint, 10.0 * radius)
            at, along = origin.translation, origin.rotation @ axis
            shapes[joint.parent] += _rod(at + lower * along, at + upper * along, 0.5 * radius)
    names = list(COLOURS)
    visuals = {
        name: [f'<visual>{shape}<material name="{names[i % len(names)]}"/></visual>'
               for shape in found]
        for i, (name, found) in enumerate(shapes.items())
    }  # fmt: skip
    visuals[""] = [
        f'<material name="{name}"><color rgba="{rgba}"/></material>'
        for name, rgba in COLOURS.items()
    ]
    return visuals


def _extent(tree: KinematicTree) -> float:
    """Return the greatest distance of a joint or tip from the root along its links, m."""
    reach = {tree.root: 0.0}
    for joint in tree.joints:
        reach[joint.child] = reach[joint.parent] + float(np.linalg.norm(joint.origin.translation))
    ends = [reach[link] + float(np.linalg.norm(end)) for link in reach for end in _ends(tree, link)]
    return max(*reach.values(), *ends, SMALLEST_M)


def _ends(tree: KinematicTree, link: str) -> list[Array]:
    """Return the points that a link reaches to: its joints and tips, or else its mass centre."""
    ends = [joint.origin.translation for joint in tree.joints if joint.parent == link]
    frames = (tree.frames[name] for name in tree.tips if name in tree.frames)
    ends += [frame.pose.translation for frame in frames if frame.link == link]
    return ends or [tree.links[tree.link_index(link)].inertia.com]


def _rail(joint: Joint, otherwise: float) -> tuple[float, float]:
    """Return the ends of the rail of a sliding joint: its stroke, and zero, where it is held."""
    lower, upper = joint.limits.lower, joint.limits.upper
    if not math.isfinite(upper):
        upper = (lower if math.isfinite(lower) else 0.0) + otherwise
    lower = lower if math.isfinite(lower) else upper - 2.0 * otherwise
    return min(0.0, lower), max(0.0, upper)


def _rod(start: Array, end: Array, radius: float) -> list[str]:
    x, y, z = end - start
    length = math.hypot(x, y, z)
    if length < radius:  # hidden in the drum of the joint
        return []
    middle = " ".join(f"{value:.6g}" for value in (start + end) / 2.0)
    turn = f"0 {math.atan2(math.hypot(x, y), z):.6g} {math.atan2(y, x):.6g}"
    return [
        f'<origin xyz="{middle}" rpy="{turn}"/>'
        f'<geometry><cylinder radius="{radius:.6g}" length="{length:.6g}"/></geometry>'
    ]


def _box(side: float) -> list[str]:
    return [f'<geometry><box size="{side:.6g} {side:.6g} {side:.6g}"/></geometry>']
