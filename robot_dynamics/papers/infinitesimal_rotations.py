"""Infinitesimal rotations: [AsadaSlotine1986], section 3.1.3, (3-9) to (3-14).

To the first order a rotation is 1 plus a skew matrix, rotations commute, and their vectors add.
Finite ones do neither; `scipy.spatial.transform.Rotation` has those.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from robot_dynamics.foundation.arrays import Array, numbers
from robot_dynamics.spatial import skew


def infinitesimal_rotation(d_phi: npt.ArrayLike) -> Array:
    """Return the matrix of an infinitesimal rotation, (3-12); about one axis alone, (3-9).

    Args:
        d_phi: Infinitesimal rotations about x, y and z, (3-14), shape (3,), rad.

    Returns:
        Shape (3, 3); a rotation up to the square of the angles.
    """
    return np.eye(3) + skew(numbers("d_phi", d_phi, (3,)))


def infinitesimal_angles(rotation: npt.ArrayLike) -> Array:
    """Return the vector (3-14) of a rotation that differs little from the identity, shape (3,).

    Args:
        rotation: Shape (3, 3); of a finite rotation the result is sin(angle) times its axis.
    """
    R = numbers("rotation", rotation, (3, 3))
    return np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / 2.0


def consecutive_rotations(*rotations: npt.ArrayLike) -> Array:
    """Return the vector of infinitesimal rotations one after the other, in any order: (3-13).

    Args:
        rotations: Vectors d_phi of each, shape (3,), rad.
    """
    return np.sum([numbers("rotations", d_phi, (3,)) for d_phi in rotations], axis=0)
