"""Lagrange's equations of Asada and Slotine in closed form.

[AsadaSlotine1986], section 5.2: tau_i = sum_j H_ij qdd_j + sum_jk h_ijk qd_j qd_k + G_i, eq.
(5-38), from the manipulator inertia tensor H (5-28), its derivatives (5-39) and the
potential energy. Other generalized coordinates, (5-49) to (5-56), are in `papers`.

Where this differs from the book:
- Frames and axes are counted with the joint that carries them: b_k here is b_(k-1) there.
- (5-25) prints zero columns for j >= i; they are zero for j > i only. (5-26) prints the lever
  arm r_(0,ci); it is the one from joint j, r_(j-1,ci).
- g is the gravitational acceleration, so the potential energy is -sum m_i g . r_(0,ci), and (5-40)
  has a minus sign where the book prints none. (5-12) has the right sign.
- The book differentiates H in its examples only; the derivatives here are written out for
  revolute and prismatic joints in any direction.
- The book has chains. On a tree a link has columns in its Jacobians for the joints between it
  and the base, and joints of different branches do not interact.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from robot_dynamics.algorithms.base_axes import BaseAxes, base_axes, endpoint_efforts, on_tree
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.scalars import lowers
from robot_dynamics.robot.endpoint import Wrenches
from robot_dynamics.robot.robot import Robot
from robot_dynamics.spatial import cross

__all__ = [
    "coriolis_coefficients",
    "coriolis_matrix",
    "gravity",
    "inverse_dynamics",
    "mass_matrix",
    "mass_matrix_derivatives",
]


def inverse_dynamics(robot: Robot, q: Array, qd: Array, qdd: Array, wrenches: Wrenches) -> Array:
    """Compute the joint efforts that produce the given accelerations, eq. (5-38).

    Args:
        robot: Tree without fixed joints; n joints, followers of mimic joints included.
        q: Joint positions, shape (n,), rad or m.
        qd: Joint velocities, shape (n,), rad/s or m/s.
        qdd: Joint accelerations, shape (n,), rad/s^2 or m/s^2.
        wrenches: By index of a link, force (3,) N and moment (3,) N m that it exerts, in its axes.

    Returns:
        Joint efforts, shape (n,), N m or N.
    """
    axes = base_axes(robot, q)
    H, dH = inertia_tensor(robot, axes), inertia_tensor_derivatives(robot, axes)
    tau = H @ qdd + velocity_efforts(coefficients(dH), qd) + gravity_efforts(robot, axes)
    for effort in endpoint_efforts(axes, wrenches).values():
        tau = tau + effort  # Q = tau + J^T F_ext, eq. (5-33), with F_ext = -F
    return np.array(tau)


@lowers
def mass_matrix(robot: Robot, q: npt.ArrayLike) -> Array:
    """Compute the manipulator inertia tensor H, eq. (5-28).

    Args:
        robot: Any robot; n moving joints, followers of mimic joints included.
        q: Joint positions, shape (n,), rad or m.

    Returns:
        H, shape (n, n), symmetric, zero between branches; kg m^2, kg m or kg by the two joints.

    Raises:
        ShapeError: If q does not have one entry per moving joint.
        ArgumentError: If an entry of q is not finite.
    """
    tree, (q,) = on_tree(robot, q=q)
    return inertia_tensor(tree, base_axes(tree, q))


@lowers
def mass_matrix_derivatives(robot: Robot, q: npt.ArrayLike) -> Array:
    """Compute dH_ij/dq_k in closed form.

    Args:
        robot: Any robot; n moving joints, followers of mimic joints included.
        q: Joint positions, shape (n,), rad or m; numbers or symbols.

    Returns:
        Shape (n, n, n), with k last.

    Raises:
        ShapeError: If q does not have one entry per moving joint.
        ArgumentError: If an entry of q is not finite.
    """
    tree, (q,) = on_tree(robot, q=q)
    return inertia_tensor_derivatives(tree, base_axes(tree, q))


@lowers
def coriolis_coefficients(robot: Robot, q: npt.ArrayLike) -> Array:
    """Compute h_ijk of eq. (5-39).

    Only the sums h_ijk + h_ikj matter: the book's h_ijk is not symmetric in j and k. Half of
    that sum is the Christoffel symbol of the first kind.

    Args:
        robot: Any robot; n moving joints, followers of mimic joints included.
        q: Joint positions, shape (n,), rad or m; numbers or symbols.

    Returns:
        Shape (n, n, n).

    Raises:
        ShapeError: If q does not have one entry per moving joint.
        ArgumentError: If an entry of q is not finite.
    """
    return coefficients(mass_matrix_derivatives(robot, q))


@lowers
def coriolis_matrix(robot: Robot, q: npt.ArrayLike, qd: npt.ArrayLike) -> Array:
    """Compute the matrix C with C qd = sum_jk h_ijk qd_j qd_k and dH/dt - 2 C skew-symmetric.

    Many matrices satisfy the first property; the one from the symmetric part of h_ijk, in
    C_ij = sum_k (h_ijk + h_ikj) qd_k / 2, satisfies both.

    Args:
        robot: Any robot; n moving joints, followers of mimic joints included.
        q: Joint positions, shape (n,), rad or m.
        qd: Joint velocities, shape (n,).

    Returns:
        C, shape (n, n), so that C qd is in N m or N.

    Raises:
        ShapeError: If q or qd does not have one entry per moving joint.
        ArgumentError: If an entry is not finite.
    """
    tree, (q, qd) = on_tree(robot, q=q, qd=qd)
    h = coefficients(inertia_tensor_derivatives(tree, base_axes(tree, q)))
    return (h @ qd + np.swapaxes(h, 1, 2) @ qd) / 2.0


@lowers
def gravity(robot: Robot, q: npt.ArrayLike) -> Array:
    """Compute G_i of eq. (5-40) with its sign put right.

    Args:
        robot: Any robot; n moving joints, followers of mimic joints included.
        q: Joint positions, shape (n,), rad or m; numbers or symbols.

    Returns:
        Efforts that hold the robot at rest, shape (n,), N m or N.

    Raises:
        ShapeError: If q does not have one entry per moving joint.
        ArgumentError: If an entry of q is not finite.
    """
    tree, (q,) = on_tree(robot, q=q)
    return gravity_efforts(tree, base_axes(tree, q))


# -- on a tree in base axes -----------------------------------------------------------------------


def link_in_base(robot: Robot, axes: BaseAxes, i: int) -> tuple[Any, Array, Array, Array]:
    """Mass, inertia about the mass centre in base axes, J_L and J_A (5-26) of link i."""
    body, R = robot.links[i + 1].inertia, axes.R[i]
    J_L, J_A = axes.jacobian(i, axes.p[i] + R @ body.com)
    return body.mass, R @ body.about_com @ R.T, J_L, J_A


def inertia_tensor(robot: Robot, axes: BaseAxes) -> Array:
    """H of eq. (5-28), shape (n, n), link by link."""
    n = len(robot.joints)
    H: list[list[Any]] = [[0.0] * n for _ in range(n)]
    for i, path in enumerate(axes.paths):
        m, I_i, J_L, J_A = link_in_base(robot, axes, i)
        of_link = m * (J_L.T @ J_L) + J_A.T @ (I_i @ J_A)  # eq. (5-28)
        for b, k in enumerate(path):
            for a, j in enumerate(path[: b + 1]):
                H[j][k] = H[k][j] = H[j][k] + of_link[a, b]
    return np.array(H).reshape(n, n)


def inertia_tensor_derivatives(robot: Robot, axes: BaseAxes) -> Array:
    """dH_ij/dq_k: eq. (5-28) differentiated link by link.

    Joint k moves what lies outward of it and nothing else. For joints i and j on the path of a
    link, with revolute k (prismatic ones have b_k = 0 in J_A and turn nothing):

    - i < k: dJ_Li/dq_k = b_i x J_Lk (the lever arm moves), dJ_Ai/dq_k = 0;
    - j >= k: dJ_Lj/dq_k = b_k x J_Lj and dJ_Aj/dq_k = b_k x J_Aj (axis and lever arm turn), and
      the inertia turns as well, dI/dq_k = [b_k x] I - I [b_k x].

    So dH_ij/dq_k = 0 when i and j both are at or outward of k: these rows are left out, not
    cancelled.
    """
    n = len(robot.joints)
    dH: Any = np.full((n, n, n), 0.0, dtype=object)
    for s, path in enumerate(axes.paths):
        m, I_s, J_L, J_A = link_in_base(robot, axes, s)
        I_J_A = I_s @ J_A
        for at, k in enumerate(path):
            if at == 0:
                continue  # no joint lies inward of it
            inner = slice(0, at)
            J_Lk, b_k = J_L[:, at : at + 1], J_A[:, at : at + 1]
            dJ_L = np.hstack([cross(J_A[:, inner], J_Lk), cross(b_k, J_L[:, at:])])
            # With i < k: J_Ai . (dI J_Aj + I dJ_Aj) for j >= k leaves J_Ai . (b_k x I J_Aj)
            half = J_A[:, inner].T @ cross(b_k, I_J_A)
            rows = m * (dJ_L[:, inner].T @ J_L + J_L[:, inner].T @ dJ_L) + half
            rows[:, inner] = rows[:, inner] + half[:, inner].T  # both i and j inward: dI alone
            for a, i in enumerate(path[:at]):
                for b, j in enumerate(path[a:], start=a):
                    dH[i, j, k] = dH[j, i, k] = dH[i, j, k] + rows[a, b]
    return _plain(dH)


def coefficients(dH: Array) -> Array:
    """h_ijk = dH_ij/dq_k - dH_jk/dq_i / 2, eq. (5-39)."""
    return np.array(dH - np.transpose(dH, (2, 0, 1)) / 2.0)


def velocity_efforts(h: Array, qd: Array) -> Array:
    """sum_jk h_ijk qd_j qd_k, the second term of eq. (5-38), shape (n,)."""
    n = len(qd)
    return h.reshape(n, n * n) @ np.outer(qd, qd).reshape(n * n)


def gravity_efforts(robot: Robot, axes: BaseAxes) -> Array:
    """G_i = -sum_j m_j g . J_Li^(j), eq. (5-40) with its sign put right."""
    G: list[Any] = [0.0] * len(robot.joints)
    for j, path in enumerate(axes.paths):
        m, _, J_L, _ = link_in_base(robot, axes, j)
        of_link = m * (robot.gravity @ J_L)
        for column, i in enumerate(path):
            G[i] = G[i] - of_link[column]
    return np.array(G)


def _plain(array: Array) -> Array:
    """The same array, of floats if it holds no symbols."""
    return np.array(array.tolist()).reshape(array.shape)
