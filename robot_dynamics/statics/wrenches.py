"""Wrenches in other frames, as of a wrist sensor, and the joint efforts that balance them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from robot_dynamics.foundation.arrays import Array, matrix, vector
from robot_dynamics.kinematics.rates import Mobility, mobility
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
    """The matrix of `moved_wrench`, shape (6, 6).

    Its transpose brings the velocity of A, linear over angular, to B: the theorem of section 4.1.3.
    """
    R: Any = X_AB.rotation
    return np.block([[R, np.zeros((3, 3))], [skew(X_AB.translation) @ R, R]])


# -- joint efforts -------------------------------------------------------------------------------


BALANCED = 1e-9
"""Part of the efforts that may be left over where they count as balanced."""


def joint_efforts(J: npt.ArrayLike, wrench: npt.ArrayLike) -> Array:
    """Compute the joint efforts of a wrench that the hand exerts: tau = J^T F, (4-7).

    They balance the wrench alone: gravity and friction are not in them.

    Args:
        J: Jacobian, shape (m, n), linear rows over angular ones.
        wrench: F in the same axes, shape (m,): force, N, over moment, N m.

    Returns:
        Joint efforts, shape (n,), N m or N.

    Raises:
        ShapeError: If the wrench has not one entry per row of J.
        ArgumentError: If J is no matrix of finite numbers or symbols.
    """
    J = matrix("J", J, traced=True)
    return J.T @ vector("wrench", wrench, len(J))


@dataclass(frozen=True, eq=False)
class Balance:
    """The wrench at the hand that balances joint efforts.

    Attributes:
        wrench: F with tau = J^T F, the smallest where there are many, the nearest where there is
            none; shape (m,).
        exists: Whether it balances the efforts.
        unique: Whether no other wrench does: the structure bears none by itself.
        left_over: Efforts that no wrench balances; they move joints that the hand does not see;
            shape (n,).
        borne: Wrenches that the structure bears without any effort, columns, shape (m, k).
    """

    wrench: Array
    exists: bool
    unique: bool
    left_over: Array
    borne: Array


def balancing_wrench(J: npt.ArrayLike, tau: npt.ArrayLike) -> Balance:
    """Find the wrench that the hand exerts when the joints exert given efforts at rest.

    Section 4.1.3 of [AsadaSlotine1986]: it exists if tau lies in R(J^T), the complement of the null
    space of J, and is unique if N(J^T), the complement of the range of J, is empty.

    Args:
        J: Jacobian, shape (m, n).
        tau: Joint efforts, shape (n,), N m or N.

    Raises:
        ShapeError: If tau has not one entry per column of J.
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
