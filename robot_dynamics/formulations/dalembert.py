"""Generalized d'Alembert equations of Lee, Lee and Nigam: a structured closed form.

[Lee1982]: tau_i = sum_j D_ij qdd_j + H_i^tran + H_i^rot + G_i, eq. (29), where each
coefficient is a sum over the links s that joint i moves, and the part of a link's
translation is kept apart from the part of its rotation. `efforts_by_cause` splits
the same torques further, by link and by cause; `simplified` drops parts of them.

Symbols as in the paper: z axis of a joint, p origin of a joint, c_s from the joint of link s
to its mass centre, r_s = p + c_s the mass centre, I_s about it in link axes.

Where the paper ends and this goes on:
- The paper counts coordinate frames from 0, so that joint j turns about z_(j-1) through
  p_(j-1); here both carry the number of the joint, as links do.
- It has rotary joints. With a prismatic joint j the link velocity (9) gains qd_j z_j, so
  dv_s/dqd_j is z_j instead of z_j x (r_s - p_j) and no rotation depends on q_j. In (31) a
  Coriolis acceleration 2 w x qd_j z_j joins the brackets. In (33) the lever arm gives way to
  the axis itself.
- It has chains. On a tree, the sums "from link i to n" run over the links that joint i moves,
  and "from joint 1 to s" over the joints between the base and link s.
- It has no endpoint force. Virtual work adds J^T F.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from robot_dynamics.algorithms.base_axes import BaseAxes, base_axes, endpoint_efforts, on_tree
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.scalars import lowers
from robot_dynamics.robot.endpoint import Wrenches
from robot_dynamics.robot.robot import Robot
from robot_dynamics.spatial import cross


@dataclass(frozen=True, eq=False)
class StructuredEquations:
    """Coefficients of tau = D qdd + H_tran + H_rot + G, eqs. (29) to (33).

    Args:
        D_tran: Second term of (30), inertia of moving the mass centres, shape (n, n).
        D_rot: First term of (30), inertia of turning the links about them, shape (n, n).
        H_tran: Centrifugal and Coriolis efforts of the mass centres, eq. (31), shape (n,).
        H_rot: Centrifugal and Coriolis efforts of turning links, eq. (32), shape (n,).
        G: Gravity efforts, eq. (33), shape (n,).
    """

    D_tran: Array
    D_rot: Array
    H_tran: Array
    H_rot: Array
    G: Array

    @property
    def D(self) -> Array:
        """Inertia coefficients D_ij, eq. (30): the mass matrix, shape (n, n)."""
        return self.D_tran + self.D_rot

    @property
    def H(self) -> Array:
        """All velocity efforts, shape (n,)."""
        return self.H_tran + self.H_rot


def inverse_dynamics(robot: Robot, q: Array, qd: Array, qdd: Array, wrenches: Wrenches) -> Array:
    """Compute the joint efforts that produce the given accelerations, eq. (29).

    Arguments and result as `registry.InverseDynamics` says.
    """
    axes = base_axes(robot, q)
    e = equations_on_tree(robot, axes, qd)
    tau = e.D @ qdd + e.H_tran + e.H_rot + e.G  # eq. (29)
    for effort in endpoint_efforts(axes, wrenches).values():
        tau = tau + effort
    return np.array(tau)


@lowers
def structured_equations(robot: Robot, q: npt.ArrayLike, qd: npt.ArrayLike) -> StructuredEquations:
    """Compute the coefficients of the equations of motion as separate results.

    Args:
        robot: Any robot; n moving joints, followers of mimic joints included.
        q: Joint positions, shape (n,), rad or m.
        qd: Joint velocities, shape (n,).

    Raises:
        ShapeError: If q or qd does not have one entry per moving joint.
        ArgumentError: If an entry is not finite.
    """
    tree, (q, qd) = on_tree(robot, q=q, qd=qd)
    return equations_on_tree(tree, base_axes(tree, q), qd)


@lowers
def mass_matrix(robot: Robot, q: npt.ArrayLike) -> Array:
    """Compute D of eq. (30), shape (n, n), symmetric, zero between branches.

    Args and errors as for `structured_equations`.
    """
    tree, (q,) = on_tree(robot, q=q)
    D_tran, D_rot = inertia_coefficients(tree, base_axes(tree, q))
    return D_tran + D_rot


# -- the terms, on a tree in base axes ------------------------------------------------------------


def equations_on_tree(robot: Robot, axes: BaseAxes, qd: Array) -> StructuredEquations:
    """All coefficients for a tree without fixed joints that is laid out already."""
    D_tran, D_rot = inertia_coefficients(robot, axes)
    return StructuredEquations(
        D_tran,
        D_rot,
        translational_velocity_efforts(robot, axes, qd),
        rotational_velocity_efforts(robot, axes, qd),
        gravity_efforts(robot, axes),
    )


def inertia_coefficients(robot: Robot, axes: BaseAxes) -> tuple[Array, Array]:
    """D_ij of eq. (30), the part of translation and the part of rotation, shape (n, n) each."""
    n = len(robot.joints)
    D_tran: list[list[Any]] = [[0.0] * n for _ in range(n)]
    D_rot: list[list[Any]] = [[0.0] * n for _ in range(n)]
    for s, z in enumerate(axes_in_link(robot, axes)):
        m, I_s = robot.links[s + 1].inertia.mass, robot.links[s + 1].inertia.about_com
        dv, path = velocity_columns(robot, axes, s), axes.paths[s]
        tran = m * (dv.T @ dv)  # m_s {z_j x (r_s - p_j)} . {z_i x (r_s - p_i)}
        rot = z.T @ (I_s @ z)  # (R_s z_i)^T I_s (R_s z_j)
        for b, j in enumerate(path):  # s runs over the links that i and j both move
            for a, i in enumerate(path[: b + 1]):
                D_tran[i][j] = D_tran[j][i] = D_tran[i][j] + tran[a, b]
                D_rot[i][j] = D_rot[j][i] = D_rot[i][j] + rot[a, b]
    return np.array(D_tran).reshape(n, n), np.array(D_rot).reshape(n, n)


def translational_velocity_efforts(robot: Robot, axes: BaseAxes, qd: Array) -> Array:
    """H_i^tran of eq. (31), shape (n,).

    The four brackets of (31) are the acceleration of mass centre s at qdd = 0. Their sums over
    joints p and q grow by one term from a link to the next, so each is carried along the tree.
    """
    n, zero = len(robot.joints), np.zeros(3)
    H: list[Any] = [0.0] * n
    w, wd, a = [zero] * n, [zero] * n, [zero] * n
    for s in range(n):
        P, z = robot.parents[s] - 1, axes.b[s] * qd[s]
        if P < 0:
            w[s] = z if axes.rotates[s] else zero
        else:
            p_star = axes.p[s] - axes.p[P]  # from joint to joint: rides on link P
            # first bracket, then second: the links below
            a[s] = a[P] + cross(w[P], cross(w[P], p_star)) + cross(wd[P], p_star)
            if axes.rotates[s]:
                w[s] = w[P] + z  # eq. (6): sum of qd_p z_p
                wd[s] = wd[P] + cross(w[P], z)  # sum over p of (sum over q < p of qd_q z_q) x ...
            else:
                w[s], wd[s] = w[P], wd[P]
                a[s] = a[s] + 2.0 * cross(w[P], z)  # not in the paper: prismatic joint
        body = robot.links[s + 1].inertia
        c = axes.R[s] @ body.com
        # third bracket, then fourth: the link itself
        a_C = a[s] + cross(w[s], cross(w[s], c)) + cross(wd[s], c)
        on_path = velocity_columns(robot, axes, s).T @ (body.mass * a_C)
        for column, i in enumerate(axes.paths[s]):
            H[i] = H[i] + on_path[column]
    return np.array(H)


def rotational_velocity_efforts(robot: Robot, axes: BaseAxes, qd: Array) -> Array:
    """H_i^rot of eq. (32), shape (n,); everything in link axes."""
    n, zero = len(robot.joints), np.zeros(3)
    H: list[Any] = [0.0] * n
    w, wd = [zero] * n, [zero] * n
    for s, z in enumerate(axes_in_link(robot, axes)):
        P = robot.parents[s] - 1
        if P >= 0:
            w[s], wd[s] = axes.R_P[s].T @ w[P], axes.R_P[s].T @ wd[P]
        if axes.rotates[s]:
            turn = robot.joints[s].axis * qd[s]
            wd[s] = wd[s] + cross(w[s], turn)  # sum of qd_j R_s z_j x qd_k R_s z_k over j < k
            w[s] = w[s] + turn  # sum of qd_p R_s z_p
        I_s = robot.links[s + 1].inertia.about_com
        on_path = z.T @ (I_s @ wd[s]) + cross(z, w[s][:, None]).T @ (I_s @ w[s])
        for column, i in enumerate(axes.paths[s]):
            H[i] = H[i] + on_path[column]
    return np.array(H)


def gravity_efforts(robot: Robot, axes: BaseAxes) -> Array:
    """G_i of eq. (33), shape (n,): -g . [z_i x sum_j m_j (r_j - p_i)]."""
    n = len(robot.joints)
    G: list[Any] = [0.0] * n
    mass: list[Any] = [0.0] * n
    moment = [np.zeros(3)] * n  # sum over the links j that joint i moves of m_j (r_j - p_i)
    for i in reversed(range(n)):
        body, P = robot.links[i + 1].inertia, robot.parents[i] - 1
        mass[i] = mass[i] + body.mass
        moment[i] = moment[i] + axes.R[i] @ body.first_moment
        if axes.rotates[i]:
            G[i] = -(robot.gravity @ cross(axes.b[i], moment[i]))
        else:
            G[i] = -(robot.gravity @ (mass[i] * axes.b[i]))
        if P >= 0:
            mass[P] = mass[P] + mass[i]
            moment[P] = moment[P] + moment[i] + mass[i] * (axes.p[i] - axes.p[P])
    return np.array(G)


def velocity_columns(robot: Robot, axes: BaseAxes, s: int) -> Array:
    """dv_s/dqd_i of eq. (12) for the joints of path s: z_i x (r_s - p_i), or z_i if prismatic."""
    return axes.jacobian(s, axes.p[s] + axes.R[s] @ robot.links[s + 1].inertia.com)[0]


def axes_in_link(robot: Robot, axes: BaseAxes) -> list[Array]:
    """R_s z_i of eq. (7) for every link s and the joints of its path, shape (3, d).

    The column of a prismatic joint is zero: it turns nothing.
    """
    z: list[Array] = []
    for s, joint in enumerate(robot.joints):
        P = robot.parents[s] - 1
        own = (joint.axis if axes.rotates[s] else np.zeros(3))[:, None]
        z.append(own if P < 0 else np.hstack([axes.R_P[s].T @ z[P], own]))
    return z
