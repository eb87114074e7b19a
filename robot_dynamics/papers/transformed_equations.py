"""Equations of motion in generalized coordinates other than joint displacements.

[AsadaSlotine1986], section 5.2.4, eqs. (5-50) to (5-56): the inertia tensor, the Coriolis and
centrifugal coefficients, the gravity terms and the generalized forces are carried over
from joint displacements q to any p with dp = J dq.

The book takes p to be functions of q. Angular velocities of a frame are not the rates of such
functions; for them (5-52) gives way to the same equations of motion written with pdd = J qdd +
dJ/dt qd.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from robot_dynamics.errors import ShapeError
from robot_dynamics.formulations import lagrange
from robot_dynamics.foundation.arrays import Array, vector
from robot_dynamics.foundation.numbers import counted
from robot_dynamics.papers.generalized_coordinates import Coordinates, contracted
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed


@dataclass(frozen=True, eq=False)
class TransformedEquations:
    """Equations of motion in coordinates p: H pdd + sum_jk h_ijk pd_j pd_k + G = Q.

    The book marks all of these with a star. Units follow those of the coordinates.

    Args:
        coordinates: What p is.
        J: dp = J dq, eq. (5-49), shape (n, n).
        J_inverse: Its inverse, shape (n, n).
        H: Inertia tensor referred to p, eq. (5-51), shape (n, n).
        h: Coriolis and centrifugal coefficients, eq. (5-52), shape (n, n, n).
        G: Gravity forces, eq. (5-54), shape (n,).
    """

    coordinates: Coordinates
    J: Array
    J_inverse: Array
    H: Array
    h: Array
    G: Array

    def bias(self, pd: Array) -> Array:
        """Generalized force at pdd = 0: velocity terms and gravity, shape (n,)."""
        return (self.h @ pd) @ pd + self.G

    def force(self, pd: Array, pdd: Array) -> Array:
        """Generalized force Q of the motion pd, pdd, eq. (5-38) in p, shape (n,)."""
        return self.H @ pdd + self.bias(pd)

    def generalized_force(self, tau: Array) -> Array:
        """Q in p of joint efforts tau, eq. (5-56), shape (n,): (J^-1)^T tau."""
        return self.J_inverse.T @ tau

    def joint_efforts(self, Q: Array) -> Array:
        """Joint efforts of the generalized force Q, shape (n,): J^T Q, eq. (5-56) solved."""
        return self.J.T @ Q


def transformed_equations(
    robot: Robot, coordinates: Coordinates, q: npt.ArrayLike
) -> TransformedEquations:
    """Compute the equations of motion in other coordinates, eqs. (5-49) to (5-56).

    Args:
        robot: Any robot; n independent joints in the order of `robot.joint_names`.
        coordinates: The new coordinates.
        q: Joint positions, shape (n,), rad or m.

    Raises:
        SingularCoordinatesError: If the coordinates do not describe the robot at q.
        ShapeError: If q or the coordinates do not have n entries.
        ArgumentError: If an entry of q is not finite.
    """
    n = robot.dof
    q = vector("q", q, n)
    if len(coordinates.names) != n:
        raise ShapeError(
            f"the coordinates '{coordinates.name}' are {len(coordinates.names)} for robot "
            f"'{robot.name}' of {counted(n, 'joint')}; give as many coordinates as joints"
        )
    # In joint displacements, with followers of mimic joints coupled
    tree = merge_fixed(robot)
    E, positions = tree.coupling.matrix, tree.coupling.positions(q)
    H = tree.coupling.square(lagrange.mass_matrix(tree, positions))
    G = tree.coupling.efforts(lagrange.gravity(tree, positions))
    dH = lagrange.mass_matrix_derivatives(tree, positions)
    for axis in range(3):
        dH = contracted(dH, axis, E)

    J, J_inverse = coordinates.jacobian(q), coordinates.inverse_jacobian(q)
    dJ = coordinates.jacobian_derivatives(q)
    H_star = J_inverse.T @ H @ J_inverse  # eq. (5-51)
    if coordinates.holonomic:
        h_star = _coefficients(H, dH, dJ, J_inverse)
    else:
        h_star = _coefficients_of_rates(H_star, dH, dJ, J_inverse)
    return TransformedEquations(coordinates, J, J_inverse, H_star, h_star, J_inverse.T @ G)


def _coefficients(H: Array, dH: Array, dJ: Array, J_inverse: Array) -> Array:
    """h*_ijk of eq. (5-52), by way of dH*_ij/dq_l."""
    slices = []
    for k in range(len(H)):
        dJ_inverse = -(J_inverse @ dJ[:, :, k] @ J_inverse)
        half = dJ_inverse.T @ H @ J_inverse
        slices.append(half + half.T + J_inverse.T @ dH[:, :, k] @ J_inverse)
    dH_dp = contracted(np.stack(slices, axis=2), 2, J_inverse)  # dH*_ij/dp_k
    return dH_dp - 0.5 * np.transpose(dH_dp, (2, 0, 1))


def _coefficients_of_rates(H_star: Array, dH: Array, dJ: Array, J_inverse: Array) -> Array:
    """Coefficients for rates that belong to no coordinates.

    From pdd = J qdd + dJ/dt qd in the equations of motion in q, which needs no p: Q = (J^-1)^T
    (h qd qd) - H* (dJ/dt qd), with qd = J^-1 pd.
    """
    h = dH - 0.5 * np.transpose(dH, (2, 0, 1))
    in_q = contracted(h, 0, J_inverse) - np.tensordot(H_star, dJ, axes=(1, 0))
    return contracted(contracted(in_q, 1, J_inverse), 2, J_inverse)
