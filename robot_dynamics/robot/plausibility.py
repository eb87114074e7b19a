"""What no physical robot has: findings in words, for whoever reads or changes a robot."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.robot.joint import joint_pose
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.spatial.pose import Pose
from robot_dynamics.spatial.vectors import skew

HEAVY = 2000.0
"""A link above this mass, kg, is rather one whose mass is in grams."""

LONG = 20.0
"""A distance within one link above this, m, is rather one in millimetres."""

ROUND_OFF = 1e-12
"""What is smaller than this, relative to the terms that it is summed from, is zero."""

# -- one body ---------------------------------------------------------------------------------


def body_faults(mass: float, com: Array, about_com: Array) -> Iterator[str]:
    """Say what is wrong with a mass distribution.

    Args:
        mass: At least zero, kg.
        com: Mass centre in the link frame, shape (3,), m.
        about_com: Rotational inertia about the mass centre, shape (3, 3), kg m^2.
    """
    if mass > HEAVY:
        yield f"weighs {mass:.4g} kg; are the masses in grams?"
    if np.linalg.norm(com) > LONG:
        distance = np.linalg.norm(com)
        yield f"mass centre is {distance:.4g} m from the frame; are the lengths in millimetres?"
    moments = np.linalg.eigvalsh(about_com)  # principal moments, ascending
    if mass == 0.0:
        if np.any(about_com):
            yield "has rotational inertia but no mass; give both, or neither"
        return
    if not np.any(about_com):
        yield "has mass but no rotational inertia, like a point; give ixx, iyy, izz"
        return
    gyration = np.sqrt(np.max(np.abs(moments))) / np.sqrt(mass)
    if gyration > LONG:
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
            "inertia breaks the triangle inequality: no body has principal moments "
            f"{moments[0]:.4g}, {moments[1]:.4g}, {moments[2]:.4g} kg m^2, where the largest "
            f"exceeds the sum of the others; check {products}"
        )


# -- the whole tree ---------------------------------------------------------------------------


def massless_links(robot: Robot) -> list[str]:
    """Links that a joint moves and that have no mass, not even in what is fixed to them."""
    return [
        link.name
        for link in merge_fixed(robot).links[1:]
        if link.inertia.mass == 0.0 and not np.any(link.inertia.second_moment)
    ]


def inertialess_joints(robot: Robot) -> list[str]:
    """Independent joints that accelerate nothing, so that the mass matrix is singular.

    The mass matrix is factored from the tips to the base at a generic pose: a pivot of zero
    belongs to a joint that moves without effort while those before it hold still and those
    after it are free. What is singular at a generic pose is singular at every pose.
    """
    tree = merge_fixed(robot)
    # From 0.3 to 1.2 without a pattern; importing numpy.random takes as long as reading a robot
    generic = 0.75 + 0.45 * np.sin(np.arange(1.0, tree.dof + 1.0) ** 2)
    M, scale = _mass_matrix(tree, generic)
    found = []
    for k in reversed(range(tree.dof)):
        if abs(M[k, k]) <= ROUND_OFF * scale[k]:  # negative is odd too, but not singular
            found.append(tree.joint_names[k])
            continue
        M[:k, :k] -= np.outer(M[:k, k], M[k, :k]) / M[k, k]
    return found[::-1]


def _mass_matrix(tree: Robot, q: Array) -> tuple[Array, Array]:
    """Mass matrix of a tree without fixed joints, and the magnitude its diagonal is summed from.

    By its definition, the sum of J^T I J over the links, everything about the origin and in the
    axes of the root.
    """
    n = len(tree.joints)
    E, positions = tree.coupling.matrix, tree.coupling.positions(q)
    X, J = [Pose.identity()], [np.zeros((6, n))]
    M, magnitude = np.zeros((n, n)), np.zeros(n)
    for k, (joint, parent) in enumerate(zip(tree.joints, tree.parents, strict=True)):
        X_0L = X[parent] @ joint_pose(joint, positions[k])
        b = X_0L.rotation @ joint.axis
        J_L = J[parent].copy()
        if joint.type.rotates:
            J_L[:, k] = *np.cross(X_0L.translation, b), *b
        else:
            J_L[:3, k] = b
        X.append(X_0L)
        J.append(J_L)
        body = tree.links[k + 1].inertia.expressed_in(X_0L)
        H = skew(body.first_moment)
        M += J_L.T @ np.block([[body.mass * np.eye(3), -H], [H, body.second_moment]]) @ J_L
        squares = body.mass, np.trace(body.second_moment)
        magnitude += squares @ np.array([np.sum(part**2, axis=0) for part in (J_L[:3], J_L[3:])])
    return E.T @ M @ E, (E**2).T @ magnitude
