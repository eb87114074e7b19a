"""Generalized coordinates other than joint displacements: p with dp = J dq.

[AsadaSlotine1986], eq. (5-49). `drives` builds the coordinates of gears, remote drives and
absolute angles, `endpoint_coordinates` those of a frame; `transformed_equations` carries the
equations of motion over to them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics.arrays import Array, frozen, vector
from robot_dynamics.errors import ArgumentError, ShapeError, SingularCoordinatesError

SINGULAR = 1e-12
"""J counts as singular below this ratio of its singular values, rows and columns scaled to length
1: its inverse would keep no more than a few of the 16 digits of a float."""


class Coordinates(ABC):
    """A set of generalized coordinates p of a robot with n independent joints, dp = J(q) dq.

    Attributes:
        name: What messages call the set.
        names: Name of every coordinate, n of them.
        holonomic: Whether p is a function of q. Angular velocities are rates of no coordinates;
            their equations of motion hold all the same, but (5-52) does not.
    """

    name: str
    names: tuple[str, ...]
    holonomic: bool

    @abstractmethod
    def positions(self, q: Array) -> Array:
        """Coordinates p at joint positions q, shape (n,)."""

    @abstractmethod
    def jacobian(self, q: Array) -> Array:
        """J of eq. (5-49) at joint positions q, shape (n, n)."""

    @abstractmethod
    def jacobian_derivatives(self, q: Array) -> Array:
        """dJ_ij/dq_k at joint positions q, shape (n, n, n) with k last."""

    def inverse_jacobian(self, q: Array) -> Array:
        """J^-1 at joint positions q, shape (n, n).

        Symbols are inverted by cofactors, so that det J = 0 alone spoils the result. Whether it
        is zero cannot be seen then: compiled equations give infinities there.

        Raises:
            SingularCoordinatesError: If J has no inverse at q.
        """
        J = self.jacobian(q)
        if J.dtype == object:
            return inverse_by_cofactors(J, self)
        return checked_inverse(J, self, f"at q = ({', '.join(f'{x:.6g}' for x in q)})")


@dataclass(frozen=True, eq=False)
class LinearCoordinates(Coordinates):
    """Coordinates p = matrix q + offset, with the same J everywhere.

    Args:
        name: What messages call the set.
        names: Name of every coordinate.
        matrix: J, shape (n, n).
        offset: Coordinates at q = 0, shape (n,).

    Raises:
        SingularCoordinatesError: If the matrix has no inverse.
        ShapeError: If a shape does not fit the number of names.
        ArgumentError: If an entry is not finite.
    """

    name: str
    names: tuple[str, ...]
    matrix: Array
    offset: Array

    holonomic = True

    def __post_init__(self) -> None:
        n = len(self.names)
        object.__setattr__(self, "matrix", frozen(self.matrix))
        object.__setattr__(self, "offset", frozen(vector("offset", self.offset, n)))
        if self.matrix.shape != (n, n):
            raise ShapeError(f"matrix must have shape ({n}, {n}), got {self.matrix.shape}")
        vector("matrix", self.matrix.ravel(), n * n)
        checked_inverse(self.matrix, self, "everywhere")

    def positions(self, q: Array) -> Array:
        """See `Coordinates.positions`."""
        return self.matrix @ np.asarray(q) + self.offset

    def joint_positions(self, p: Array) -> Array:
        """Joint positions q of coordinates p, shape (n,)."""
        return np.linalg.inv(self.matrix) @ (np.asarray(p) - self.offset)

    def jacobian(self, q: Array) -> Array:
        """See `Coordinates.jacobian`."""
        return self.matrix

    def jacobian_derivatives(self, q: Array) -> Array:
        """See `Coordinates.jacobian_derivatives`: zero."""
        return np.zeros((len(self.names),) * 3)

    def inverse_jacobian(self, q: Array) -> Array:
        """See `Coordinates.inverse_jacobian`."""
        return np.linalg.inv(self.matrix)


def contracted(tensor: Array, axis: int, matrix: Array) -> Array:
    """Replace one axis of a tensor: sum over a of tensor[.. a ..] matrix[a, b]."""
    return np.moveaxis(np.tensordot(tensor, matrix, axes=(axis, 0)), -1, axis)


def checked_inverse(J: Array, coordinates: Coordinates, where: str) -> Array:
    """Inverse of a Jacobian of numbers.

    Raises:
        SingularCoordinatesError: If it has none; the message names the coordinates.
    """
    rows = np.linalg.norm(J, axis=1, keepdims=True)
    scaled = J / np.where(rows == 0.0, 1.0, rows)
    columns = np.linalg.norm(scaled, axis=0)
    U, s, _ = np.linalg.svd(scaled / np.where(columns == 0.0, 1.0, columns))
    if s[-1] > SINGULAR * s[0]:
        return np.linalg.inv(J)
    weights = U[:, -1] / np.where(rows[:, 0] == 0.0, 1.0, rows[:, 0])
    weights = weights / weights[np.argmax(np.abs(weights))]
    pairs = zip(weights, coordinates.names, strict=True)
    stuck = " ".join(f"{x:+.3g} {name}" for x, name in pairs if abs(x) > 1e-6)
    raise SingularCoordinatesError(
        f"the coordinates '{coordinates.name}' are singular {where}: no joint motion changes "
        f"{stuck}; take other coordinates or another position"
    )


def inverse_by_cofactors(J: Array, coordinates: Coordinates) -> Array:
    """Inverse of a Jacobian of symbols: adjugate over determinant, no pivot to choose."""
    n = len(J)
    known: dict[tuple[tuple[int, ...], tuple[int, ...]], Any] = {}

    def minor(rows: tuple[int, ...], columns: tuple[int, ...]) -> Any:
        if not rows:
            return 1.0
        if (rows, columns) not in known:
            total: Any = 0.0
            for at, column in enumerate(columns):
                rest = minor(rows[1:], columns[:at] + columns[at + 1 :])
                term = J[rows[0], column] * rest
                total = total + term if at % 2 == 0 else total - term
            known[rows, columns] = total
        return known[rows, columns]

    everything = tuple(range(n))
    try:
        scale = 1.0 / minor(everything, everything)
    except (ArgumentError, ZeroDivisionError):  # a determinant that folds to zero
        raise SingularCoordinatesError(
            f"the coordinates '{coordinates.name}' are singular everywhere: det J = 0; take other "
            "coordinates"
        ) from None
    inverse = np.empty((n, n), dtype=object)
    for i in everything:
        for j in everything:
            others = everything[:i] + everything[i + 1 :], everything[:j] + everything[j + 1 :]
            cofactor = minor(*others) * scale
            inverse[j, i] = cofactor if (i + j) % 2 == 0 else -cofactor
    return inverse
