"""A wrench seen from another frame, as a wrist sensor sees what acts at the tip of a tool."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from robot_dynamics.arrays import Array, vector
from robot_dynamics.spatial.rigid_body import Pose
from robot_dynamics.spatial.rotation import cross, skew


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
