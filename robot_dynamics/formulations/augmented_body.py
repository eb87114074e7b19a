"""Newton-Euler equations with augmented bodies, of Renaud.

[Renaud1987]: the mass outward of a link is attached to the link where its joint
sits. The moments of this augmented body are constant behind a revolute joint,
so that work done for every sample moves into numbers known beforehand, and the
forces between links split into f = e + m* alpha, of which only e is carried
inward. Step numbers (0a) to (10) are the paper's, and so are the symbols, with
omega, a, b, alpha, t, r for motion and m*, u*, k*, e, n, f for what has mass.

Where this differs from the paper: link i is a link of a tree and i - 1 is its
parent, so that every sum over the next body runs over all children; the axis z_i
is any unit vector fixed in link i and frames lie as the robot has them, the
paper's frames (z along the joint, `robot_dynamics.robot.frames`) being the ones
that leave the fewest operations; gravity has any direction. All bodies enter by
mass, first and second moment, so that a regrouped one, without mass or with
moments that no solid has, is as good as any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from robot_dynamics.formulations.vectors import Array, cross, joint_motion, skew
from robot_dynamics.robot.robot import Robot


def inverse_dynamics(
    robot: Robot, q: Array, qd: Array, qdd: Array, wrenches: Mapping[int, tuple[Array, Array]]
) -> Array:
    """Compute the joint efforts that produce the given accelerations.

    Args:
        robot: Tree without fixed joints; n joints, followers of mimic joints included.
        q: Joint positions, shape (n,), rad or m.
        qd: Joint velocities, shape (n,).
        qdd: Joint accelerations, shape (n,).
        wrenches: For a link (by index in `robot.links`), force (3,) N and moment (3,) N m about
            the link origin that the link exerts on its surroundings, in axes of the link: the
            paper's f^(n+1) and n^(n+1).

    Returns:
        Joint efforts Gamma, shape (n,), N m or N, positive along each joint axis.
    """
    n_joints = len(robot.joints)
    parents = robot.parents
    zero = np.zeros(3)
    R, p = [np.eye(3)], [zero]  # R_(i-1,i) and p_(i-1,i), axes of the parent
    for k, joint in enumerate(robot.joints):
        R_k, p_k = joint_motion(joint, q[k])
        R.append(R_k)
        p.append(p_k)

    # Step 0: augmented bodies, tips to base. On line only where a child slides
    m_ = [link.inertia.mass for link in robot.links]
    u_ = [link.inertia.first_moment for link in robot.links]
    k_ = [link.inertia.second_moment for link in robot.links]
    for k in reversed(range(n_joints)):
        i, parent = k + 1, parents[k]
        if parent > 0:
            m_[parent] = m_[parent] + m_[i]
            u_[parent] = u_[parent] + m_[i] * p[i]  # (0a)
            k_[parent] = k_[parent] - m_[i] * (skew(p[i]) @ skew(p[i]))  # (0b), Huygens

    # Forward iterative calculation, base to tips; all of link i in axes of link i
    omega, a, alpha = [zero], [zero], [-robot.gravity]  # alpha_0 = g z_0
    delta, b = [np.zeros((3, 3))], [np.zeros((3, 3))]
    r, t = [zero], [zero]
    for k, joint in enumerate(robot.joints):
        i, parent, z, R_t = k + 1, parents[k], joint.axis, R[k + 1].T
        omega_P = R_t @ omega[parent]  # (1a)
        a_P = R_t @ a[parent]  # (3a)
        omega_i, a_i, t_i = omega_P, a_P, zero
        if joint.type.rotates:
            omega_i = omega_P + qd[k] * z  # (1b)
            a_i = a_P + (qd[k] * cross(omega_P, z) + qdd[k] * z)  # (3b)
        else:
            t_i = 2.0 * (qd[k] * cross(omega_P, z)) + qdd[k] * z  # (5)
        r_i = R_t @ (alpha[parent] + b[parent] @ p[i])  # (6a), (6b)
        omega.append(omega_i)
        a.append(a_i)
        delta.append(np.outer(omega_i, omega_i))  # (2)
        b.append(tensor_b(a_i, delta[i]))  # (4)
        t.append(t_i)
        r.append(r_i)
        alpha.append(t_i + r_i)  # (6c)

    # Backward iterative calculation, tips to base
    e, n = [zero] * (n_joints + 1), [zero] * (n_joints + 1)
    for i, (force, moment) in wrenches.items():
        e[i], n[i] = e[i] + force, n[i] + moment  # initial conditions
    Gamma: list[Any] = [0.0] * n_joints
    for k in reversed(range(n_joints)):
        joint, i, parent = robot.joints[k], k + 1, parents[k]
        e[i] = e[i] + b[i] @ u_[i] + m_[i] * t[i]  # (7a)
        f_i = e[i] + m_[i] * r[i]  # (8)
        n[i] = n[i] + (k_[i] @ a[i] + gyroscopic(k_[i], delta[i])) + cross(u_[i], alpha[i])  # (9a)
        Gamma[k] = joint.axis @ (n[i] if joint.type.rotates else f_i)  # (10)
        if parent > 0:
            e_P = R[i] @ e[i]  # (7b)
            e[parent] = e[parent] + e_P
            n[parent] = n[parent] + R[i] @ n[i] + cross(p[i], e_P)  # (9b) and the rest of (9a)
    return np.array(Gamma)


def tensor_b(a: Array, delta: Array) -> Array:
    """Tensor b of eq. (4): b @ d is the acceleration of a point at d relative to the origin.

    b = skew(a) + skew(omega) skew(omega), the second term from the products of step (2).
    """
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = delta
    return np.array(
        [
            [-(yy + zz), xy - a[2], xz + a[1]],
            [xy + a[2], -(xx + zz), yz - a[0]],
            [xz - a[1], yz + a[0], -(xx + yy)],
        ]
    )


def gyroscopic(k: Array, delta: Array) -> Array:
    """omega x (k omega) of eq. (9a), shape (3,), from the products of step (2).

    Differences of the moments come first: they are known beforehand, which is how the
    paper's example has one product for each component of a body without products of inertia.
    """
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = delta
    return np.array(
        [
            (k[2, 2] - k[1, 1]) * yz + k[1, 2] * (yy - zz) + k[0, 2] * xy - k[0, 1] * xz,
            (k[0, 0] - k[2, 2]) * xz + k[0, 2] * (zz - xx) + k[0, 1] * yz - k[1, 2] * xy,
            (k[1, 1] - k[0, 0]) * xy + k[0, 1] * (xx - yy) + k[1, 2] * xz - k[0, 2] * yz,
        ]
    )
