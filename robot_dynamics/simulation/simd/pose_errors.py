"""The end effector of every batch member: its reference, and its error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from robot_dynamics.foundation.arrays import Array
from robot_dynamics.trajectory.trajectory import State

if TYPE_CHECKING:
    from robot_dynamics.control.model import Model

REFERENCE_ROWS: Mapping[str, tuple[int, ...]] = {
    "rotation": (3, 3),
    "position": (3,),
    "twist": (6,),
    "acceleration": (6,),
}
"""Columns of a reference table for the end effector, with their shapes."""

REFERENCE_SIZE = sum(int(np.prod(shape)) for shape in REFERENCE_ROWS.values())
"""Their number."""

POSE_STATISTICS = tuple(
    f"end_effector_{kind}_{part}"
    for part in ("position", "rotation")
    for kind in ("square", "peak")
)
"""Sums of squares and maxima of the error of the end effector over the cycles, m and rad."""


def pose_table(model: Model, end_effector: str, desired: State) -> Array:
    """Return pose, twist and acceleration of the end effector in a motion, shape (N, 24)."""
    arm = model.dynamics
    pose, J = arm.pose(desired.q, end_effector), arm.jacobian(desired.q, end_effector)
    drift = arm.drift(desired.q, desired.qd, end_effector)
    twist = np.einsum("nij,nj->ni", J, desired.qd)
    acceleration = np.einsum("nij,nj->ni", J, desired.qdd) + drift
    rotation = pose.rotation.reshape(-1, 9)
    return np.concatenate([rotation, pose.position, twist, acceleration], axis=1)


def reference_rows(row: Array) -> dict[str, Array]:
    """Return the arrays of `REFERENCE_ROWS` that a row of a reference table ends with."""
    found, at = {}, 0
    for name, shape in REFERENCE_ROWS.items():
        size = int(np.prod(shape))
        found[name], at = row[at : at + size].reshape(shape), at + size
    return found


def pose_error_of(rotation: Array, position: Array, R: Array, p: Array) -> tuple[Any, Any]:
    """Return how far two poses are apart without roots, which would cost a tenth of a period.

    Returns:
        Square of their distance, m^2, and s = sin^2(angle / 2), accurate for small angles too.
    """
    away, turned = position - p, (rotation - R).ravel()
    return away @ away, (turned @ turned) / 8.0


def angle_square(s: Any) -> Any:
    """Return the square of an angle by s = sin^2(angle / 2).

    Four terms of the series of arcsin^2: within 3e-8 up to 0.3 rad, and 3e-4 up to 1 rad.
    """
    return 4.0 * s * (1.0 + s * (1.0 / 3.0 + s * (8.0 / 45.0 + s * (4.0 / 35.0))))


def in_units(statistics: Mapping[str, Array]) -> dict[str, Array]:
    """Return statistics with the largest errors of the end effector in m and rad."""
    position, s = (statistics[f"end_effector_peak_{part}"] for part in ("position", "rotation"))
    angle = 2.0 * np.arcsin(np.sqrt(np.minimum(s, 1.0)))
    return {
        **statistics,
        "end_effector_peak_position": np.sqrt(position),
        "end_effector_peak_rotation": angle,
    }
