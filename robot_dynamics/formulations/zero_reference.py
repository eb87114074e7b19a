"""Newton-Euler equations in the zero reference position, of Gupta.

[Gupta1986] and its continuation to dynamics, sections 2 and 3: no link frames,
every vector is given in base axes at the zero position (`ZeroReference`).

The same equations stand in the paper twice. In equations (2), (5)-(16) all vectors
are current ones in base axes. In the starred form (18)-(29) each equation of a link
is premultiplied by the transposed rotation of that link from its zero position,
which brings every body vector and inertia back to its constant value and leaves one
rotation of a joint, R(q_k, u_ok), where a vector passes between neighbours. Here a
set of `Vectors` decides which of the two is computed, and one text serves both:
with current vectors the rotations between neighbours are the identity.

Where this goes beyond the paper. The paper has a chain of six joints, and goes
through it from the hand to the base, where the hand's motion is known, or from the
base to the hand in its section 4. Here sums run over all joints that a link carries,
motion may start at either end, and the hand may exert a force and a moment on its
surroundings. Numbering is that of `robot_dynamics.robot.zero_position`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.endpoint import Wrenches
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.zero_position import ZeroReference
from robot_dynamics.spatial import cross, rotation_about


def inverse_dynamics(robot: Robot, q: Array, qd: Array, qdd: Array, wrenches: Wrenches) -> Array:
    """Compute the joint efforts that produce the given accelerations, in starred vectors.

    Equations (18) to (29), motion from the base by (40) to (44).

    Arguments and result as `registry.InverseDynamics` says.
    """
    zero = ZeroReference.from_robot(robot)
    vectors = starred_vectors(zero, q)
    motion = motion_from_base(zero, vectors, qd, qdd)
    return joint_forces(zero, vectors, motion, wrenches).f


def inverse_dynamics_in_base_axes(
    robot: Robot, q: Array, qd: Array, qdd: Array, wrenches: Wrenches
) -> Array:
    """Compute the same efforts with all vectors current and in base axes.

    Equations (2), (3) and (5) to (16); arguments and result as for `inverse_dynamics`.
    """
    zero = ZeroReference.from_robot(robot)
    vectors = current_vectors(zero, q)
    motion = motion_from_base(zero, vectors, qd, qdd)
    return joint_forces(zero, vectors, motion, wrenches).f


# -- the vectors of the two forms -----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Vectors:
    """Vectors and tensors of the recursions, all of one form: starred, or current in base axes.

    Args:
        R: For joint k, rotation from the axes used for its link to those of the link before.
        u: For joint k, unit vector along it.
        GP: For joint k, from the mass centre of the link before to the joint centre.
        PG: For link i, from the centre of the joint that carries it to its mass centre.
        PO: For link i, from there to its frame's origin, where a wrench acts: zero, unless the
            link slides in a collar.
        inertia: For link i, about its mass centre.
        axes: For link i, orientation of its own frame in the axes used.
    """

    R: list[Array]
    u: list[Array]
    GP: list[Array]
    PG: list[Array]
    PO: list[Array]
    inertia: list[Array]
    axes: list[Array]


def starred_vectors(zero: ZeroReference, q: Array, collar_before: Collection[int] = ()) -> Vectors:
    """Starred vectors: the constants of the zero position, equations (17), (20) and (21).

    A prismatic joint slides in a collar; its centre P_k is the middle of the collar and moves
    with the link that bears it. Efforts do not depend on which link that is, joint moments do.

    Args:
        zero: Description of n joints.
        q: Joint positions, shape (n,), rad or m.
        collar_before: Indices of the prismatic joints whose collar is on the link before the
            joint; otherwise it is on the link that the joint carries.
    """
    u, s, d = list(zero.u), list(zero.s), list(zero.d)
    R, GP, PG, PO = [], list(d), list(s), [np.zeros(3)] * len(s)
    for k, joint in enumerate(zero.robot.joints):
        if joint.type.rotates:
            R.append(rotation_about(u[k], q[k]))  # [R(theta_k, u_ok)] of eq. (1b)
            continue
        R.append(np.eye(3))
        if k in collar_before:
            PO[k + 1] = u[k] * q[k]
            PG[k + 1] = s[k + 1] + PO[k + 1]  # eqs. (8), (21)
        else:
            GP[k] = d[k] + u[k] * q[k]  # eqs. (7), (20)
    return Vectors(R, u, GP, PG, PO, list(zero.inertia), list(zero.axes))


def current_vectors(zero: ZeroReference, q: Array) -> Vectors:
    """Current vectors in base axes, equations (2), (3), (7) and (8), at positions (n,)."""
    starred = starred_vectors(zero, q)
    parents = zero.robot.parents
    R: list[Array] = [np.eye(3)]  # [R_k]: rotation of a link from its zero position
    for k, i in enumerate(parents):
        R.append(R[i] @ starred.R[k])  # eq. (3)
    n = len(parents)
    return Vectors(
        R=[np.eye(3)] * n,
        u=[R[parents[k]] @ starred.u[k] for k in range(n)],  # eq. (2a)
        GP=[R[parents[k]] @ starred.GP[k] for k in range(n)],  # eq. (2d)
        PG=[R[i] @ starred.PG[i] for i in range(n + 1)],  # eq. (2c)
        PO=[R[i] @ starred.PO[i] for i in range(n + 1)],
        inertia=[R[i] @ starred.inertia[i] @ R[i].T for i in range(n + 1)],  # eq. (2e)
        axes=[R[i] @ starred.axes[i] for i in range(n + 1)],
    )


# -- section 3: motion ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class MassCentreMotion:
    """Motion of every link: angular velocity and acceleration, acceleration of the mass centre."""

    omega: list[Array]
    alpha: list[Array]
    a_G: list[Array]

    @staticmethod
    def at_rest(links: int) -> MassCentreMotion:
        """All links at rest."""
        return MassCentreMotion([np.zeros(3)] * links, [np.zeros(3)] * links, [np.zeros(3)] * links)


def motion_from_base(zero: ZeroReference, v: Vectors, qd: Array, qdd: Array) -> MassCentreMotion:
    """Motion of all links, from the base at rest to the tips."""
    motion = MassCentreMotion.at_rest(len(zero.robot.links))
    for k in range(len(zero.robot.joints)):
        outward(zero.robot, v, qd, qdd, k, motion)
    return motion


def outward(robot: Robot, v: Vectors, qd: Array, qdd: Array, k: int, m: MassCentreMotion) -> None:
    """Motion of the link that joint k carries from that of the link before it.

    The same equations solved for the outer link: (40) to (44).
    """
    i, p = k + 1, robot.parents[k]
    R, u, GP, PG = v.R[k], v.u[k], v.GP[k], v.PG[i]
    a_P = m.a_G[p] + cross(m.alpha[p], GP) + centripetal(m.omega[p], GP)  # eq. (44)
    if robot.joints[k].type.rotates:
        m.omega[i] = R.T @ (m.omega[p] + u * qd[k])  # eq. (40)
        m.alpha[i] = R.T @ (m.alpha[p] + u * qdd[k] + cross(m.omega[p], u * qd[k]))  # eq. (41)
        a_P = R.T @ a_P  # eq. (43)
    else:
        m.omega[i], m.alpha[i] = R.T @ m.omega[p], R.T @ m.alpha[p]
        a_P = R.T @ (a_P + u * qdd[k] + 2.0 * cross(m.omega[p], u * qd[k]))
    m.a_G[i] = a_P + cross(m.alpha[i], PG) + centripetal(m.omega[i], PG)  # eq. (42)


def centripetal(omega: Array, r: Array) -> Array:
    """Omega x (omega x r), shape (3,)."""
    return cross(omega, cross(omega, r))


# -- section 3: forces ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class JointForces:
    """Actions of the link before each joint on the link that the joint carries.

    Args:
        F: For joint k, force at the joint centre P_k, shape (3,), N, in the axes used.
        T: For joint k, moment about P_k, shape (3,), N m.
        f: Actuator forces or torques, shape (n,).
    """

    F: list[Array]
    T: list[Array]
    f: Array


def joint_forces(
    zero: ZeroReference, v: Vectors, motion: MassCentreMotion, wrenches: Wrenches
) -> JointForces:
    """D'Alembert's principle for every link, from the tips to the base."""
    robot = zero.robot
    links, mass = len(robot.links), zero.mass
    g: list[Array] = [robot.gravity] * links  # in the axes used for the link
    for k, p in enumerate(robot.parents):
        g[k + 1] = v.R[k].T @ g[p]

    # Reaction of the surroundings and of the links further out, summed at P of the link
    F, T = [np.zeros(3)] * links, [np.zeros(3)] * links
    for i, (force, moment) in wrenches.items():
        F[i] = v.axes[i] @ force
        T[i] = v.axes[i] @ moment + cross(v.PO[i], F[i])

    f: list[Any] = [0.0] * (links - 1)
    for k in reversed(range(links - 1)):
        i, p = k + 1, robot.parents[k]
        F_inertia = -mass[i] * motion.a_G[i]  # eqs. (12), (25)
        I_G, omega = v.inertia[i], motion.omega[i]
        M_inertia = -(I_G @ motion.alpha[i] + cross(omega, I_G @ omega))  # eqs. (13), (26)
        W = mass[i] * g[i]
        F[i] = F[i] - W - F_inertia  # eqs. (14), (27)
        T[i] = T[i] - M_inertia - cross(v.PG[i], W + F_inertia)  # eqs. (15), (28)
        f[k] = v.u[k] @ (T[i] if robot.joints[k].type.rotates else F[i])  # eqs. (16), (29)
        if p > 0:
            F_k = v.R[k] @ F[i]
            F[p] = F[p] + F_k
            T[p] = T[p] + v.R[k] @ T[i] + cross(v.PG[p] + v.GP[k], F_k)
    return JointForces(F[1:], T[1:], np.array(f))
