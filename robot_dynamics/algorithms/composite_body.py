"""Mass matrix by composite bodies, and forward dynamics with it.

A column of the mass matrix is the effort of a unit acceleration of one joint
while all others rest ([WalkerOrin1982], method 3). Only the links outward of that
joint move, as one rigid composite body. The matrix and its factorisation have the
sparsity of the tree's branches ([Featherstone2008], sections 6.4 and 6.5). Both
follow the tree and skip structural zeros.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.algorithms.change_of_frame import ChangeOfFrame
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.robot import Robot
from robot_dynamics.spatial import Inertia, cross


def mass_matrix(robot: Robot, q: Array) -> Array:
    """Compute the joint-space mass matrix M of tau = M qdd + b.

    Args:
        robot: Tree without fixed joints; n joints, followers of mimic joints included.
        q: Joint positions, shape (n,), rad or m.

    Returns:
        M, shape (n, n), symmetric; kg m^2, kg m or kg by the types of the two joints. Entries of
        joints on different branches are exactly zero.
    """
    n = len(robot.joints)
    X_PL, I_L = composite_bodies(robot, q)
    M: Any = np.zeros((n, n), dtype=np.result_type(q, np.float64))
    for k, joint in enumerate(robot.joints):
        f_L, m_L = unit_acceleration_wrench(I_L[k + 1], joint.axis, joint.type.rotates)  # (3,)
        j = k
        while True:  # inward along the path to the base, in axes of the link that joint j carries
            carrier = robot.joints[j]
            M[j, k] = M[k, j] = carrier.axis @ (m_L if carrier.type.rotates else f_L)
            if robot.parents[j] == 0:
                break
            f_L, m_L = X_PL[j].wrench_to_parent(f_L, m_L)
            j = robot.parents[j] - 1
    return np.array(M)


def composite_bodies(robot: Robot, q: Array) -> tuple[list[ChangeOfFrame], list[Inertia]]:
    """Compute the frames of links, and links with all that is outward of them.

    Args:
        robot: Tree without fixed joints; n joints, followers of mimic joints included.
        q: Joint positions, shape (n,), rad or m.

    Returns:
        For every joint k, the frame of link k + 1 in that of its parent; and for every link L, the
        inertia about the origin of L in axes of L; that of the root link is its own.
    """
    X_PL = [ChangeOfFrame(joint, q[k]) for k, joint in enumerate(robot.joints)]
    I_L = [link.inertia for link in robot.links]
    for k in reversed(range(len(robot.joints))):
        parent = robot.parents[k]
        if parent > 0:
            I_L[parent] = I_L[parent] + X_PL[k].inertia_to_parent(I_L[k + 1])
    return X_PL, I_L


def unit_acceleration_wrench(body: Inertia, axis: Array, rotates: bool) -> tuple[Array, Array]:
    """Return force (3,), N, and moment (3,), N m, of a unit acceleration of a body at rest.

    Body, axis, force and moment are in the axes of the link, about its origin.
    """
    if rotates:
        return cross(axis, body.first_moment), body.second_moment @ axis
    return body.mass * axis, cross(body.first_moment, axis)


def factorise(M: Array, parents: tuple[int, ...]) -> tuple[Array, Array]:
    """Factorise M = L^T D L along the tree, L unit lower triangular.

    Eliminating from the tips inward fills no structural zero: row k of L has
    entries only for the ancestors of joint k.

    Args:
        M: Mass matrix, shape (n, n).
        parents: Index of the joint before joint k on the way to the base; -1 at the base.

    Returns:
        L, shape (n, n), and the reciprocals of the diagonal of D, shape (n,).
    """
    n = len(parents)
    A: Any = M.copy()
    L: Any = np.zeros_like(M)
    inverse_D: list[Any] = [0.0] * n
    for k in reversed(range(n)):
        inverse_D[k] = 1.0 / A[k, k]
        L[k, k] = 1.0
        path = _ancestors(k, parents)
        for i in path:
            L[k, i] = A[k, i] * inverse_D[k]
        for at, i in enumerate(path):
            for j in path[at:]:
                A[i, j] = A[i, j] - L[k, i] * A[k, j]
                A[j, i] = A[i, j]
    return L, np.array(inverse_D)


def solve(L: Array, inverse_D: Array, parents: tuple[int, ...], b: Array) -> Array:
    """Solve (L^T D L) x = b for x, shape (n,), from the factors of `factorise`."""
    n = len(parents)
    x: list[Any] = list(b)
    for k in reversed(range(n)):
        for i in _ancestors(k, parents):
            x[i] = x[i] - L[k, i] * x[k]
    for k in range(n):
        x[k] = x[k] * inverse_D[k]
        for i in _ancestors(k, parents):
            x[k] = x[k] - L[k, i] * x[i]
    return np.array(x)


def _ancestors(k: int, parents: tuple[int, ...]) -> list[int]:
    path = []
    while (k := parents[k]) >= 0:
        path.append(k)
    return path


def elimination_parents(robot: Robot) -> tuple[int, ...]:
    """Joint before each independent joint, for `factorise` of the reduced mass matrix.

    With mimic joints the reduced matrix couples all joints that one coordinate
    moves. The tree is then replaced by one in which all coupled branches lie on
    one path, so that it includes all fill-in.
    """
    joints = robot.coupling
    n = robot.dof
    ancestors_of_link: list[set[int]] = [set()]
    coupled = np.zeros((n, n), dtype=bool)
    for k in range(len(robot.joints)):
        own = ancestors_of_link[robot.parents[k]] | {int(joints.leader[k])}
        ancestors_of_link.append(own)
        for i in own:
            for j in own:
                coupled[i, j] = True
    # Elimination tree of the pattern, tips (high index) first: the parent of k is the nearest
    # lower index that k couples to, after the fill-in of all that was eliminated before it
    parents = [-1] * n
    for k in reversed(range(n)):
        lower = [i for i in range(k) if coupled[k, i]]
        if lower:
            parents[k] = lower[-1]
            for i in lower:
                for j in lower:
                    coupled[i, j] = True
    return tuple(parents)
