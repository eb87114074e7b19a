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
    """Steps to repeat, at most `most` times, while `array`, shape (1,), is positive in any lane."""

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
    """Store arrays of this step in the ring buffer of that name."""

    ring: str
    arrays: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Recall:
    """Read a ring buffer with a delay; before that many steps, read its first step.

    Args:
        ring: Name of the ring buffer.
        delay: Array of one double: number of steps, at most the depth of the ring less one.
        targets: Arrays to write to, in the order of `Remember`.
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
    """Record arrays, if the caller asks for a record."""

    arrays: tuple[str, ...]


Step = RunProgram | When | Repeat | Normals | Remember | Recall | LookUp | Record


def nested(steps: Iterable[Any]) -> Iterator[Any]:
    """Yield all steps, nested ones included."""
    for step in steps:
        yield step
        if isinstance(step, (When, Repeat)):
            yield from nested(step.body)
