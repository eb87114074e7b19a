"""Rigid bodies as values: poses of frames, mass distributions and their ten parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from robot_dynamics.foundation.arrays import Array, Value, frozen, numbers
from robot_dynamics.spatial.rotation import skew


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


def homogeneous(X: Pose) -> Array:
    """Return the pose as a homogeneous matrix T, shape (4, 4)."""
    T: Any = np.zeros((4, 4), dtype=np.result_type(X.rotation, X.translation))
    T[:3, :3], T[:3, 3], T[3, 3] = X.rotation, X.translation, 1.0
    return np.array(T)


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
        mass = numbers("mass", self.mass, (), traced=True)
        if mass.dtype == object:
            object.__setattr__(self, "mass", mass[()])
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
        mass = numbers("mass", mass, (), traced=True)[()]
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
        """Transform the inertia from frame B to frame A: about A's origin, in A's axes."""
        R, p = X_AB.rotation, X_AB.translation
        h = R @ self.first_moment
        turned = R @ self.second_moment @ R.T
        # Huygens' theorem with k halfway between both origins:
        # -skew(p) skew(h) - skew(h) skew(p) - m skew(p)^2 = 2 (p.k) 1 - (k p^T + p k^T)
        k = h + (self.mass / 2.0) * p
        twice_pk = (2.0 * p) * k
        shift = [
            [twice_pk[1] + twice_pk[2], -(k[0] * p[1] + k[1] * p[0]), -(k[0] * p[2] + k[2] * p[0])],
            [0.0, twice_pk[2] + twice_pk[0], -(k[1] * p[2] + k[2] * p[1])],
            [0.0, 0.0, twice_pk[0] + twice_pk[1]],
        ]
        # Upper triangle only: the lower one would repeat the same symbolic equations
        second = [
            [turned[min(i, j), max(i, j)] + shift[min(i, j)][max(i, j)] for j in range(3)]
            for i in range(3)
        ]
        return Inertia(self.mass, h + self.mass * p, np.array(second))

    def __add__(self, other: Inertia) -> Inertia:
        """Join two bodies rigidly; both inertias are in the same frame."""
        return Inertia(
            self.mass + other.mass,
            self.first_moment + other.first_moment,
            self.second_moment + other.second_moment,
        )


# -- the ten parameters of a body, and its pseudo-inertia ------------------------------------------

PARAMETERS = ("m", "hx", "hy", "hz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
"""Names of the inertial parameters of a body: kg, kg m and kg m^2, about the link origin."""

UPPER = np.triu_indices(3)
"""Indices of the upper triangle of a 3x3 matrix, stored because control cycles use them."""


def inertial_parameters(body: Inertia) -> Array:
    """Return the ten parameters of a body in the order of `PARAMETERS`, shape (10,).

    Ixy, Ixz and Iyz are entries of the matrix (the negative of products of inertia).
    """
    return np.array([body.mass, *body.first_moment, *body.second_moment[UPPER]])


def body_with(parameters: Array) -> Inertia:
    """Return the body with ten given parameters, in the order of `PARAMETERS`, shape (10,)."""
    xx, xy, xz, yy, yz, zz = parameters[4:]
    return Inertia(
        parameters[0], parameters[1:4], np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    )


def second_mass_moment(body: Inertia) -> Array:
    """S = integral r r^T dm about the link origin, shape (3, 3), kg m^2: 1/2 tr(I) - I."""
    (xx, _, _), (_, yy, _), (_, _, zz) = body.second_moment
    return (xx + yy + zz) / 2.0 * np.eye(3) - body.second_moment


def pseudo_inertia(body: Inertia) -> Array:
    """J = [[S, h], [h^T, m]], shape (4, 4): integral (r, 1) (r, 1)^T dm."""
    h = body.first_moment.reshape(3, 1)
    return np.block([[second_mass_moment(body), h], [h.T, np.array([[body.mass]])]])


def body_of(J: Array) -> Inertia:
    """Return the body with a given pseudo-inertia, shape (4, 4)."""
    S = J[:3, :3]
    return Inertia(J[3, 3], J[:3, 3], (S[0, 0] + S[1, 1] + S[2, 2]) * np.eye(3) - S)


def first_moment_size(body: Inertia) -> float:
    """Return an upper bound of the first moment |h|, kg m: sqrt(m tr S)."""
    return float(np.sqrt(abs(body.mass * np.trace(second_mass_moment(body)))))
