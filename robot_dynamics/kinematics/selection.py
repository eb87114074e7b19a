"""Selection: the directions that a task is about; it leaves the others free."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from robot_dynamics.errors import ArgumentError, check_known, shown
from robot_dynamics.foundation.arrays import Array

DIRECTIONS = ("x", "y", "z", "rx", "ry", "rz")
"""Rows of a Jacobian: velocities along three axes, and about them."""

SELECTION_AXES = ("root", "frame")
"""Axes of the directions: those of the root link, or of the frame itself."""

Directions = str | Sequence[str] | npt.ArrayLike
"""Some of `DIRECTIONS` in one text or one by one, or six numbers: 1 selected, 0 free."""


def selected_rows(selection: Directions) -> list[int]:
    """Return the rows of a Jacobian, velocity or wrench that belong to some of `DIRECTIONS`.

    Args:
        selection: Names, as "x y rz" or ("x", "y", "rz"), in the order of the result; or six
            numbers in the order of `DIRECTIONS`, 1 for a selected direction and 0 for a free one.

    Returns:
        Indices of the rows, in the order of the names, or ascending for numbers.

    Raises:
        UnknownNameError: If there is no such direction.
        ArgumentError: If none is selected, or one twice, or numbers are not six of 1 and 0.

    Examples:
        >>> from robot_dynamics.kinematics import selected_rows
        >>> selected_rows("x z ry")
        [0, 2, 4]
    """
    given = re.split(r"[\s,]+", selection.strip()) if isinstance(selection, str) else selection
    values = np.asarray(given)
    if values.dtype.kind in "biuf" and values.size:
        rows = [int(k) for k in np.flatnonzero(values)]
        fits = values.shape == (6,) and bool(np.isin(values, (0, 1)).all())
    else:
        names = [str(name) for name in values.flat if str(name)]
        for name in names:
            check_known("direction", name, "a selection", DIRECTIONS)
        rows = [DIRECTIONS.index(name) for name in names]
        fits = len(rows) == len(set(rows))
    if not (rows and fits):
        raise ArgumentError(
            f"selection takes one direction or more of {' '.join(DIRECTIONS)}, each once, or six "
            f"numbers, 1 for a selected direction and 0 for a free one; got {shown(selection)}"
        )
    return rows


class Selection(NamedTuple):
    """Directions of a task, and the axes that they are along and about.

    Attributes:
        rows: Their rows, as `selected_rows`.
        axes: One of `SELECTION_AXES`.
    """

    rows: tuple[int, ...]
    axes: str

    @classmethod
    def of(cls, selection: Directions, axes: str) -> Selection:
        """Return a selection from the arguments of a function.

        Raises:
            UnknownNameError: If there is no such direction, or there are no such axes.
            ArgumentError: As `selected_rows`.
        """
        check_known("axes", axes, "a selection", SELECTION_AXES)
        return cls(tuple(selected_rows(selection)), axes)

    @property
    def all(self) -> bool:
        """True if no direction is free."""
        return len(self.rows) == len(DIRECTIONS)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the directions."""
        return tuple(DIRECTIONS[row] for row in self.rows)

    def matrix(self, rotation: Array) -> Array:
        """Return what takes a velocity in axes of the root to the directions, shape (m, 6).

        Args:
            rotation: Axes of the frame in the root link, shape (3, 3).
        """
        turn = np.eye(3) if self.axes == "root" else rotation.T
        return np.kron(np.eye(2), turn)[list(self.rows)]


ALL = Selection(tuple(range(len(DIRECTIONS))), "root")
"""All six directions."""
