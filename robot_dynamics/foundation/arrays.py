"""Arrays of numbers or of traced symbols, and the conversion of arguments to them."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Mapping
from numbers import Real
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from robot_dynamics.errors import ArgumentError, RobotError, ShapeError, shown
from robot_dynamics.foundation.scalars import entries_of, lifted, package_of

Array = npt.NDArray[Any]
"""A float array, or an object array of symbols when equations are traced."""


class Value:
    """Base of frozen dataclasses that hold arrays: compared by value, and picklable.

    Unpickling calls the constructor, so that arrays are read-only again.
    """

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Value) or type(self) is not type(other):
            return NotImplemented
        return self is other or _content(self._held()) == _content(other._held())

    def __hash__(self) -> int:
        return hash((type(self), _content(self._held())))

    def __reduce__(self) -> tuple[Any, ...]:
        plain = (dict(x) if isinstance(x, MappingProxyType) else x for x in self._held())
        return type(self), tuple(plain)

    def _held(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__dataclass_fields__)  # type: ignore


def _content(value: Any) -> Hashable:
    """Return a hashable key that is equal for equal arrays, mappings and tuples of them."""
    if isinstance(value, np.ndarray):  # + 0.0: 0.0 and -0.0 are one number
        entries = tuple(value.flat) if value.dtype == object else (value + 0.0).tobytes()
        return value.shape, entries
    if isinstance(value, Mapping):
        return frozenset((key, _content(x)) for key, x in value.items())
    return tuple(map(_content, value)) if type(value) is tuple else value


def frozen(values: npt.ArrayLike) -> Array:
    """Copy `values` into a read-only array of floats or symbols."""
    array = np.array(values)
    if array.dtype != object:
        array = array.astype(np.float64)
    array.setflags(write=False)
    return array


def numbers(name: str, values: Any, shape: tuple[int, ...], *, traced: bool = False) -> Array:
    """Convert an argument to an array of a given shape.

    Args:
        name: Name of the argument, for messages.
        values: The argument.
        shape: Required shape; () for one number.
        traced: Accept symbols and numbers that have overflowed as well.

    Returns:
        An array of float64, or of objects for symbols; those of other packages as `Scalar`.

    Raises:
        RobotError: If it is anything but finite numbers of that shape.
        ArgumentError: If entries are masked.
    """
    refuse_masked(name, values)
    try:
        array = np.asarray(values)
        objects = array.dtype == object
        # NumPy would convert text to numbers and None to NaN
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
    return lifted(array) if array.dtype == object else array


def _is_factor(value: object) -> bool:
    return hasattr(value, "__rmul__")


def vector(name: str, values: npt.ArrayLike, length: int) -> Array:
    """Check that `values` is a vector of that length.

    Complex numbers and symbols are kept; symbols of other packages become `scalars.Scalar`, also
    those in a vector of CasADi.

    Raises:
        ShapeError: If it has another shape.
        ArgumentError: If an entry is not a finite number.
    """
    refuse_masked(name, values)
    array = np.asarray(entries_of(values))
    if array.shape != (length,):
        raise ShapeError(f"{name} must have shape ({length},), got {array.shape}")
    if array.dtype == object:
        return lifted(array)
    if array.dtype.kind != "c":
        array = real_numbers(name, array).astype(np.float64)
    refuse_non_finite(name, array)
    return array


def matrix(name: str, values: npt.ArrayLike, *, traced: bool = False) -> Array:
    """Check that `values` is a matrix that is not empty.

    Args:
        name: Name of the argument, for messages.
        values: The argument.
        traced: Accept symbols as well.

    Raises:
        ArgumentError: If it is not a matrix, or an entry is not a finite number.
    """
    refuse_masked(name, values)
    try:
        array = np.asarray(values)
    except ValueError:
        raise ArgumentError(f"{name} must be a matrix, got {shown(values)}") from None
    if array.ndim != 2 or 0 in array.shape:
        raise ArgumentError(f"{name} must be a matrix, got shape {array.shape}")
    if traced and array.dtype == object:
        return numbers(name, array, array.shape, traced=True)
    array = real_numbers(name, array).astype(np.float64)
    refuse_non_finite(name, array)
    return array


def real_numbers(name: str, value: Any) -> Array:
    """Convert an argument to an array of real numbers; keep its dtype if it is real.

    Raises:
        ArgumentError: If it holds anything else.
    """
    refuse_masked(name, value)
    try:
        array = np.asarray(value)
        if array.dtype.kind in "biuf":
            return array
        # NumPy would convert None to NaN and text to numbers
        if array.dtype.kind == "O" and all(isinstance(x, Real) for x in array.flat):
            return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError, RuntimeError):  # the last of PyTorch's gradients
        pass
    raise ArgumentError(f"{name} must hold real numbers, got {shown(value)}{_advice(value)}")


_ADVICE = {
    "casadi": "compiled equations take no symbols; use the function of Dynamics.as_casadi",
    "jax": "under jit, vmap and grad use the function of Dynamics.as_jax",
    "torch": "for gradients use the function of Dynamics.as_torch, else detach the tensor",
    "sympy": "compiled equations take no symbols; those of robot_dynamics.formulations do",
}
"""Advice by package of the symbols that a call with numbers got."""


def _advice(value: Any) -> str:
    """Return the end of a message about symbols where numbers are needed."""
    items = value.flat if isinstance(value, np.ndarray) and value.dtype == object else value
    several = isinstance(items, (list, tuple, np.flatiter))
    for x in items if several else [value]:
        advice = _ADVICE.get(package_of(x))
        if advice:
            return f"; {advice}"
    return ""


def refuse_masked(name: str, value: Any) -> None:
    """Raise ArgumentError if an array, or one in a list, has masked entries."""
    if has_masked(value):
        raise ArgumentError(f"{name} has masked entries; fill them, or leave those states out")


def has_masked(value: Any) -> bool:
    """Return True if an array, or one in a list, has masked entries.

    Nothing is masked where numpy.ma, which takes 10 ms to import, was never imported.
    """
    return "numpy.ma" in sys.modules and _is_masked(value)


def _is_masked(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(type(x) is not float and _is_masked(x) for x in value)
    return hasattr(value, "mask") and bool(np.ma.is_masked(value))


def refuse_non_finite(name: str, array: Array, start: int = 0) -> None:
    """Raise ArgumentError naming the first entry that is NaN or infinite, from row `start` on."""
    bad = ~np.isfinite(array[start:] if start else array)
    if bad.any():
        first, *rest = (int(i) for i in np.argwhere(bad)[0])
        where = (first + start, *rest)
        index = "".join(f"[{i}]" for i in where)
        raise ArgumentError(f"{name}{index} is {array[where]}; every entry must be finite")
