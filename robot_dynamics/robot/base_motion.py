"""Motion of a base that moves in a given way: an input of kernels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from robot_dynamics.errors import ArgumentError, shown
from robot_dynamics.foundation.arrays import Array, real_numbers
from robot_dynamics.robot.free_joints import rotation_of
from robot_dynamics.robot.robot import Robot


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
        """Gravity, twist and acceleration in axes of the base, shape (15,) or (N, 15).

        Raises:
            ArgumentError: If they are not numbers of these shapes.
        """
        if self.gravity is None:
            quaternion = real_numbers("base.orientation", self.orientation)
            if quaternion.shape[-1:] != (4,):
                raise ArgumentError(
                    f"base.orientation must have 4 entries, got {shown(quaternion)}"
                )
            R = rotation_of(np.moveaxis(quaternion, -1, 0))
            gravity = np.moveaxis(np.tensordot(robot.gravity, R, axes=1), 0, -1)
        else:
            gravity = real_numbers("base.gravity", self.gravity)
        parts = [gravity, *(np.asarray(getattr(self, x), float) for x in ("twist", "acceleration"))]
        for name, part, n in zip(
            ("gravity", "twist", "acceleration"), parts, (3, 6, 6), strict=True
        ):
            if part.shape[-1:] != (n,):
                raise ArgumentError(f"base.{name} must have {n} entries, got shape {part.shape}")
        rows = np.broadcast_shapes(*(part.shape[:-1] for part in parts))
        return np.concatenate([np.broadcast_to(x, (*rows, x.shape[-1])) for x in parts], axis=-1)
