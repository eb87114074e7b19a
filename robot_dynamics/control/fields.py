"""Fields: the names of the numbers in a flat vector, for Python, SIMD lanes and C."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.foundation.arrays import Array

Size = tuple[int | str, ...]
"""Shape of a field; "n" stands for the number of joints."""

SCALAR: Size = ()
VECTOR: Size = ("n",)


class Field(NamedTuple):
    """One field.

    Args:
        shape: Its shape.
        about: Meaning and unit.
        initial: Value of every entry at first.
    """

    shape: Size
    about: str
    initial: float = 0.0


class Layout:
    """Fields of a flat vector for n joints, in order.

    Args:
        fields: By name.
        n: Number of joints.

    Attributes:
        size: Number of entries of the vector.
        slices: Entries of each field.
        shapes: Shape of each field.
    """

    def __init__(self, fields: Mapping[str, Field], n: int) -> None:
        self.fields, self.size = dict(fields), 0
        self.slices: dict[str, slice] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}
        for name, one in fields.items():
            shape = tuple(n if entry == "n" else int(entry) for entry in one.shape)
            size = math.prod(shape)
            self.slices[name], self.shapes[name] = slice(self.size, self.size + size), shape
            self.size += size

    def initial(self) -> Array:
        """Return the vector of the initial values."""
        vector = np.zeros(self.size)
        for name, one in self.fields.items():
            vector[self.slices[name]] = one.initial
        return vector

    def of(self, vector: Array, name: str) -> Any:
        """Return a field of a vector of numbers or symbols: a view, or one number of a scalar."""
        part = self.slices[name]
        shape = self.shapes[name]
        return vector[part].reshape(shape) if shape else vector[part.start]

    def views(self, vector: Array) -> dict[str, Array]:
        """Return every field of a vector as a view; scalars have the shape (1,)."""
        return {
            name: vector[part].reshape(self.shapes[name] or (1,))
            for name, part in self.slices.items()
        }

    def packed(self, values: Mapping[str, Any]) -> Array:
        """Return the vector of the given fields, all of them."""
        parts = []
        for name, shape in self.shapes.items():
            value = np.asarray(values[name])
            parts.append(np.broadcast_to(value, shape).ravel() if value.shape != shape
                         else value.ravel())  # fmt: skip
        return np.concatenate(parts) if parts else np.zeros(0)

    def __iter__(self) -> Iterator[str]:
        return iter(self.slices)


class Facts:
    """Fields that a part of the step may read, by name.

    Args:
        sources: Mappings by name; a later one has precedence.
    """

    def __init__(self, *sources: Mapping[str, Any]) -> None:
        self._known: dict[str, Any] = {}
        for source in sources:
            self._known.update(source)

    def __getattr__(self, name: str) -> Any:
        try:
            return self._known[name]
        except KeyError:
            raise AttributeError(f"the step knows no field '{name}'") from None

    def learn(self, values: Mapping[str, Any]) -> None:
        """Add fields, or new values of fields."""
        self._known.update(values)
