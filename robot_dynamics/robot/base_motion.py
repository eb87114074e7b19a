"""Motion of a base that moves in a given way: an input of kernels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import Array, real_numbers
from robot_dynamics.robot.robot import Robot
from robot_dynamics.spatial import UNIT_LENGTH, rotation_from_quaternion


@dataclass(frozen=True, eq=False)
class BaseMotion:
    """Motion of the root link, for `Dynamics(robot, base="moving")`.

    Arrays of N states have N rows.

    Args:
        orientation: Unit quaternion x, y, z, w of the root link in the world, shape (4,).
        twist: Linear velocity of its origin over angular velocity, in its axes, shape (6,).
        acceleration: Derivative in time of the twist, shape (6,). The acceleration of the origin
            is the linear part plus angular velocity x linear velocity.
        gravity: Gravitational acceleration in its axes, shape (3,), m/s^2, in place of the
            orientation.
    """

    orientation: npt.ArrayLike = (0.0, 0.0, 0.0, 1.0)
    twist: npt.ArrayLike = (0.0,) * 6
    acceleration: npt.ArrayLike = (0.0,) * 6
    gravity: npt.ArrayLike | None = None

    def numbers(self, robot: Robot) -> Array:
        """Return gravity, twist and acceleration in axes of the base, shape (15,) or (N, 15).

        Args:
            robot: Robot whose gravity is that of the world.

        Returns:
            Gravity (3,), twist (6,) and acceleration (6,), one after the other.

        Raises:
            ArgumentError: If they are not numbers of these shapes, or the quaternion is not of
                length 1.
        """
        parts = [self._part(name, n) for name, n in (("twist", 6), ("acceleration", 6))]
        if self.gravity is None:
            quaternion = self._part("orientation", 4)
            length = np.linalg.norm(quaternion, axis=-1)
            if np.any(np.abs(length - 1.0) > UNIT_LENGTH):
                raise ArgumentError("base.orientation must be a quaternion of length 1")
            R = rotation_from_quaternion(np.moveaxis(quaternion, -1, 0))
            gravity = np.moveaxis(np.tensordot(robot.gravity, R, axes=1), 0, -1)
        else:
            gravity = self._part("gravity", 3)
        parts = [gravity, *parts]
        try:
            rows = np.broadcast_shapes(*(part.shape[:-1] for part in parts))
        except ValueError:
            raise ArgumentError(
                "the parts of base must have as many rows, or one; got shapes "
                + ", ".join(str(part.shape) for part in parts)
            ) from None
        return np.concatenate([np.broadcast_to(x, (*rows, x.shape[-1])) for x in parts], axis=-1)

    def _part(self, name: str, n: int) -> Array:
        """One field as an array of shape (..., n)."""
        part = real_numbers(f"base.{name}", getattr(self, name))
        if part.shape[-1:] != (n,):
            raise ArgumentError(f"base.{name} must have {n} entries, got shape {part.shape}")
        return part
