"""Kane's equations for manipulators, of Angeles, Ma and Rojas.

[Angeles1989]: the driving torques are the inertia and active forces of all links
projected on the joint rates by the partial velocities, eq. (37); carried out from
the tips to the base this becomes the recursion of section 6 in three stages.

Symbols. Q_i turns vectors of link i into axes of link i - 1, a_i goes from O_(i-1)
to O_i, rho_i from O_i to the mass centre C_i, all of them in axes of the link whose
number they bear, but for a_i, which is in axes of link i - 1. W_i = Omega-dot_i +
Omega_i^2, and p-double-dot_i is the acceleration of C_i less gravity.

Where this differs from the paper. There the link frames are those of Hartenberg and
Denavit, Q_i = Rx(alpha_i) Rz(theta_i), and vectors are turned by one factor after the
other, eqs. (54) and (55). Here the frames lie as the robot has them, and Q_i is the
constant rotation of the joint's origin times the turn about its axis, applied in the
same way; for a robot in Hartenberg-Denavit frames (`robot_dynamics.robot.
denavit_hartenberg`) this is the paper's Q_i. The paper's b_i runs against Z_i, so that
eqs. (8), (19), (20) and (22) have minus signs; here a prismatic joint moves along its
axis, and they have plus signs. The Stage 2 listing subtracts W (a - rho); eq. (18)
adds it, which is right. The paper has chains; on a tree i - 1 is the link before
joint i, and what stands for i + 1 is summed over all joints that link i carries.
Endpoint actions, which the paper leaves out, are initial values of v and w.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from robot_dynamics.foundation.arrays import Array, vector
from robot_dynamics.foundation.scalars import lowers
from robot_dynamics.robot.endpoint import Wrenches
from robot_dynamics.robot.kinematic_tree import Joint, joint_motion
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.spatial import cross, rotation_about

DissipativeForces = Callable[[Array, Array], Array]
"""phi_d(q, qd) of eq. (40): forces on the joints, opposed to motion, shape (n,), N m or N."""


def inverse_dynamics(
    robot: Robot,
    q: Array,
    qd: Array,
    qdd: Array,
    wrenches: Wrenches,
    phi_d: DissipativeForces | None = None,
) -> Array:
    """Compute the joint efforts that produce the given accelerations: section 6.

    Arguments and result as `registry.InverseDynamics` says. `phi_d` gives dissipative forces of q
    and qd, the term of eq. (37) that section 5 drops. Viscous, Coulomb and Stribeck friction as a
    smooth function is `lambda q, qd: -friction.smooth(qd)` with a
    `robot_dynamics.control.friction.Friction`.
    """
    Q = [Rotation(joint, q[k]) for k, joint in enumerate(robot.joints)]
    a = translations(robot, q)
    omega, omega_dot, p_ddot = kinematics(robot, Q, a, qd, qdd)
    tau = driving_forces(robot, Q, a, omega, omega_dot, p_ddot, wrenches)
    return tau if phi_d is None else tau - phi_d(q, qd)  # eq. (37)


# -- stage 1: rotation matrices and translation vectors -------------------------------------------


class Rotation:
    """Q_i, never multiplied out: first one factor, then the other, as in eqs. (54) and (55).

    Args:
        joint: Moving joint that carries link i.
        q: Its position, rad or m.
    """

    def __init__(self, joint: Joint, q: Any) -> None:
        self._constant = joint.origin.rotation
        self._turn = rotation_about(joint.axis, q) if joint.type.rotates else np.eye(3)

    def __matmul__(self, v: Array) -> Array:
        """Q_i v: from axes of link i to axes of link i - 1."""
        return self._constant @ (self._turn @ v)

    def transposed(self, v: Array) -> Array:
        """Q_i^T v: from axes of link i - 1 to axes of link i."""
        return self._turn.T @ (self._constant.T @ v)


def translations(robot: Robot, q: Array) -> list[Array]:
    """Vectors a_i from O_(i-1) to O_i in axes of link i - 1, eq. (8), one per joint."""
    return [joint_motion(joint, q[k])[1] for k, joint in enumerate(robot.joints)]


# -- stage 2: kinematics, equations (12) to (20) and (53) -----------------------------------------


def kinematics(
    robot: Robot, Q: list[Rotation], a: list[Array], qd: Array, qdd: Array
) -> tuple[list[Array], list[Array], list[Array]]:
    """Motion of every link in its own axes, from the base outwards.

    Returns:
        For every link, the base first: angular velocity, angular acceleration, and acceleration
        of the mass centre less gravity, shape (3,) each.
    """
    zero = np.zeros(3)
    omega, omega_dot, p_ddot = [zero], [zero], [-robot.gravity]  # eqs. (14), (51)
    W: list[Array] = [np.zeros((3, 3))]
    rho = [zero] + [link.inertia.com for link in robot.links[1:]]
    for k, joint in enumerate(robot.joints):
        i, parent, e = k + 1, robot.parents[k], joint.axis
        omega_i, omega_dot_i = Q[k].transposed(omega[parent]), Q[k].transposed(omega_dot[parent])
        if joint.type.rotates:
            omega_i = omega_i + e * qd[k]  # eq. (12)
            omega_dot_i = omega_dot_i + cross(omega_i, e * qd[k]) + e * qdd[k]  # eq. (13)
        W_i = acceleration_tensor(omega_i, omega_dot_i)
        p_ddot_i = (  # eqs. (18), (20)
            Q[k].transposed(p_ddot[parent] + W[parent] @ (a[k] - rho[parent])) + W_i @ rho[i]
        )
        if not joint.type.rotates:
            p_ddot_i = p_ddot_i + (2.0 * cross(omega_i, e * qd[k]) + e * qdd[k])
        omega.append(omega_i)
        omega_dot.append(omega_dot_i)
        W.append(W_i)
        p_ddot.append(p_ddot_i)
    return omega, omega_dot, p_ddot


def acceleration_tensor(omega: Array, omega_dot: Array) -> Array:
    """W = Omega-dot + Omega^2 of eq. (53): W r is the acceleration of r relative to the origin."""
    x, y, z = omega
    xx, yy, zz, xy, yz, zx = x * x, y * y, z * z, x * y, y * z, z * x
    dx, dy, dz = omega_dot
    return np.array(
        [
            [-(yy + zz), xy - dz, zx + dy],
            [xy + dz, -(zz + xx), yz - dx],
            [zx - dy, yz + dx, -(xx + yy)],
        ]
    )


# -- stage 3: generalized driving forces, equations (44) to (49) ----------------------------------


def driving_forces(
    robot: Robot,
    Q: list[Rotation],
    a: list[Array],
    omega: list[Array],
    omega_dot: list[Array],
    p_ddot: list[Array],
    wrenches: Wrenches,
) -> Array:
    """Efforts of all joints, from the tips inwards, shape (n,), N m or N."""
    n = len(robot.joints)
    v, w = [np.zeros(3)] * (n + 1), [np.zeros(3)] * (n + 1)  # v_(n+1) = w_(n+1) = 0
    for i, (force, moment) in wrenches.items():
        v[i], w[i] = v[i] + force, w[i] + moment
    tau: list[Any] = [0.0] * n
    for k in reversed(range(n)):
        joint, i, parent = robot.joints[k], k + 1, robot.parents[k]
        body = robot.links[i].inertia
        rho, I = body.com, body.about_com  # noqa: E741 (the paper's letter)
        h_dot = I @ omega_dot[i] + cross(omega[i], I @ omega[i])  # eq. (2)
        u = body.mass * p_ddot[i]
        v[i] = v[i] + u  # eq. (49)
        w[i] = w[i] + (h_dot + cross(rho, u))  # eqs. (46), (47)
        tau[k] = joint.axis @ (w[i] if joint.type.rotates else v[i])  # eqs. (44), (45)
        if parent > 0:  # v_(i+1) and w_(i+1) in axes of link i, summed over what it carries
            v_P = Q[k] @ v[i]
            v[parent] = v[parent] + v_P
            w[parent] = w[parent] + (Q[k] @ w[i] + cross(a[k], v_P))
    return np.array(tau)


# -- section 4: partial velocities ----------------------------------------------------------------


@lowers
def partial_velocities(robot: Robot, q: npt.ArrayLike) -> tuple[Array, Array]:
    """Compute the partial angular velocities A_j and partial velocities B_j, eqs. (31) to (36).

    Args:
        robot: Any robot; n independent joints in the order of `robot.joint_names`.
        q: Joint positions, shape (n,), rad or m.

    Returns:
        A, shape (N, 3, n): derivatives of the angular velocities of the N moving links (of
        `merge_fixed(robot)`, base left out) with respect to qd; and B, shape (N, 3, n): those of
        the velocities of their mass centres. In base axes. A joint that others mimic has the
        sum of its own columns and theirs.

    Raises:
        ShapeError: If q does not have one entry per independent joint.
        ArgumentError: If an entry is not a finite number.
    """
    tree = merge_fixed(robot)
    E, e0 = tree.coupling.matrix, tree.coupling.offset
    A, B = _partial_velocities(tree, E @ vector("q", q, robot.dof) + e0)
    return A @ E, B @ E


def _partial_velocities(robot: Robot, q: Array) -> tuple[Array, Array]:
    """A and B of all joints of a tree without fixed joints."""
    n = len(robot.joints)
    R: list[Array] = [np.eye(3)]
    O: list[Array] = [np.zeros(3)]  # noqa: E741 (the paper's letter for the origins)
    e: list[Array] = []
    paths: list[tuple[int, ...]] = [()]
    A: Any = np.zeros((n, 3, n), dtype=np.result_type(q, 1.0))
    B: Any = np.zeros_like(A)
    for k, joint in enumerate(robot.joints):
        i, parent = k + 1, robot.parents[k]
        R_i, p_i = joint_motion(joint, q[k])
        O.append(O[parent] + R[parent] @ p_i)
        R.append(R[parent] @ R_i)
        e.append(R[i] @ joint.axis)
        paths.append((*paths[parent], k))
        C = O[i] + R[i] @ robot.links[i].inertia.com
        for m in paths[i]:
            if robot.joints[m].type.rotates:
                A[k][:, m] = e[m]  # eq. (32)
                B[k][:, m] = cross(e[m], C - O[m + 1])  # eqs. (33), (36)
            else:
                B[k][:, m] = e[m]  # eqs. (34), (35)
    return A, B
