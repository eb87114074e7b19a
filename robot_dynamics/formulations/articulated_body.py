"""Forward dynamics by articulated bodies (Featherstone, 1983).

Seen from its handle, a link with everything that hangs on it by moving joints is
a body whose inertia is no longer that of a rigid one: wrench = inertia times
acceleration plus bias, with 3x3 blocks A (force by linear acceleration), H (force
by angular acceleration, and by transposition moment by linear acceleration) and
J (moment by angular acceleration).

All vectors of a link in its own axes, about its own origin. Accelerations are
those of the origin as a material point, not spatial ones, so that no linear
velocity is needed. Nothing divides by the mass of a link: only by the inertia
that a joint moves, which stays positive when inertial parameters are regrouped.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from robot_dynamics.formulations.change_of_frame import (
    ChangeOfFrame,
    coordinate_axis,
    symmetric,
)
from robot_dynamics.formulations.vectors import Array, cross, skew
from robot_dynamics.robot.robot import Robot


def forward_dynamics(
    robot: Robot, q: Array, qd: Array, tau: Array, wrenches: Mapping[int, tuple[Array, Array]]
) -> Array:
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
        Joint accelerations qdd, shape (n,), rad/s^2 or m/s^2.
    """
    n = len(robot.joints)
    frames = [ChangeOfFrame(joint, q[k]) for k, joint in enumerate(robot.joints)]
    zero = np.zeros(3)
    w = [zero] * (n + 1)  # angular velocity
    # Acceleration of a link beyond its parent's at zero qdd: of the origin, and angular
    a_bias, wd_bias = [zero] * (n + 1), [zero] * (n + 1)
    A, H, J = [[np.zeros((3, 3))] * (n + 1) for _ in range(3)]  # articulated inertia
    f, m = [zero] * (n + 1), [zero] * (n + 1)  # wrench at zero acceleration

    # Outward: velocities, and every link by itself
    for k, joint in enumerate(robot.joints):
        i, frame, w_P = k + 1, frames[k], w[robot.parents[k]]
        u = joint.axis * qd[k]
        w[i] = w_i = frame.vector_to_child(w_P)
        a_bias[i] = frame.vector_to_child(cross(w_P, cross(w_P, frame.p)))
        if joint.type.rotates:
            wd_bias[i] = cross(w_i, u)
            w[i] = w_i + u
        else:
            a_bias[i] = a_bias[i] + 2.0 * cross(w_i, u)
        body = robot.links[i].inertia
        A[i], H[i], J[i] = body.mass * np.eye(3), -skew(body.first_moment), body.second_moment
        f[i] = cross(w[i], cross(w[i], body.first_moment))
        m[i] = cross(w[i], body.second_moment @ w[i])
    for i, (force, moment) in wrenches.items():
        f[i], m[i] = f[i] + force, m[i] + moment

    # Inward: what is left of a link's inertia when its joint gives way
    g: list[tuple[Array, Array]] = [(zero, zero)] * n  # wrench of a unit effort at joint k
    qdd_at_rest: list[Any] = [0.0] * n  # acceleration of joint k when its parent does not move
    for k in reversed(range(n)):
        joint, i, parent, frame = robot.joints[k], k + 1, robot.parents[k], frames[k]
        b, rotates = joint.axis, joint.type.rotates
        U_f, U_m = (H[i] @ b, J[i] @ b) if rotates else (A[i] @ b, H[i].T @ b)
        inverse_D = 1.0 / (b @ (U_m if rotates else U_f))
        g_f, g_m = U_f * inverse_D, U_m * inverse_D
        qdd_at_rest[k] = (tau[k] - b @ (m[i] if rotates else f[i])) * inverse_D
        # Along the joint a unit effort meets itself, and nothing of the inertia is left. Where
        # the axis is a coordinate axis this is written down, so that no round-off and no
        # operation stands in for these ones and zeros.
        across = np.eye(3) if coordinate_axis(b) is None else np.eye(3) - np.outer(b, b)
        if coordinate_axis(b) is not None:
            g_f, g_m = (g_f, across @ g_m + b) if rotates else (across @ g_f + b, g_m)
        g[k] = g_f, g_m
        if parent == 0:
            continue
        A_i = symmetric(A[i] - np.outer(U_f, g_f))
        H_i = H[i] - np.outer(U_f, g_m)
        J_i = symmetric(J[i] - np.outer(U_m, g_m))
        if rotates:
            H_i, J_i = H_i @ across, across @ J_i @ across
        else:
            H_i, A_i = across @ H_i, across @ A_i @ across
        f_i = f[i] + A_i @ a_bias[i] + H_i @ wd_bias[i] + U_f * qdd_at_rest[k]
        m_i = m[i] + H_i.T @ a_bias[i] + J_i @ wd_bias[i] + U_m * qdd_at_rest[k]
        # To the origin of the parent, which accelerates the child's by wd_P x p
        P = skew(frame.p)
        A_P, H_P = frame.symmetric_to_parent(A_i), frame.matrix_to_parent(H_i)
        H_new = H_P - A_P @ P
        J_new = frame.symmetric_to_parent(J_i) - H_P.T @ P + P @ H_new
        A[parent] = A[parent] + A_P
        H[parent] = H[parent] + H_new
        J[parent] = J[parent] + symmetric(J_new)
        f_P, m_P = frame.wrench_to_parent(f_i, m_i)
        f[parent], m[parent] = f[parent] + f_P, m[parent] + m_P

    # Outward: accelerations
    a, wd = [zero] * (n + 1), [zero] * (n + 1)
    a[0] = -robot.gravity  # stands for the weights: the base falls upwards
    qdd: list[Any] = [0.0] * n
    for k, joint in enumerate(robot.joints):
        i, frame, parent = k + 1, frames[k], robot.parents[k]
        a_i = frame.vector_to_child(a[parent] + cross(wd[parent], frame.p)) + a_bias[i]
        wd_i = frame.vector_to_child(wd[parent]) + wd_bias[i]
        g_f, g_m = g[k]
        qdd[k] = qdd_at_rest[k] - g_f @ a_i - g_m @ wd_i
        if joint.type.rotates:
            a[i], wd[i] = a_i, wd_i + joint.axis * qdd[k]
        else:
            a[i], wd[i] = a_i + joint.axis * qdd[k], wd_i
    return np.array(qdd)
