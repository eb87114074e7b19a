"""Pose of one frame in another, as a value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.arrays import Array, Value, frozen


@dataclass(frozen=True, eq=False)
class Pose(Value):
    """Pose X_AB of frame B in frame A: p_A = rotation @ p_B + translation.

    Args:
        rotation: R_AB, shape (3, 3).
        translation: Position of the origin of B in A, shape (3,), m.
    """

    rotation: Array
    translation: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "rotation", frozen(self.rotation))
        object.__setattr__(self, "translation", frozen(self.translation))

    @staticmethod
    def identity() -> Pose:
        """The pose of a frame in itself."""
        return Pose(np.eye(3), np.zeros(3))

    def __matmul__(self, other: Pose) -> Pose:
        """X_AC = X_AB @ X_BC."""
        return Pose(
            self.rotation @ other.rotation, self.rotation @ other.translation + self.translation
        )

    def inverse(self) -> Pose:
        """X_BA."""
        return Pose(self.rotation.T, -self.rotation.T @ self.translation)
