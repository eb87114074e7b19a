"""Scalars of other packages: SymPy and CasADi symbols, intervals, Fractions, Decimals.

Equations are plain arithmetic on NumPy arrays of any scalar. Some scalars do not work in
such arrays: a CasADi symbol times an array is a CasADi matrix, a SymPy symbol has no method
`cos` for NumPy to call, and a Fraction times the 1.0 of a joint axis is a float. A `Scalar`
wraps such a value and behaves as NumPy expects. It folds products with 0 and 1 and sums
with 0, and keeps whole numbers exact.

Sine and cosine use the scalar's own method of that name, else the function of that name in
the package of its type.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from robot_dynamics.errors import ArgumentError

Function = TypeVar("Function", bound=Callable[..., Any])

NUMBERS = (int, float, complex, np.number)

EXACT = ("fractions", "decimal")
"""Modules of the standard library whose numbers are made of a float without round-off."""


class Scalar:
    """A scalar of another package, for arrays of objects.

    Args:
        value: The scalar.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __add__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented  # NumPy takes it entry by entry
        other = self._other(other)
        return self if _is(0, other) else Scalar(self.value + other)

    __radd__ = __add__  # sums and products of scalars commute

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented  # NumPy takes it entry by entry
        other = self._other(other)
        return self if _is(0, other) else Scalar(self.value - other)

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented  # NumPy takes it entry by entry
        other = self._other(other)
        if _is(0, other):
            return 0.0
        if _is(1, other):
            return self
        return -self if _is(-1, other) else Scalar(self.value * other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented  # NumPy takes it entry by entry
        other = self._other(other)
        return self if _is(1, other) else Scalar(self.value / other)

    def __rtruediv__(self, other: Any) -> Any:
        other = self._other(other)
        return 0.0 if _is(0, other) else Scalar(other / self.value)

    def __neg__(self) -> Scalar:
        return Scalar(-self.value)

    def sin(self) -> Scalar:
        """Sine of an angle in rad; `np.sin` calls it."""
        return Scalar(_function("sin", self.value))

    def cos(self) -> Scalar:
        """Cosine of an angle in rad; `np.cos` calls it."""
        return Scalar(_function("cos", self.value))

    def __repr__(self) -> str:
        return repr(self.value)

    def _sympy_(self) -> Any:
        """Return the value to SymPy's functions."""
        return self.value

    def _other(self, other: Any) -> Any:
        """Return the other operand; floats become the exact type beside them, or int if whole."""
        other = other.value if type(other) is Scalar else other
        if isinstance(other, (float, np.floating)):
            if package_of(self.value) in EXACT:  # Decimal refuses a float, a Fraction becomes one
                return type(self.value)(float(other))
            return int(other) if float(other).is_integer() else float(other)
        return other


def lifted(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Wrap the entries of an object array that NumPy cannot compute with in `Scalar`.

    Symbols of this package are left unchanged.
    """
    if all(isinstance(x, NUMBERS) or _fits_numpy(x) for x in array.flat):
        return array
    made = np.empty(array.shape, dtype=object)
    for where, x in np.ndenumerate(array):
        made[where] = x if type(x) is Scalar else Scalar(x)
    return made


def package_of(value: object) -> str:
    """Return the name of the package that the type of a value comes from."""
    return type(value).__module__.partition(".")[0]


def entries_of(value: Any) -> Any:
    """Return the entries of a vector of CasADi, numbers if it is one of numbers.

    NumPy would take a vector of symbols for one object. Any other value is returned as it is.
    """
    if package_of(value) != "casadi" or not value.is_vector():
        return value
    if hasattr(value, "full"):  # DM, a matrix of numbers
        return value.full().ravel()
    entries = np.empty(value.numel(), dtype=object)
    for i in range(value.numel()):
        entries[i] = value[i]
    return entries


def lowered(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Unwrap the scalars that `lifted` has wrapped."""
    if array.dtype != object or not any(type(x) is Scalar for x in array.flat):
        return array
    plain = np.empty(array.shape, dtype=object)
    for where, x in np.ndenumerate(array):
        plain[where] = x.value if type(x) is Scalar else x
    return plain


def lowers(function: Function) -> Function:
    """Decorate a function of arrays so that its results are unwrapped: arrays, tuples, records."""

    @wraps(function)
    def wrapped(*args: Any, **options: Any) -> Any:
        return _lowered(function(*args, **options))

    return cast(Function, wrapped)


def _lowered(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return lowered(value)
    if isinstance(value, tuple):
        parts = map(_lowered, value)
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if is_dataclass(value) and not isinstance(value, type):
        return type(value)(*(_lowered(getattr(value, field.name)) for field in fields(value)))
    if isinstance(value, dict):
        return {key: _lowered(entry) for key, entry in value.items()}
    return value


def _fits_numpy(value: Any) -> bool:
    own = all(callable(getattr(value, name, None)) for name in ("sin", "cos"))
    return (own and not hasattr(type(value), "__array_ufunc__")) or type(value) is Scalar


def _is(number: int, value: Any) -> bool:
    return isinstance(value, NUMBERS) and bool(value == number)


def _function(name: str, value: Any) -> Any:
    if isinstance(value, NUMBERS):
        return getattr(np, name)(value)
    own: Callable[[], Any] | None = getattr(value, name, None)
    if callable(own):
        return own()
    package = sys.modules[package_of(value)]
    of_package = getattr(getattr(value, "ctx", package), name, None)
    if not callable(of_package):
        raise ArgumentError(
            f"there is no {name}({value!r}); give {type(value).__name__} a method {name}, or take "
            "another scalar for joints that turn"
        )
    return of_package(value)
