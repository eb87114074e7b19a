"""Mass distribution of a rigid body, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from robot_dynamics.arrays import Array, Value, frozen, numbers
from robot_dynamics.spatial.pose import Pose
from robot_dynamics.spatial.rotation import skew


@dataclass(frozen=True, eq=False)
class Inertia(Value):
    """Mass distribution of a rigid body: its moments of order 0, 1 and 2.

    Stored about the origin of the link frame, in its axes, because torques are
    linear in these ten numbers and because a massless body then needs no
    special case.

    Args:
        mass: Moment of order 0, kg.
        first_moment: mass times position of the mass centre, shape (3,), kg m.
        second_moment: Rotational inertia about the frame origin, shape (3, 3), kg m^2.

    Raises:
        RobotError: If one of them is anything but numbers, or symbols, of its shape.
    """

    mass: Any
    first_moment: Array
    second_moment: Array

    def __post_init__(self) -> None:
        numbers("mass", self.mass, (), traced=True)
        for name, shape in (("first_moment", (3,)), ("second_moment", (3, 3))):
            moment = numbers(name, getattr(self, name), shape, traced=True)
            object.__setattr__(self, name, frozen(moment))

    @staticmethod
    def zero() -> Inertia:
        """A body without mass."""
        return Inertia(0.0, np.zeros(3), np.zeros((3, 3)))

    @staticmethod
    def from_com(mass: Any, com: npt.ArrayLike, about_com: npt.ArrayLike) -> Inertia:
        """Build from mass, mass centre in the link frame (3,) and inertia about it (3, 3).

        Huygens' theorem, with the axes of the link frame on both sides.

        Raises:
            RobotError: If one of them is anything but numbers, or symbols, of its shape.
        """
        numbers("mass", mass, (), traced=True)
        c = numbers("com", com, (3,), traced=True)
        I_C = numbers("about_com", about_com, (3, 3), traced=True)
        return Inertia(mass, mass * c, I_C - mass * (skew(c) @ skew(c)))

    @property
    def com(self) -> Array:
        """Mass centre in the link frame, shape (3,), m; the origin for a massless body."""
        if isinstance(self.mass, (int, float)) and self.mass == 0.0:
            return np.zeros(3)
        return self.first_moment / self.mass

    @property
    def about_com(self) -> Array:
        """Rotational inertia about the mass centre, axes of the link, shape (3, 3), kg m^2."""
        c = self.com
        return self.second_moment + self.mass * (skew(c) @ skew(c))

    def expressed_in(self, X_AB: Pose) -> Inertia:
        """The same body, given in frame B, about the origin and in the axes of frame A."""
        R, p = X_AB.rotation, X_AB.translation
        h = R @ self.first_moment
        turned = R @ self.second_moment @ R.T
        # Huygens' theorem with k halfway between both origins:
        # -skew(p) skew(h) - skew(h) skew(p) - m skew(p)^2 = 2 (p.k) 1 - (k p^T + p k^T)
        k = h + (0.5 * self.mass) * p
        twice_pk = (2.0 * p) * k
        shift = [
            [twice_pk[1] + twice_pk[2], -(k[0] * p[1] + k[1] * p[0]), -(k[0] * p[2] + k[2] * p[0])],
            [0.0, twice_pk[2] + twice_pk[0], -(k[1] * p[2] + k[2] * p[1])],
            [0.0, 0.0, twice_pk[0] + twice_pk[1]],
        ]
        # one triangle only: of the other, symbols would make second copies of the same equations
        second = [
            [turned[min(i, j), max(i, j)] + shift[min(i, j)][max(i, j)] for j in range(3)]
            for i in range(3)
        ]
        return Inertia(self.mass, h + self.mass * p, np.array(second))

    def __add__(self, other: Inertia) -> Inertia:
        """Two bodies joined rigidly; both given in the same frame."""
        return Inertia(
            self.mass + other.mass,
            self.first_moment + other.first_moment,
            self.second_moment + other.second_moment,
        )
