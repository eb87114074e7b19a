"""Direct dynamics in the zero reference position: accelerations from efforts, of Gupta.

[Gupta1986] and its continuation to dynamics, section 4. The equations of motion are

    [H(q)] qdd + C(q, qd) + g(q) = f                                              (39)

and are assembled by the recursions of inverse dynamics with qdd left open: a quantity that
depends on it is a 3 x (n + 1) array, one column for the coefficient of each joint's
acceleration and a last one for the rest. Two things are never computed, as the paper
advises: columns of joints that cannot move a link, which are null, and columns of
joints further out than the joint whose effort is wanted, which would repeat H above
its diagonal. What remains of an array is a `Columns` by joint index. The
callers (`uncompiled.forward_dynamics`, the kernel "forward") solve the system: the triangular
decomposition of H runs along the tree; for a chain it is that of a full matrix.

The paper has a chain; on a tree "further in" means on the path to the base. The
time integration that it names, predictor and corrector, is
`robot_dynamics.simulation.integrators`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.formulations.zero_reference import Vectors, centripetal, starred_vectors
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.endpoint import Wrenches
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.zero_position import ZeroReference
from robot_dynamics.spatial import cross

Columns = dict[int, Array]
"""Columns of a 3 x (n + 1) array by joint index, null ones left out; the last has index n."""


def equations_of_motion(
    robot: Robot, q: Array, qd: Array, wrenches: Wrenches
) -> tuple[Array, Array]:
    """Assemble H and C + g of eq. (39).

    Args:
        robot: Tree without fixed joints; n joints, followers of mimic joints included.
        q: Joint positions, shape (n,), rad or m.
        qd: Joint velocities, shape (n,).
        wrenches: For a link (by index in `robot.links`), force (3,) N and moment (3,) N m about
            the link origin that the link exerts on its surroundings, in axes of the link.

    Returns:
        H, shape (n, n), symmetric, and C + g with the efforts of the wrenches, shape (n,).
    """
    zero = ZeroReference.from_robot(robot)
    v = starred_vectors(zero, q)
    omega, alpha, a_G = _motion(zero, v, qd)
    return _forces(zero, v, omega, alpha, a_G, wrenches)


def _motion(
    zero: ZeroReference, v: Vectors, qd: Array
) -> tuple[list[Array], list[Columns], list[Columns]]:
    """Angular velocities, and accelerations as arrays linear in qdd, from the base outwards."""
    n = len(zero.robot.joints)
    omega: list[Array] = [np.zeros(3)]
    alpha: list[Columns] = [{n: np.zeros(3)}]
    a_G: list[Columns] = [{n: np.zeros(3)}]
    for k, joint in enumerate(zero.robot.joints):
        p, R, u, GP, PG = zero.robot.parents[k], v.R[k], v.u[k], v.GP[k], v.PG[k + 1]
        a_P = _sum(a_G[p], _cross(alpha[p], GP), {n: centripetal(omega[p], GP)})  # eq. (44)
        coriolis = cross(omega[p], u * qd[k])
        if joint.type.rotates:
            omega.append(R.T @ (omega[p] + u * qd[k]))  # eq. (40)
            alpha.append({**_turn(R.T, _sum(alpha[p], {n: coriolis})), k: u})  # eq. (41)
            a_P = _turn(R.T, a_P)  # eq. (43)
        else:
            omega.append(R.T @ omega[p])
            alpha.append(_turn(R.T, alpha[p]))
            a_P = {**_turn(R.T, _sum(a_P, {n: 2.0 * coriolis})), k: u}
        of_turning = {n: centripetal(omega[k + 1], PG)}
        a_G.append(_sum(a_P, _cross(alpha[k + 1], PG), of_turning))  # eq. (42)
    return omega, alpha, a_G


def _forces(
    zero: ZeroReference,
    v: Vectors,
    omega: list[Array],
    alpha: list[Columns],
    a_G: list[Columns],
    wrenches: Wrenches,
) -> tuple[Array, Array]:
    """Equations (25) to (29) on arrays linear in qdd, from the tips to the base."""
    robot, mass = zero.robot, zero.mass
    n = len(robot.joints)
    g: list[Array] = [robot.gravity]
    F: list[Columns] = [{} for _ in robot.links]
    T: list[Columns] = [{} for _ in robot.links]
    for k, p in enumerate(robot.parents):
        g.append(v.R[k].T @ g[p])
    for i, (force, moment) in wrenches.items():
        F[i], T[i] = {n: v.axes[i] @ force}, {n: v.axes[i] @ moment}

    H: Any = np.zeros((n, n), dtype=np.result_type(*(a[n] for a in a_G), *v.R))
    h: list[Any] = [0.0] * n
    for k in reversed(range(n)):
        i, p, R = k + 1, robot.parents[k], v.R[k]
        I_G = v.inertia[i]
        load = _sum({n: mass[i] * g[i]}, _scale(-mass[i], a_G[i]))  # W + F of eq. (25)
        M_inertia = _sum(_turn(-I_G, alpha[i]), {n: -cross(omega[i], I_G @ omega[i])})  # eq. (26)
        F[i] = _sum(F[i], _scale(-1.0, load))  # eq. (27)
        T[i] = _sum(T[i], _scale(-1.0, M_inertia), _cross(load, v.PG[i]))  # eq. (28)
        along = T[i] if robot.joints[k].type.rotates else F[i]
        for j, column in along.items():  # eq. (29), up to the diagonal
            if j == n:
                h[k] = v.u[k] @ column
            else:
                H[k, j] = H[j, k] = v.u[k] @ column
        if p > 0:
            F_k, T_k = _turn(R, _without(k, F[i])), _turn(R, _without(k, T[i]))
            arm = v.PG[p] + v.GP[k]
            F[p] = _sum(F[p], F_k)
            T[p] = _sum(T[p], T_k, _scale(-1.0, _cross(F_k, arm)))
    return H, np.array(h)


# -- arithmetic on arrays by columns --------------------------------------------------------------


def _sum(*terms: Columns) -> Columns:
    total: Columns = {}
    for term in terms:
        for j, column in term.items():
            total[j] = total[j] + column if j in total else column
    return total


def _scale(factor: Any, columns: Columns) -> Columns:
    return {j: factor * column for j, column in columns.items()}


def _turn(R: Array, columns: Columns) -> Columns:
    return {j: R @ column for j, column in columns.items()}


def _cross(columns: Columns, r: Array) -> Columns:
    return {j: cross(column, r) for j, column in columns.items()}


def _without(k: int, columns: Columns) -> Columns:
    return {j: column for j, column in columns.items() if j != k}
