"""Endpoint compliance and stiffness of a hand on compliant joints.

Section 4.2 of [AsadaSlotine1986]. Links are rigid, joints give way in proportion to their efforts:
tau = K dq, (4-20).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from robot_dynamics.errors import ArgumentError, shown
from robot_dynamics.foundation.arrays import Array, matrix, numbers
from robot_dynamics.kinematics.rates import mobility


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
    """Stiffness of the hand, F = C^-1 dp: (4-25), where it is finite.

    Attributes:
        matrix: On the directions in which the hand gives way; zero on the others; shape (m, m).
        rigid: Directions of infinite stiffness, columns, shape (m, k): the hand cannot move in them
            at all, as at a singularity.
    """

    matrix: Array
    rigid: Array


def endpoint_stiffness(J: npt.ArrayLike, stiffness: npt.ArrayLike) -> EndpointStiffness:
    """Compute the stiffness of the hand; arguments as in `endpoint_compliance`."""
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
