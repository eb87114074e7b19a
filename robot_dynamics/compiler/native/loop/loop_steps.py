"""What a loop over time does in every step, as a list of steps on named arrays.

The arrays of a block of lanes lie side by side in memory, every entry a vector with a lane per
robot. A program reads some and writes others; between programs lie steps that no expression
graph has: repetition, memory of the past, random numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from robot_dynamics.compiler.graph.trace import Program


@dataclass(frozen=True, eq=False)
class Run:
    """Evaluate a program; its inputs are arrays of those names.

    Args:
        program: The equations.
        writes: Array that an output goes to, where it has another name.
    """

    program: Program
    writes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class When:
    """Steps that are left out if `array`, shape (1,), is positive in no lane.

    Args:
        array: Its name.
        body: Steps; or what still becomes steps.
    """

    array: str
    body: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Repeat:
    """Steps to repeat, at most so many times, while `array`, shape (1,), is positive anywhere."""

    most: int
    array: str
    body: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Normals:
    """Normal random numbers.

    Args:
        target: Array that they go to.
        key: Array of one 64-bit integer: the stream.
        turn: Array of one double, a whole number: how many times the stream was used.
    """

    target: str
    key: str
    turn: str


@dataclass(frozen=True, eq=False)
class Remember:
    """Keep arrays as they are at this step in a ring of that name."""

    ring: str
    arrays: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Recall:
    """What a ring kept some steps ago, or at the first step if that was later.

    Args:
        ring: Name of the ring.
        delay: Array of one double: whole number of steps, at most the ring's depth less one.
        targets: Arrays that take what was kept, in the order of `Remember`.
    """

    ring: str
    delay: str
    targets: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class LookUp:
    """The row of this step from a table.

    Args:
        target: Array that takes the row.
        row: Array of one 64-bit integer: address of the lane's row of step 0.
        shared: Whether that is the same for all lanes; programs then read from the table itself.
    """

    target: str
    row: str
    shared: bool = False


@dataclass(frozen=True, eq=False)
class Record:
    """Write arrays out, where the caller wants a record."""

    arrays: tuple[str, ...]


Step = Run | When | Repeat | Normals | Remember | Recall | LookUp | Record
