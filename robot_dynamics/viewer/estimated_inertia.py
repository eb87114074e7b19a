"""Estimates of inertias that a URDF does not give: from the shapes of its links, or from boxes.

The convex hull of a link has one density. The hulls of the UR5, UR10, Panda, Kinova and Z1 have 900
to 1400 kg/m^3 with the masses of their URDFs: take an estimate as right to within a half.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from robot_dynamics.errors import MissingPackageError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.lazy import imported, needed
from robot_dynamics.robot.plausibility import massless_links
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.spatial import Inertia

DENSITY = 1000.0
"""Mass of a link over the volume of its hull, kg/m^3."""

NARROW_M = 0.06
"""Least width of the box of a link without a shape, m."""

LEAST_VOLUME = 1e-9
"""Volume up to which points have no hull, m^3."""


def with_estimated_inertias(
    robot: Robot, source: str | os.PathLike[str], density: float = DENSITY
) -> tuple[Robot, Mapping[str, str]]:
    """Give mass and inertia to the bodies that move without any.

    A body is a link with the links that are fixed to it. Those of them that have shapes get the
    inertia of their hulls. A body without shapes gets a box from its joint to the next ones.

    Args:
        robot: The robot as its URDF says.
        source: Path or text of that URDF.
        density: kg/m^3.

    Returns:
        The robot, and by link of what its estimate is, "hull" or "box".
    """
    tree, points = merge_fixed(robot), _points(source)
    massless, bodies = set(massless_links(robot)), _bodies(robot)
    found: dict[str, tuple[Inertia, str]] = {}
    for body in massless:
        hulls = ((name, _hull(points.get(name), density)) for name in bodies[body])
        own = {name: (hull, "hull") for name, hull in hulls if hull is not None}
        if not own:
            ends = [joint.origin.translation for joint in tree.joints if joint.parent == body]
            box = _box(np.array([np.zeros(3), *ends], dtype=np.float64), density)
            own = {body: (box, "box")}
        found |= own
    links = (
        replace(link, inertia=found[link.name][0]) if link.name in found else link
        for link in robot.links
    )
    ways = {link.name: found[link.name][1] for link in robot.links if link.name in found}
    return replace(robot, links=tuple(links)), ways


def _points(source: str | os.PathLike[str]) -> Mapping[str, Array]:
    """Return the points of the shapes of links; none without the package that reads meshes."""
    try:
        needed("trimesh", "the shapes of links", "view")
    except MissingPackageError:
        return {}
    points: Mapping[str, Array] = imported("robot_dynamics.viewer.link_shapes").outlines(source)
    return points


def _bodies(robot: Robot) -> dict[str, list[str]]:
    """Return the links that are fixed to each other, by the first of them."""
    joint_of = {joint.child: joint for joint in robot.joints}
    bodies: dict[str, list[str]] = {}
    for link in robot.links:
        first = link.name
        while first in joint_of and not joint_of[first].moves:
            first = joint_of[first].parent
        bodies.setdefault(first, []).append(link.name)
    return bodies


def _hull(points: Array | None, density: float) -> Inertia | None:
    """Return the inertia of the convex hull of points, shape (v, 3); None if it is flat."""
    if points is None:
        return None
    try:
        hull = imported("trimesh").convex.convex_hull(points)
    except Exception:  # the error of Qhull has moved between versions of SciPy
        return None
    if not hull.volume > LEAST_VOLUME:
        return None
    hull.density = density
    return Inertia.from_com(float(hull.mass), hull.center_mass, hull.moment_inertia)


def _box(points: Array, density: float) -> Inertia:
    """Return the inertia of the box around points, shape (p, 3), of a least width."""
    low, high = points.min(axis=0), points.max(axis=0)
    size = np.maximum(high - low, NARROW_M)
    mass, squares = density * float(np.prod(size)), size**2
    moments = mass / 12.0 * (squares.sum() - squares)
    return Inertia.from_com(mass, (low + high) / 2.0, np.diag(moments))
