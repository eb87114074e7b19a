"""Statics at the end effector: wrenches and joint efforts, compliance, ellipsoids.

Chapter 4 of [AsadaSlotine1986]. `link_balance` has the forces between the links.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from robot_dynamics.errors import ArgumentError, shown
from robot_dynamics.foundation.arrays import Array, matrix, numbers, vector
from robot_dynamics.kinematics.rates import SINGULAR, Mobility, mobility
from robot_dynamics.spatial import Pose, cross, skew


def moved_wrench(X_AB: Pose, wrench: npt.ArrayLike) -> Array:
    """Bring a wrench at frame B to frame A: (4-17), and the turn of the axes.

    The force stays, the moment gains that of the force about the new origin.

    Args:
        X_AB: Pose of B in A.
        wrench: Force (N) over moment (N m) about the origin of B, in axes of B, shape (6,).

    Returns:
        The same about the origin of A, in axes of A, shape (6,).

    Raises:
        ShapeError: If the wrench does not have shape (6,).
    """
    w = vector("wrench", wrench, 6)
    force = X_AB.rotation @ w[:3]
    return np.concatenate([force, X_AB.rotation @ w[3:] + cross(X_AB.translation, force)])


def wrench_transform(X_AB: Pose) -> Array:
    """Return the matrix of `moved_wrench`.

    Its transpose brings the velocity of A, linear over angular, to B: the theorem of section 4.1.3.

    Args:
        X_AB: Pose of B in A.

    Returns:
        Shape (6, 6); it takes a wrench at B, in axes of B, to A, in axes of A.
    """
    R: Any = X_AB.rotation
    return np.block([[R, np.zeros((3, 3))], [skew(X_AB.translation) @ R, R]])


# -- joint efforts -------------------------------------------------------------------------------


BALANCED = 1e-9
"""Part of the efforts that may be left over where they count as balanced."""


def joint_efforts(J: npt.ArrayLike, wrench: npt.ArrayLike) -> Array:
    """Compute the joint efforts of a wrench that the end effector exerts: tau = J^T F, (4-7).

    They balance the wrench alone: gravity and friction are not in them.

    Args:
        J: Jacobian, shape (m, n), linear rows over angular ones.
        wrench: F in the same axes, shape (m,): force, N, over moment, N m.

    Returns:
        Joint efforts, shape (n,), N m or N.

    Raises:
        ShapeError: If the wrench has not one entry per row of J.
        ArgumentError: If J is no matrix of finite numbers or symbols.

    Examples:
        >>> import numpy as np
        >>> from robot_dynamics import Dynamics, read_urdf
        >>> from robot_dynamics.robot import find_robot
        >>> from robot_dynamics.statics import joint_efforts
        >>> arm = Dynamics(read_urdf(find_robot("planar_2r")))
        >>> J = arm.jacobian([0.0, np.pi / 2], "endpoint")
        >>> joint_efforts(J, [0.0, 0.0, -50.0, 0.0, 0.0, 0.0]).round(2) + 0.0  # press down
        array([-50.,   0.])
    """
    J = matrix("J", J, traced=True)
    return J.T @ vector("wrench", wrench, len(J))


@dataclass(frozen=True, eq=False)
class Balance:
    """The wrench at the end effector that balances joint efforts.

    Attributes:
        wrench: F with tau = J^T F, the smallest where there are many, the nearest where there is
            none; shape (m,).
        exists: Whether it balances the efforts.
        unique: Whether no other wrench does: the structure bears none by itself.
        left_over: Efforts that no wrench balances; they move joints that the end effector does not
            see; shape (n,).
        borne: Wrenches that the structure bears without any effort, columns, shape (m, k).
    """

    wrench: Array
    exists: bool
    unique: bool
    left_over: Array
    borne: Array


def balancing_wrench(J: npt.ArrayLike, tau: npt.ArrayLike) -> Balance:
    """Find the wrench that the end effector exerts when the joints exert given efforts at rest.

    Section 4.1.3 of [AsadaSlotine1986]: it exists if tau lies in R(J^T), the complement of the null
    space of J, and is unique if N(J^T), the complement of the range of J, is empty.

    Args:
        J: Jacobian, shape (m, n).
        tau: Joint efforts, shape (n,), N m or N.

    Returns:
        The wrench, and whether it exists and is unique.

    Raises:
        ShapeError: If tau has not one entry per column of J.
        ArgumentError: If J is no matrix of finite numbers.
    """
    spaces: Mobility = mobility(J)
    J = matrix("J", J)
    efforts = vector("tau", tau, J.shape[1])
    wrench = spaces.moved @ ((spaces.efforts.T @ efforts) / spaces.singular_values[: spaces.rank])
    left_over = efforts - J.T @ wrench
    small = BALANCED * max(float(np.linalg.norm(efforts)), BALANCED)
    return Balance(
        wrench=wrench,
        exists=bool(np.linalg.norm(left_over) <= small),
        unique=spaces.lost.shape[1] == 0,
        left_over=left_over,
        borne=spaces.lost,
    )


# -- compliance ----------------------------------------------------------------------------------


def endpoint_compliance(J: npt.ArrayLike, stiffness: npt.ArrayLike) -> Array:
    """Compute C = J K^-1 J^T of dp = C F: (4-24).

    Args:
        J: Jacobian, shape (m, n); numbers or symbols.
        stiffness: Of the joints, K, shape (n,), N m/rad or N/m, or (n, n).

    Returns:
        C, shape (m, m), symmetric.

    Raises:
        ArgumentError: If the stiffness has no inverse, or J is no matrix.
    """
    J = matrix("J", J, traced=True)
    n = J.shape[1]
    given = np.asarray(stiffness)
    K = numbers("stiffness", given, (n, n) if given.ndim == 2 else (n,), traced=True)
    if K.ndim == 1:
        if K.dtype != object and np.any(K <= 0.0):
            raise ArgumentError("stiffness must be positive; a joint that gives way holds no force")
        return (J / K) @ J.T
    try:
        return J @ np.linalg.solve(K, J.T)
    except np.linalg.LinAlgError:
        raise ArgumentError("stiffness must be a matrix that has an inverse") from None


@dataclass(frozen=True, eq=False)
class EndpointStiffness:
    """Stiffness of the end effector, F = C^-1 dp: (4-25), where it is finite.

    Attributes:
        matrix: On the directions in which the end effector gives way; zero on the others; shape (m,
            m).
        rigid: Directions of infinite stiffness, columns, shape (m, k): the end effector cannot move
            in them at all, as at a singularity.
    """

    matrix: Array
    rigid: Array


def endpoint_stiffness(J: npt.ArrayLike, stiffness: npt.ArrayLike) -> EndpointStiffness:
    """Compute the stiffness of the frame of a Jacobian.

    Args:
        J: Jacobian, shape (m, n), rows of the frame's velocity by joint.
        stiffness: Of the joints, K, shape (n,), N m/rad or N/m, or (n, n).

    Returns:
        Stiffness on the directions that give way, and the rigid directions.

    Raises:
        ArgumentError: If the stiffness has no inverse, or J is no matrix of finite numbers.
    """
    spaces = mobility(J)
    C = endpoint_compliance(J, stiffness)
    U = spaces.moved
    return EndpointStiffness(U @ np.linalg.inv(U.T @ C @ U) @ U.T, spaces.lost)


def principal_compliances(C: npt.ArrayLike) -> tuple[Array, Array]:
    """Find the largest and the smallest deflection of a unit force, and their directions.

    (4-27) to (4-34): roots of the eigenvalues of C^2. Take the rows of forces alone, or of moments
    alone, where the matrix should not compare m with rad.

    Args:
        C: Compliance, shape (m, m), symmetric.

    Returns:
        Deflections per force, largest first, shape (m,), and their directions E as columns, shape
        (m, m): E^T C E is diagonal.

    Raises:
        ArgumentError: If C is no matrix that is its own transpose.
    """
    C = matrix("C", C)
    if C.shape[0] != C.shape[1] or not np.allclose(C, C.T):
        raise ArgumentError(f"C must be symmetric, as a compliance is; got {shown(C)}")
    values, axes = np.linalg.eigh(C)
    return values[::-1], axes[:, ::-1]


# -- ellipsoids ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """Semi-axes of an ellipsoid about the end effector.

    Attributes:
        axes: Unit vectors, columns, shape (m, m).
        radii: Lengths, shape (m,), those of a direction without bound infinite.
    """

    axes: Array
    radii: Array


def velocity_ellipsoid(J: npt.ArrayLike) -> Ellipsoid:
    """Find the velocities of a frame at |qd| <= 1; a radius is zero where a direction is lost.

    Args:
        J: Jacobian, shape (m, n), rows of the frame's velocity by joint.

    Returns:
        Semi-axes, longest first, in m/s and rad/s of the rows of J.

    Raises:
        ArgumentError: If J is no matrix of finite numbers.
    """
    spaces = mobility(J)
    m = len(spaces.moved)
    radii = np.zeros(m)
    radii[: spaces.rank] = spaces.singular_values[: spaces.rank]
    return Ellipsoid(np.hstack([spaces.moved, spaces.lost]), radii)


def force_ellipsoid(J: npt.ArrayLike) -> Ellipsoid:
    """Find the forces of a frame at |tau| <= 1.

    Long where that of velocities is short, and infinite where the structure bears them.

    Args:
        J: Jacobian, shape (m, n), rows of the frame's velocity by joint.

    Returns:
        Semi-axes, shortest first, in N and N m of the rows of J.

    Raises:
        ArgumentError: If J is no matrix of finite numbers.
    """
    velocities = velocity_ellipsoid(J)
    with np.errstate(divide="ignore"):
        return Ellipsoid(velocities.axes, 1.0 / velocities.radii)


def inertia_ellipsoid(J: npt.ArrayLike, M: npt.ArrayLike) -> Ellipsoid:
    """Find the generalized inertia ellipsoid u^T (J M^-1 J^T)^-1 u = 1 of section 5.4.

    A long radius is a direction in which the end effector is light; zero, one in which it cannot
    move.

    Args:
        J: Jacobian, shape (m, n).
        M: Mass matrix, shape (n, n).

    Returns:
        Semi-axes, longest first.

    Raises:
        ArgumentError: If J or M is no matrix of finite numbers.
    """
    J = matrix("J", J)
    n = J.shape[1]
    mobile = J @ np.linalg.solve(numbers("M", M, (n, n)), J.T)
    values, axes = np.linalg.eigh(mobile)
    values = np.where(values > SINGULAR**2 * values[-1], values, 0.0)
    return Ellipsoid(axes[:, ::-1], np.sqrt(values[::-1]))
