"""One number per joint: the check that all settings of a controller share."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from robot_dynamics.arrays import Array, frozen
from robot_dynamics.errors import ArgumentError, ShapeError


def per_joint(
    what: str,
    values: npt.ArrayLike,
    n: int,
    *,
    positive: bool = False,
    may_be_infinite: bool = False,
) -> Array:
    """Check a setting of n joints that cannot be negative; one number serves all joints.

    Args:
        what: Name of the setting, for the message.
        values: One number, or n.
        n: Number of joints.
        positive: Refuse zero as well.
        may_be_infinite: Accept infinity, for "no limit".

    Returns:
        Read-only array, shape (n,).

    Raises:
        ShapeError: If there are neither one nor n numbers.
        ArgumentError: If a number is out of range.
    """
    array = np.atleast_1d(np.asarray(values, dtype=np.float64))
    if array.shape == (1,):
        array = np.repeat(array, n)
    if array.shape != (n,):
        raise ShapeError(f"{what} has shape {array.shape} for {n} joints; give one number a joint")
    wrong = np.isnan(array) | (array < 0.0)
    if positive:
        wrong |= array == 0.0
    if not may_be_infinite:
        wrong |= np.isinf(array)
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        finite = "" if may_be_infinite else "finite "
        least = "above zero" if positive else "zero or more"
        raise ArgumentError(f"{what}[{i}] is {array[i]}; give a {finite}number, {least}")
    return frozen(array)
