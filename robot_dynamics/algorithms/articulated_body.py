"""Forward dynamics by articulated bodies: [Featherstone2008], chapter 7.

A link with its free outward joints is an articulated body, whose inertia at the
link (its handle) differs from that of a rigid body. From the tips inward, each
joint passes to the parent the part of the inertia that the joint cannot yield to.

All vectors of a link are in its own axes, about its own origin. Accelerations are
those of the origin as a material point, not spatial ones, so that no linear
velocity is needed. The only divisors are the inertias that joints move, which do
not change when inertial parameters are regrouped.

On robots with tiny links between large ones this algorithm keeps digits that are
lost when the mass matrix is assembled (four at a condition of 1e6, eight at 1e9).
It costs more operations on most arms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.algorithms.change_of_frame import ChangeOfFrame
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.endpoint import Wrenches
from robot_dynamics.robot.kinematic_tree import Joint
from robot_dynamics.robot.robot import Robot
from robot_dynamics.spatial import Inertia, coordinate_axis, cross, skew, symmetric


def forward_dynamics(robot: Robot, q: Array, qd: Array, tau: Array, wrenches: Wrenches) -> Array:
    """Compute the joint accelerations that the given efforts produce.

    Args:
        robot: Tree without fixed joints; n joints. No joint may follow another: efforts that
            couple branches are outside this recursion; take the mass matrix route for them.
        q: Joint positions, shape (n,), rad or m.
        qd: Joint velocities, shape (n,).
        tau: Joint efforts, shape (n,), N m or N.
        wrenches: For a link (by index in `robot.links`), force (3,) N and moment (3,) N m about
            the link origin that the link exerts on its surroundings, in axes of the link.

    Returns:
        Joint accelerations qdd, shape (n,), rad/s^2 or m/s^2. Not finite where a joint moves no
        inertia.
    """
    n = len(robot.joints)
    # X_PL[k]: frame of link L = k + 1 in that of its parent P
    X_PL = [ChangeOfFrame(joint, q[k]) for k, joint in enumerate(robot.joints)]
    inertias = _joint_inertias(robot, X_PL)
    zero = np.zeros(3)

    # Outward: velocities, and the wrench of every link by itself at zero acceleration
    w = [zero] * (n + 1)  # angular velocity, (3,), rad/s
    # Acceleration of a link beyond its parent's at zero qdd: of the origin, and angular
    a_bias, wd_bias = [zero] * (n + 1), [zero] * (n + 1)
    f, m = [zero] * (n + 1), [zero] * (n + 1)  # force and moment, (3,), N and N m
    for k, joint in enumerate(robot.joints):
        i, w_P = k + 1, w[robot.parents[k]]  # of the parent, in its axes
        u = joint.axis * qd[k]
        w[i] = w_i = X_PL[k].vector_to_child(w_P)
        a_bias[i] = X_PL[k].vector_to_child(cross(w_P, cross(w_P, X_PL[k].p)))
        if joint.type.rotates:
            wd_bias[i] = cross(w_i, u)
            w[i] = w_i + u
        else:
            a_bias[i] = a_bias[i] + 2.0 * cross(w_i, u)
        body = robot.links[i].inertia
        f[i] = cross(w[i], cross(w[i], body.first_moment))
        m[i] = cross(w[i], body.second_moment @ w[i])
    for i, (force, moment) in wrenches.items():
        f[i], m[i] = f[i] + force, m[i] + moment

    # Inward: the wrench at the handle at zero acceleration with yielding joints
    qdd_at_rest: list[Any] = [0.0] * n  # acceleration of joint k when its parent does not move
    for k in reversed(range(n)):
        joint, i, parent, inertia = robot.joints[k], k + 1, robot.parents[k], inertias[k]
        effort = tau[k] - joint.axis @ (m[i] if joint.type.rotates else f[i])
        qdd_at_rest[k] = effort * inertia.inverse_D
        if parent > 0:
            f_bias, m_bias = inertia.rest.wrench(a_bias[i], wd_bias[i])
            f_P, m_P = X_PL[k].wrench_to_parent(
                f[i] + f_bias + inertia.force * qdd_at_rest[k],
                m[i] + m_bias + inertia.moment * qdd_at_rest[k],
            )
            f[parent], m[parent] = f[parent] + f_P, m[parent] + m_P

    # Outward: accelerations
    a, wd = [zero] * (n + 1), [zero] * (n + 1)  # of the origin, m/s^2, and angular, rad/s^2
    a[0] = -robot.gravity  # stands for the weights: the base falls upwards
    qdd: list[Any] = [0.0] * n
    for k, joint in enumerate(robot.joints):
        i, parent = k + 1, robot.parents[k]
        a_i = X_PL[k].vector_to_child(a[parent] + cross(wd[parent], X_PL[k].p)) + a_bias[i]
        wd_i = X_PL[k].vector_to_child(wd[parent]) + wd_bias[i]
        qdd[k] = qdd_at_rest[k] - inertias[k].unit_force @ a_i - inertias[k].unit_moment @ wd_i
        if joint.type.rotates:
            a[i], wd[i] = a_i, wd_i + joint.axis * qdd[k]
        else:
            a[i], wd[i] = a_i + joint.axis * qdd[k], wd_i
    return np.array(qdd)


def factorise_mass_matrix(robot: Robot, q: Array) -> tuple[Array, Array]:
    """Factorise the mass matrix, M = L^T D L, without assembling it.

    D holds the inertia that every joint moves when all joints outward of it are free. Row k of L
    holds the efforts at the ancestors of joint k per unit effort of joint k.

    Args:
        robot: Tree without fixed joints; n joints. No joint may follow another.
        q: Joint positions, shape (n,), rad or m.

    Returns:
        L, shape (n, n), unit lower triangular, and the reciprocals of the diagonal of D, shape
        (n,): as from `composite_body.factorise`, for `composite_body.solve`.
    """
    # X_PL[k]: frame of link L = k + 1 in that of its parent P
    X_PL = [ChangeOfFrame(joint, q[k]) for k, joint in enumerate(robot.joints)]
    inertias = _joint_inertias(robot, X_PL)
    L: Any = np.eye(len(X_PL), dtype=q.dtype)
    for k, inertia in enumerate(inertias):
        force, moment, j = inertia.unit_force, inertia.unit_moment, k
        while robot.parents[j] > 0:
            force, moment = X_PL[j].wrench_to_parent(force, moment)
            j = robot.parents[j] - 1
            carrier = robot.joints[j]
            L[k, j] = carrier.axis @ (moment if carrier.type.rotates else force)
    return np.array(L), np.array([inertia.inverse_D for inertia in inertias])


class _Articulated(NamedTuple):
    """Inertia of a body whose joints are free, axes and origin of its handle.

    Attributes:
        A: Force per linear acceleration of the origin, symmetric, shape (3, 3), kg.
        H: Force per angular acceleration; H^T is the moment per linear acceleration, kg m.
        J: Moment per angular acceleration, symmetric, kg m^2.
    """

    A: Array
    H: Array
    J: Array

    @staticmethod
    def of_rigid(body: Inertia) -> _Articulated:
        return _Articulated(
            body.mass * np.eye(3), -skew(body.first_moment), np.asarray(body.second_moment)
        )

    def __add__(self, other: Any) -> _Articulated:
        return _Articulated(*[mine + its for mine, its in zip(self, other, strict=True)])

    def wrench(self, a: Array, wd: Array) -> tuple[Array, Array]:
        """Force and moment of an acceleration of the origin and an angular acceleration."""
        return self.A @ a + self.H @ wd, self.H.T @ a + self.J @ wd

    def on_parent(self, X_PL: ChangeOfFrame) -> _Articulated:
        """Transform to the axes and origin of the parent, which accelerates the body by wd x p."""
        P = skew(X_PL.p)
        A, H = X_PL.symmetric_to_parent(self.A), X_PL.matrix_to_parent(self.H)
        H_shifted = H - A @ P
        J = X_PL.symmetric_to_parent(self.J) - H.T @ P + P @ H_shifted
        return _Articulated(A, H_shifted, symmetric(J))


class _JointInertia(NamedTuple):
    """Inertia that a joint moves (U and D of the source) and the inertia left for the parent.

    Attributes:
        force: Force of a unit acceleration of the joint, shape (3,).
        moment: Moment of a unit acceleration of the joint, shape (3,).
        inverse_D: Acceleration of the joint under a unit effort.
        unit_force: Force of a unit effort, shape (3,).
        unit_moment: Moment of a unit effort, shape (3,).
        rest: Inertia of the body that the joint passes to the parent.
    """

    force: Array
    moment: Array
    inverse_D: Any
    unit_force: Array
    unit_moment: Array
    rest: _Articulated


def _joint_inertias(robot: Robot, X_PL: Sequence[ChangeOfFrame]) -> list[_JointInertia]:
    """Compute the inertia that every joint moves, from the tips inward."""
    articulated = [_Articulated.of_rigid(link.inertia) for link in robot.links]
    inertias = []
    for k in reversed(range(len(X_PL))):
        inertia = _joint_inertia(robot.joints[k], articulated[k + 1])
        parent = robot.parents[k]
        if parent > 0:
            articulated[parent] = articulated[parent] + inertia.rest.on_parent(X_PL[k])
        inertias.append(inertia)
    return inertias[::-1]


def _joint_inertia(joint: Joint, body: _Articulated) -> _JointInertia:
    b, (A, H, J) = joint.axis, body
    force, moment = (H @ b, J @ b) if joint.type.rotates else (A @ b, H.T @ b)
    inverse_D = 1.0 / (b @ (moment if joint.type.rotates else force))
    g_f, g_m = force * inverse_D, moment * inverse_D
    # Along the joint axis the unit wrench is one and the remaining inertia zero. For a coordinate
    # axis both are set exactly, which saves round-off and operations.
    aligned = coordinate_axis(b) is not None
    across = np.eye(3) - np.outer(b, b) if aligned else np.eye(3)
    if aligned:
        g_f, g_m = (g_f, across @ g_m + b) if joint.type.rotates else (across @ g_f + b, g_m)
    A = symmetric(A - np.outer(force, g_f))
    H = H - np.outer(force, g_m)
    J = symmetric(J - np.outer(moment, g_m))
    if joint.type.rotates:
        H, J = H @ across, across @ J @ across
    else:
        H, A = across @ H, across @ A @ across
    return _JointInertia(force, moment, inverse_D, g_f, g_m, _Articulated(A, H, J))
