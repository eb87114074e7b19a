"""Steps of a native loop over time, on named arrays.

The arrays of a block are contiguous in memory. Every entry is a vector with one SIMD lane per
batch member. Programs read some arrays and write others. Further steps do what an expression graph
cannot: repetition, delay lines, tables and random numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from robot_dynamics.compiler.graph.trace import Program
from robot_dynamics.errors import ShapeError


@dataclass(frozen=True, eq=False)
class RunProgram:
    """Evaluate a program; its inputs are arrays of the same names.

    Args:
        program: The equations.
        writes: Array of an output, by name of the output, where the names differ.
    """

    program: Program
    writes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class When:
    """Steps that run only if `array`, shape (1,), is positive in some SIMD lane.

    Args:
        array: Name of the array.
        body: Steps, or objects that are still to be converted to steps.
    """

    array: str
    body: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Repeat:
    """Steps to repeat while `array`, shape (1,), is positive in some SIMD lane.

    Args:
        most: Largest number of repetitions.
        array: Name of the array, which the body is to change.
        body: See `When`.
    """

    most: int
    array: str
    body: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Normals:
    """Draw normal random numbers.

    Args:
        target: Array of the numbers.
        key: Array of one 64-bit integer: the stream.
        turn: Array of one double: how many times the stream has been used.
    """

    target: str
    key: str
    turn: str


@dataclass(frozen=True, eq=False)
class Remember:
    """Store arrays of this step in a ring buffer.

    Args:
        ring: Name of the ring buffer.
        arrays: Names of the arrays, the same ones at each step of this ring.
    """

    ring: str
    arrays: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Recall:
    """Read a ring buffer with a delay; before that many steps, read its first step.

    Args:
        ring: Name of the ring buffer.
        delay: Array of one double: number of steps, at most the depth of the ring less one.
        targets: Arrays to write to, in the order of `Remember`; the last ones may be left out.
    """

    ring: str
    delay: str
    targets: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class LookUp:
    """Read the row of this step from a table.

    Args:
        target: Array of the row.
        row: Array of one 64-bit integer: address of the row of step 0, per SIMD lane.
        shared: Whether all SIMD lanes have the same table; programs then read it in place.
    """

    target: str
    row: str
    shared: bool = False


@dataclass(frozen=True, eq=False)
class Record:
    """Record arrays, if the caller asks for a record; not in a body, which may not run."""

    arrays: tuple[str, ...]


Step = RunProgram | When | Repeat | Normals | Remember | Recall | LookUp | Record


def nested(steps: Iterable[Any]) -> Iterator[Any]:
    """Yield all steps, nested ones included."""
    for step in steps:
        yield step
        if isinstance(step, (When, Repeat)):
            yield from nested(step.body)


def rings_of(steps: Iterable[Step], sizes: Mapping[str, int]) -> dict[str, tuple[str, ...]]:
    """Return the arrays of every ring buffer, by its name.

    Args:
        steps: The steps of a loop.
        sizes: Number of entries of every array.

    Raises:
        ShapeError: If a ring does not keep what is stored in it or read from it.
    """
    every = list(nested(steps))
    rings = {step.ring: step.arrays for step in every if isinstance(step, Remember)}
    for step in every:
        if isinstance(step, (Remember, Recall)):
            names = step.arrays if isinstance(step, Remember) else step.targets
            kept = [sizes[name] for name in rings.get(step.ring, ())]
            given = [sizes[name] for name in names]
            if given != kept[: len(given)]:
                raise ShapeError(f"ring '{step.ring}' keeps arrays of sizes {kept}, not {given}")
    return rings
