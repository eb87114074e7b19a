"""Arrays of numbers, or of symbols while equations are traced; arguments become them here."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from robot_dynamics.errors import ArgumentError, RobotError, ShapeError, shown

Array = npt.NDArray[Any]
"""A float array, or an object array of symbols when equations are traced."""


def frozen(values: npt.ArrayLike) -> Array:
    """Copy `values` into an array that cannot be written to (symbols stay symbols)."""
    array = np.array(values)
    if array.dtype != object:
        array = array.astype(np.float64)
    array.setflags(write=False)
    return array


def numbers(name: str, values: Any, shape: tuple[int, ...], *, traced: bool = False) -> Array:
    """Take an argument as an array of that shape.

    Args:
        name: What the caller knows it as.
        values: The argument.
        shape: The shape that it must have; () for one number.
        traced: Take what equations make, too: symbols, and numbers that have overflowed.

    Returns:
        float64, or objects if they are symbols.

    Raises:
        RobotError: If it is anything but finite numbers of that shape.
    """
    try:
        array = np.asarray(values)
        objects = array.dtype == object
        # NumPy would make numbers of text, and nan of None
        if array.dtype.kind not in "biufO" or (objects and not all(map(_is_factor, array.flat))):
            raise TypeError
        if not (traced and objects):
            array = array.astype(np.float64)
        fits = array.shape == shape and (traced or bool(np.isfinite(array).all()))
    except (TypeError, ValueError):  # no numbers, or rows of different length
        fits = False
    if not fits:
        finite = "" if traced else "finite "
        wanted = f"{finite}numbers of shape {shape}" if shape else f"a {finite}number"
        raise RobotError(f"{name} must be {wanted}, got {shown(values)}")
    return array


def _is_factor(value: object) -> bool:
    return hasattr(value, "__rmul__")


def vector(name: str, values: npt.ArrayLike, length: int) -> Array:
    """Check that `values` is a vector of that length; symbols pass through.

    Raises:
        ShapeError: If it has another shape.
        ArgumentError: If an entry is not a finite number.
    """
    array = np.asarray(values)
    if array.shape != (length,):
        raise ShapeError(f"{name} must have shape ({length},), got {array.shape}")
    if array.dtype == object:
        return array
    try:
        array = array.astype(np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} must hold numbers, got {values!r}") from None
    if not np.all(np.isfinite(array)):
        i = int(np.flatnonzero(~np.isfinite(array))[0])
        raise ArgumentError(f"{name}[{i}] is {array[i]}; every entry must be finite")
    return array
