"""Lagrange-Euler equations with 4 x 4 homogeneous matrices, which Lee, Lee and Nigam start from.

[Lee1982], eqs. (1) to (5), after Uicker: sum_k D_ik qdd_k + sum_k sum_m C_ikm qd_k qd_m + G_i =
tau_i. Every coefficient is a trace of products of the link transformations T_s, of their first and
second derivatives, and of the 4 x 4 inertia J_s of a link about the origin of its own frame:

    D_ik  = sum_s Tr(dT_s/dq_k J_s (dT_s/dq_i)^T),                                (3)
    C_ikm = sum_s Tr(d2T_s/dq_k dq_m J_s (dT_s/dq_i)^T),                          (4)
    G_i   = -sum_s m_s g (dT_s/dq_i) r_s.                                         (5)

Where the paper ends and this goes on: joints may slide, the sums from s = max(i, k, m) to n run
over the links that all these joints move, on a tree as well, and virtual work adds an endpoint
wrench. The frame of a link lies on the joint that carries it, so that its transformation is
differentiated from behind: dA_s/dq_s = A_s Q_s, with one constant Q_s for each joint.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.algorithms.base_axes import base_axes, endpoint_efforts
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.endpoint import Wrenches
from robot_dynamics.robot.kinematic_tree import Joint, joint_motion
from robot_dynamics.robot.robot import Robot
from robot_dynamics.spatial import Inertia, skew


def inverse_dynamics(robot: Robot, q: Array, qd: Array, qdd: Array, wrenches: Wrenches) -> Array:
    """Compute the joint efforts that produce the given accelerations, eq. (2).

    Arguments and result as `registry.InverseDynamics` says.
    """
    links = transformations(robot, q)
    tau = inertia_coefficients(robot, links) @ qdd
    tau = tau + velocity_efforts(robot, links, qd) + gravity_efforts(robot, links)
    if wrenches:
        for effort in endpoint_efforts(base_axes(robot, q), wrenches).values():
            tau = tau + effort
    return np.array(tau)


def mass_matrix(robot: Robot, q: Array) -> Array:
    """Compute D of eq. (3), shape (n, n), symmetric, on a tree without fixed joints."""
    return inertia_coefficients(robot, transformations(robot, q))


class Transformation(NamedTuple):
    """T_s of a link and its derivatives by the joints of its path, each 4 x 4.

    Attributes:
        path: Joints from the base to the link, its own last.
        T: Link to base.
        first: dT/dq_k for joint path[k].
        second: d2T/dq_k dq_m at [k][m] for k <= m; what is left of the diagonal is the same.
    """

    path: tuple[int, ...]
    T: Array
    first: Sequence[Array]
    second: Sequence[Sequence[Array]]


def transformations(robot: Robot, q: Array) -> list[Transformation]:
    """T_s of every link with its derivatives, from the base to the tips."""
    base = Transformation((), np.eye(4), (), ())
    links = [base]
    for s, joint in enumerate(robot.joints):
        before = links[robot.parents[s]]
        R, p = joint_motion(joint, q[s])
        A, Q = _homogeneous(R, p), _generator(joint)
        T = before.T @ A
        first = [U @ A for U in before.first]
        second = [[U @ A for U in row] for row in before.second]
        for k, U in enumerate(first):  # dA_s/dq_s = A_s Q_s
            second[k].append(U @ Q)
        first.append(T @ Q)
        second.append([first[-1] @ Q])
        links.append(Transformation((*before.path, s), T, first, second))
    return links[1:]


def inertia_coefficients(robot: Robot, links: Sequence[Transformation]) -> Array:
    """D_ik of eq. (3), shape (n, n)."""
    n = len(links)
    D: list[list[Any]] = [[0.0] * n for _ in range(n)]
    for s, link in enumerate(links):
        J = pseudo_inertia(robot.links[s + 1].inertia)
        for b, k in enumerate(link.path):
            J_k = link.first[b] @ J
            for a, i in enumerate(link.path[: b + 1]):
                D[i][k] = D[k][i] = D[i][k] + trace_of(J_k, link.first[a])
    return np.array(D).reshape(n, n)


def velocity_efforts(robot: Robot, links: Sequence[Transformation], qd: Array) -> Array:
    """sum_k sum_m C_ikm qd_k qd_m of eqs. (2) and (4), shape (n,).

    C_ikm = C_imk: pairs k < m are formed once and count twice.
    """
    h: list[Any] = [0.0] * len(links)
    for s, link in enumerate(links):
        J = pseudo_inertia(robot.links[s + 1].inertia)
        for b, k in enumerate(link.path):
            for c, m in enumerate(link.path[b:]):
                C_km = link.second[b][c] @ J
                rates = qd[k] * qd[m] if k == m else 2.0 * (qd[k] * qd[m])
                for a, i in enumerate(link.path):
                    h[i] = h[i] + trace_of(C_km, link.first[a]) * rates
    return np.array(h)


def gravity_efforts(robot: Robot, links: Sequence[Transformation]) -> Array:
    """G_i of eq. (5), shape (n,), with m_s r_s the last column of J_s."""
    G: list[Any] = [0.0] * len(links)
    g = np.array([*robot.gravity, 0.0])  # the paper's row vector
    for s, link in enumerate(links):
        body = robot.links[s + 1].inertia
        m_r = np.array([*body.first_moment, body.mass])
        for a, i in enumerate(link.path):
            G[i] = G[i] - g @ (link.first[a] @ m_r)
    return np.array(G)


def pseudo_inertia(body: Inertia) -> Array:
    """J_s: integral of r r^T dm over the link with r = (x, y, z, 1), shape (4, 4)."""
    I_O, h = body.second_moment, body.first_moment
    half = (I_O[0, 0] + I_O[1, 1] + I_O[2, 2]) / 2.0
    return np.block([[half * np.eye(3) - I_O, h[:, None]], [h[None, :], np.array([[body.mass]])]])


def trace_of(X: Array, Y: Array) -> Any:
    """Tr(X Y^T): of the product, its diagonal alone."""
    total: Any = 0.0
    for x, y in zip(X.ravel(), Y.ravel(), strict=True):
        total = total + x * y
    return total


def _homogeneous(R: Array, p: Array) -> Array:
    return np.vstack([np.column_stack([R, p]), np.array([0.0, 0.0, 0.0, 1.0])])


def _generator(joint: Joint) -> Array:
    """Q of dA/dq = A Q, shape (4, 4)."""
    Q = np.zeros((4, 4))
    if joint.type.rotates:
        Q[:3, :3] = skew(joint.axis)
    else:
        Q[:3, 3] = joint.axis
    return Q
