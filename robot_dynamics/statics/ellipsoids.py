"""Ellipsoids at the hand: how fast it can move, what it can push, how heavy it feels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from robot_dynamics.foundation.arrays import Array, matrix, numbers
from robot_dynamics.kinematics.rates import SINGULAR, mobility


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """Semi-axes of an ellipsoid about the hand.

    Attributes:
        axes: Unit vectors, columns, shape (m, m).
        radii: Lengths, shape (m,), those of a direction without bound infinite.
    """

    axes: Array
    radii: Array


def velocity_ellipsoid(J: npt.ArrayLike) -> Ellipsoid:
    """Velocities of the hand at |qd| <= 1; a radius is zero where a direction is lost."""
    spaces = mobility(J)
    m = len(spaces.moved)
    radii = np.zeros(m)
    radii[: spaces.rank] = spaces.singular_values[: spaces.rank]
    return Ellipsoid(np.hstack([spaces.moved, spaces.lost]), radii)


def force_ellipsoid(J: npt.ArrayLike) -> Ellipsoid:
    """Forces of the hand at |tau| <= 1.

    Long where that of velocities is short, and infinite where the structure bears them.
    """
    velocities = velocity_ellipsoid(J)
    with np.errstate(divide="ignore"):
        return Ellipsoid(velocities.axes, 1.0 / velocities.radii)


def inertia_ellipsoid(J: npt.ArrayLike, M: npt.ArrayLike) -> Ellipsoid:
    """The generalized inertia ellipsoid u^T (J M^-1 J^T)^-1 u = 1 of section 5.4.

    A long radius is a direction in which the hand is light; zero, one in which it cannot move.

    Args:
        J: Jacobian, shape (m, n).
        M: Mass matrix, shape (n, n).
    """
    J = matrix("J", J)
    n = J.shape[1]
    mobile = J @ np.linalg.solve(numbers("M", M, (n, n)), J.T)
    values, axes = np.linalg.eigh(mobile)
    values = np.where(values > SINGULAR**2 * values[-1], values, 0.0)
    return Ellipsoid(axes[:, ::-1], np.sqrt(values[::-1]))
