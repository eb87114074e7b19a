"""Recursive Newton-Euler equations of Luh, Walker and Paul.

[AsadaSlotine1986], section 5.3: outward recursion of the motion of every link,
inward recursion of the forces between links, all vectors of link i in the axes
of link i, as Luh, Walker and Paul write them to save rotations.

Where this differs from the book: a link frame lies on the joint that carries the
link, as in a URDF, and not on the next joint, so the vector r between two frames
rides on the parent and its motion enters before the joint's own; and the book has
chains, while on a tree the inward sums run over all children of a link.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.endpoint import Wrenches
from robot_dynamics.robot.kinematic_tree import joint_motion
from robot_dynamics.robot.robot import Robot
from robot_dynamics.spatial import cross


def inverse_dynamics(robot: Robot, q: Array, qd: Array, qdd: Array, wrenches: Wrenches) -> Array:
    """Compute the joint efforts that produce the given accelerations.

    Arguments and result as `registry.InverseDynamics` says.
    """
    n = len(robot.joints)
    zero = np.zeros(3)
    R, p = [np.eye(3)] * (n + 1), [zero] * (n + 1)  # of link i in its parent
    w, wd = [zero] * (n + 1), [zero] * (n + 1)  # angular velocity, acceleration
    a = [zero] * (n + 1)  # linear acceleration of the link origin
    a[0] = -robot.gravity  # stands for the weights -m_i g in eq. (5-67): the base falls upwards

    # Outward, from the base to the tips: section 5.3.3
    for k, joint in enumerate(robot.joints):
        i, parent, b = k + 1, robot.parents[k], joint.axis
        R[i], p[i] = joint_motion(joint, q[k])
        w_P, wd_P = w[parent], wd[parent]
        a_i = R[i].T @ (a[parent] + cross(wd_P, p[i]) + cross(w_P, cross(w_P, p[i])))
        w_i, wd_i = R[i].T @ w_P, R[i].T @ wd_P
        if joint.type.rotates:
            w[i] = w_i + b * qd[k]  # eq. (5-82)
            wd[i] = wd_i + b * qdd[k] + cross(w_i, b * qd[k])  # eq. (5-83)
            a[i] = a_i  # eq. (5-91)
        else:
            w[i], wd[i] = w_i, wd_i  # eqs. (5-80), (5-81)
            a[i] = a_i + b * qdd[k] + 2.0 * cross(w_i, b * qd[k])  # eq. (5-87)

    # Inward, from the tips to the base: coupling force f and moment m (the book's N)
    f, m = [zero] * (n + 1), [zero] * (n + 1)
    for i, (force, moment) in wrenches.items():
        f[i], m[i] = f[i] + force, m[i] + moment
    tau: list[Any] = [0.0] * n
    for k in reversed(range(n)):
        joint, i, parent = robot.joints[k], k + 1, robot.parents[k]
        body = robot.links[i].inertia
        c, I_C = body.com, body.about_com
        a_C = a[i] + cross(wd[i], c) + cross(w[i], cross(w[i], c))  # eq. (5-93)
        F = body.mass * a_C
        f[i] = f[i] + F  # eq. (5-67)
        m[i] = m[i] + cross(c, F) + I_C @ wd[i] + cross(w[i], I_C @ w[i])  # eq. (5-68)
        tau[k] = joint.axis @ (m[i] if joint.type.rotates else f[i])  # component along the axis
        if parent > 0:
            f_P = R[i] @ f[i]
            f[parent] = f[parent] + f_P
            m[parent] = m[parent] + R[i] @ m[i] + cross(p[i], f_P)
    return np.array(tau)
