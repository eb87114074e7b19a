"""Plausibility checks of a robot description: inertias, massless links and limits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.joint_units import joint_unit
from robot_dynamics.robot.kinematic_tree import Joint, joint_pose
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed, outward_bodies
from robot_dynamics.spatial import Pose, skew

HEAVY_KG = 2000.0
"""Mass of a link, kg, above which it is probably given in grams."""

LONG_M = 20.0
"""Distance within one link, m, above which it is probably given in millimetres."""

ROUND_OFF = 1e-12
"""Size of a sum, relative to its terms, below which it counts as zero."""

# -- one body ---------------------------------------------------------------------------------


def body_faults(mass: float, com: Array, about_com: Array) -> Iterator[str]:
    """Yield the faults of a mass distribution.

    Args:
        mass: At least zero, kg.
        com: Mass centre in the link frame, shape (3,), m.
        about_com: Rotational inertia about the mass centre, shape (3, 3), kg m^2.
    """
    if mass > HEAVY_KG:
        yield f"weighs {mass:.4g} kg; are the masses in grams?"
    if np.linalg.norm(com) > LONG_M:
        distance = np.linalg.norm(com)
        yield f"mass centre is {distance:.4g} m from the frame; are the lengths in millimetres?"
    moments = np.linalg.eigvalsh(about_com)  # principal moments, ascending
    if mass == 0.0:
        if np.any(about_com):
            yield "has rotational inertia but no mass; give both, or neither"
        return
    if not np.any(about_com):
        yield "has mass but no rotational inertia, like a point mass; give ixx, iyy, izz"
        return
    gyration = np.sqrt(np.max(np.abs(moments))) / np.sqrt(mass)
    if gyration > LONG_M:
        yield f"radius of gyration is {gyration:.4g} m; are the moments of inertia in kg mm^2?"
    if abs(moments[0]) <= ROUND_OFF * moments[2]:
        moments[0] = 0.0
    products = "ixy, ixz, iyz" if np.any(np.triu(about_com, 1)) else "ixx, iyy, izz"
    if moments[0] <= 0.0:
        yield (
            f"inertia is not positive definite (smallest eigenvalue {moments[0]:.3g} kg m^2); "
            f"check {products}"
        )
    elif moments[0] + moments[1] < moments[2] * (1.0 - 1e-5):  # files print six digits
        yield (
            "inertia breaks the triangle inequality: the largest of the principal moments "
            f"{moments[0]:.4g}, {moments[1]:.4g}, {moments[2]:.4g} kg m^2 exceeds the sum of the "
            f"others; check {products}"
        )


# -- the whole tree ---------------------------------------------------------------------------


MASSLESS = "moves but has no mass"
INERTIALESS = "moves no inertia about its axis, so no effort determines its acceleration"


def massless_links(robot: Robot) -> list[str]:
    """List the moving links without mass, including the links fixed to them."""
    between = {joint.name for joint in robot.moving_joints if joint.part_of}
    return [
        link.name
        for link in merge_fixed(robot).links[1:]
        if link.name not in between
        and link.inertia.mass == 0.0
        and not np.any(link.inertia.second_moment)
    ]


def inertialess_joints(robot: Robot) -> list[str]:
    """List the independent joints that move no inertia, so that the mass matrix is singular.

    The mass matrix is factored from the tips to the base at a generic pose. A pivot of zero
    belongs to a joint that moves without effort while inward joints are fixed and outward joints
    are free. A mass matrix that is singular at a generic pose is singular at every pose.

    The pivots are those of the articulated-body recursion, in linear time. The matrix itself is
    factored only if a joint has such a pivot and mimic joints might still make it move inertia.
    """
    tree = merge_fixed(robot)
    n = len(tree.joints)
    # Irregular values from 0.3 to 1.2, because importing numpy.random would double reading time
    generic = 0.75 + 0.45 * np.sin(np.arange(1.0, tree.dof + 1.0) ** 2)
    S, bodies = _screws_and_bodies(tree, tree.coupling.positions(generic))
    composite, articulated = bodies.copy(), bodies
    singular = []
    for k in reversed(range(n)):
        parent, U = tree.parents[k] - 1, articulated[k] @ S[k]
        pivot = S[k] @ U
        if abs(pivot) <= ROUND_OFF * _scale(composite[k], S[k]):  # a negative one is not singular
            singular.append(tree.joints[k].name)
        elif parent >= 0:
            articulated[k] -= np.outer(U / pivot, U)
        if parent >= 0:
            articulated[parent] += articulated[k]
            composite[parent] += composite[k]
    if not singular or n == tree.dof:
        return singular[::-1]
    carries = np.eye(n, dtype=bool)  # joint (row) that moves the link of another one (column)
    for k, parent in enumerate(tree.parents):
        if parent:
            carries[:, k] |= carries[:, parent - 1]
    upper = np.where(carries, S @ np.einsum("kij,kj->ik", composite, S), 0.0)
    E = tree.coupling.matrix
    M = E.T @ (upper + np.triu(upper, 1).T) @ E
    scale = (E**2).T @ [_scale(composite[k], S[k]) for k in range(n)]
    found = []
    for k in reversed(range(tree.dof)):
        if abs(M[k, k]) <= ROUND_OFF * scale[k]:
            found.append(tree.joint_names[k])
        else:
            M[:k, :k] -= np.outer(M[:k, k] / M[k, k], M[k, :k])
    return found[::-1]


def _screws_and_bodies(tree: Robot, positions: Array) -> tuple[Array, Array]:
    """Return joint screws, shape (n, 6), and link inertias, shape (n, 6, 6), of a tree.

    Both about the origin and in the axes of the root, linear over angular.
    """
    X = [Pose.identity()]
    S, bodies = np.zeros((len(tree.joints), 6)), np.zeros((len(tree.joints), 6, 6))
    for k, (joint, parent) in enumerate(zip(tree.joints, tree.parents, strict=True)):
        X.append(X[parent] @ joint_pose(joint, positions[k]))
        b, p = X[-1].rotation @ joint.axis, X[-1].translation
        S[k] = (*(skew(p) @ b), *b) if joint.type.rotates else (*b, 0.0, 0.0, 0.0)
        body = tree.links[k + 1].inertia.expressed_in(X[-1])
        H = skew(body.first_moment)
        bodies[k, :3, :3], bodies[k, :3, 3:] = body.mass * np.eye(3), -H
        bodies[k, 3:, :3], bodies[k, 3:, 3:] = H, body.second_moment
    return S, bodies


def _scale(body: Array, screw: Array) -> float:
    """Return the magnitude of the terms of `screw @ body @ screw`, the scale of round-off."""
    linear, angular = screw[:3], screw[3:]
    return float(body[0, 0] * (linear @ linear) + np.trace(body[3:, 3:]) * (angular @ angular))


# -- limits -----------------------------------------------------------------------------------

STRONG = {"rotates": 5000.0, "slides": 50_000.0}
"""Effort limit, N m or N, above which it is probably a placeholder on an arm that is not heavy."""

STRONG_PER_KG = 100.0
"""Effort limit, N m or N per kg moved, of a heavy arm: a lever of 10 m, or 10 g."""

FAST = {"rotates": 80.0, "slides": 20.0}
"""Velocity limit, rad/s or m/s, above which it is probably a placeholder, or in degrees."""

FAR = {"rotates": 8.0 * np.pi, "slides": 20.0}
"""Position range, rad or m, above which it is probably a placeholder, in degrees or in mm."""


def limit_faults(joint: Joint, mass: float) -> Iterator[str]:
    """Yield the implausible limits of a joint that moves a mass, kg."""
    kind = "rotates" if joint.type.rotates else "slides"
    angle, effort = joint_unit(joint, "position"), joint_unit(joint, "effort")
    limits = joint.limits
    span = limits.upper - limits.lower
    if np.isfinite(span) and span > FAR[kind]:
        yield f"moves by {span:.4g} {angle}; is the range in degrees or millimetres?"
    if np.isfinite(limits.velocity) and limits.velocity > FAST[kind]:
        yield f"velocity limit {limits.velocity:.4g} {angle}/s is a placeholder, or in other units"
    if np.isfinite(limits.effort) and limits.effort > max(STRONG[kind], STRONG_PER_KG * mass):
        yield f"effort limit {limits.effort:.4g} {effort} is a placeholder, or in other units"


def limit_warnings(robot: Robot) -> Iterator[str]:
    """Yield a warning about each implausible limit; the reader names those that are missing."""
    bodies = outward_bodies(robot)
    found: dict[str, list[str]] = {}
    for joint in robot.moving_joints:
        if joint.mimic is None and not joint.part_of:
            for fault in limit_faults(joint, bodies[robot.link_index(joint.child)].mass):
                found.setdefault(fault, []).append(f"'{joint.name}'")
    for fault, names in found.items():
        yield f"joint{'s' * (len(names) > 1)} {', '.join(names)}: {fault}"
