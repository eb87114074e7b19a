"""Newton-Euler equations with augmented bodies, of Renaud.

[Renaud1987]: the mass outward of a link is attached to the link where its joint
sits. The moments of this augmented body are constant behind a revolute joint,
so that work done for every sample moves into numbers known beforehand, and the
forces between links split into f = e + m* r, of which only e is carried
inward. Step numbers (0a) to (10) are the paper's, and so are the symbols: omega,
a, b, alpha, t, r for motion and m*, u*, k*, e, n, f for what has mass.

Where this differs from the paper: link i is a link of a tree and i - 1 is its
parent, so that every sum over the next body runs over all children; the axis z_i
is any unit vector fixed in link i and frames lie as the robot has them (the
paper's frames, with z along the joint, leave the fewest operations and are those
of `robot_dynamics.robot.joint_frames`); gravity has any direction. All bodies enter by
mass, first and second moment, so that a regrouped one, without mass or with
moments that no solid has, is as good as any other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.endpoint import Wrenches
from robot_dynamics.robot.kinematic_tree import joint_motion
from robot_dynamics.robot.robot import Robot
from robot_dynamics.spatial import cross, skew


def inverse_dynamics(robot: Robot, q: Array, qd: Array, qdd: Array, wrenches: Wrenches) -> Array:
    """Compute the joint efforts that produce the given accelerations.

    Arguments and result as `registry.InverseDynamics` says; the wrenches are the paper's f^(n+1)
    and n^(n+1), the result is its Gamma.
    """
    return backward(robot, forward(robot, q, qd, qdd), wrenches).Gamma


# -- augmented bodies --------------------------------------------------------------------------


def augmented_bodies(robot: Robot, p: list[Array]) -> tuple[list[Any], list[Array], list[Array]]:
    """Moments m*, u*, k* of order 0, 1 and 2 of every augmented body; step 0, tips to base.

    Args:
        robot: Tree without fixed joints.
        p: For every link, its origin in its parent, shape (3,), m. They are constant behind
            revolute joints, and so are the moments; a prismatic joint makes them change.
    """
    m_ = [link.inertia.mass for link in robot.links]
    u_ = [link.inertia.first_moment for link in robot.links]
    k_ = [link.inertia.second_moment for link in robot.links]
    for k in reversed(range(len(robot.joints))):
        i, parent = k + 1, robot.parents[k]
        if parent > 0:
            m_[parent] = m_[parent] + m_[i]
            u_[parent] = u_[parent] + m_[i] * p[i]  # (0a)
            k_[parent] = k_[parent] - m_[i] * (skew(p[i]) @ skew(p[i]))  # (0b), Huygens
    return m_, u_, k_


# -- forward iterative calculation -----------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LinkKinematics:
    """Motion of every link, one list entry per link, root first; vectors in axes of the link.

    Args:
        R: R_(i-1,i), shape (3, 3).
        p: p_(i-1,i), shape (3,), m, in axes of the parent.
        omega: Angular velocity, shape (3,), rad/s.
        a: Angular acceleration, shape (3,), rad/s^2.
        delta: Products omega (x) omega, shape (3, 3).
        b: Tensor b, shape (3, 3), 1/s^2.
        alpha: Acceleration of the origin less gravity, shape (3,), m/s^2.
        r: The part of alpha that the parent causes, shape (3,).
        t: The part of alpha that a prismatic joint causes, shape (3,).
    """

    R: list[Array]
    p: list[Array]
    omega: list[Array]
    a: list[Array]
    delta: list[Array]
    b: list[Array]
    alpha: list[Array]
    r: list[Array]
    t: list[Array]


def forward(robot: Robot, q: Array, qd: Array, qdd: Array) -> LinkKinematics:
    """Steps (1) to (6), base to tips, with the arguments of `inverse_dynamics`."""
    zero, none = np.zeros(3), np.zeros((3, 3))
    alpha_0 = -robot.gravity  # g z_0
    m = LinkKinematics(
        [np.eye(3)], [zero], [zero], [zero], [none], [none], [alpha_0], [zero], [zero]
    )
    for k, (joint, parent) in enumerate(zip(robot.joints, robot.parents, strict=True)):
        z = joint.axis
        R, p = joint_motion(joint, q[k])
        omega_P = R.T @ m.omega[parent]  # (1a)
        a_P = R.T @ m.a[parent]  # (3a)
        if joint.type.rotates:
            omega = omega_P + qd[k] * z  # (1b)
            a = a_P + (qd[k] * cross(omega_P, z) + qdd[k] * z)  # (3b)
            t = zero
        else:
            omega, a = omega_P, a_P
            t = 2.0 * (qd[k] * cross(omega_P, z)) + qdd[k] * z  # (5)
        delta = np.outer(omega, omega)  # (2)
        r = R.T @ (m.alpha[parent] + m.b[parent] @ p)  # (6a), (6b)
        m.R.append(R)
        m.p.append(p)
        m.omega.append(omega)
        m.a.append(a)
        m.delta.append(delta)
        m.b.append(tensor_b(a, delta))  # (4)
        m.alpha.append(t + r)  # (6c)
        m.r.append(r)
        m.t.append(t)
    return m


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


# -- backward iterative calculation ----------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Forces:
    """Action of the parent of every link on it, one list entry per link, root first.

    Args:
        e: Joint force less that of the augmented mass, f - m* r, shape (3,), N.
        n: Joint torque about the link origin, shape (3,), N m.
        Gamma: Joint efforts, one per joint, shape (n,), N m or N.
    """

    e: list[Array]
    n: list[Array]
    Gamma: Array


def backward(robot: Robot, motion: LinkKinematics, wrenches: Wrenches) -> Forces:
    """Steps (7) to (10), tips to base, with the arguments of `inverse_dynamics`."""
    R, p, b = motion.R, motion.p, motion.b
    m_, u_, k_ = augmented_bodies(robot, p)
    e, n = [np.zeros(3) for _ in robot.links], [np.zeros(3) for _ in robot.links]
    for i, (force, moment) in wrenches.items():  # initial conditions
        e[i], n[i] = e[i] + force, n[i] + moment
    Gamma: list[Any] = [0.0] * len(robot.joints)
    for k in reversed(range(len(robot.joints))):
        joint, i, parent = robot.joints[k], k + 1, robot.parents[k]
        e[i] = e[i] + b[i] @ u_[i] + m_[i] * motion.t[i]  # (7a)
        f_i = e[i] + m_[i] * motion.r[i]  # (8)
        own = k_[i] @ motion.a[i] + gyroscopic(k_[i], motion.delta[i])
        n[i] = n[i] + own + cross(u_[i], motion.alpha[i])  # (9a) but for its last term
        Gamma[k] = joint.axis @ (n[i] if joint.type.rotates else f_i)  # (10)
        if parent > 0:
            e_P = R[i] @ e[i]  # (7b)
            e[parent] = e[parent] + e_P
            n[parent] = n[parent] + R[i] @ n[i] + cross(p[i], e_P)  # (9b), last term of (9a)
    return Forces(e, n, np.array(Gamma))


def gyroscopic(k: Array, delta: Array) -> Array:
    """Gyroscopic moment omega x (k omega) of eq. (9a), shape (3,), from the products of step (2).

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
