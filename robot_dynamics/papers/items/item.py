"""One item of a publication: what it prints, beside what this package computes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from robot_dynamics.compiler.operation_count import OperationCount
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.papers.counts.recursions import CountComparison, Difference

ROUND_OFF = 1e-11
"""Bound on the difference of two computations in float64 of values up to some 10^2. A wrong sign or
term gives 1e-2 and more."""

EXACT = 1e-12
"""Bound where a value is stored and read back: conversion of units alone."""


class Row(NamedTuple):
    """One printed value, or a few that belong together, beside ours.

    Attributes:
        quantity: Name and unit.
        printed: As printed, or the printed formula evaluated, shape (k,).
        ours: Computed here, shape (k,).
        within: Bound on the difference that is left: of round-off, or half of the last printed
            digit.
        explained: What ours has more, for the reasons given, shape (k,).
        unexplained: What ours has more, without a known reason, shape (k,).
        reasons: A sentence for each part of the difference.
    """

    quantity: str
    printed: Array
    ours: Array
    within: float
    explained: Array
    unexplained: Array
    reasons: tuple[str, ...] = ()

    @property
    def difference(self) -> Array:
        """Ours less the printed value, shape (k,)."""
        return self.ours - self.printed

    @property
    def agrees(self) -> bool:
        """Return whether the values agree, but for the stated parts of the difference."""
        left = self.difference - self.explained - self.unexplained
        return bool(np.all(np.abs(left) <= self.within))


@dataclass(frozen=True)
class Item:
    """A table, number, figure or example of a publication.

    Args:
        name: Word for it on the command line.
        title: What it is.
        equations: Numbers of its equations, or its section.
        function: Name of the function that computes it, from `robot_dynamics` on.
        rows: Computes printed values beside ours.
        about: What is chosen, illegible or lost.
        figure: Name of the figure that is redrawn, see `worked_examples.paper_figure`.
    """

    name: str
    title: str
    equations: str
    function: str
    rows: Callable[[], Iterable[Row]]
    about: str = ""
    figure: str | None = None


class Publication(NamedTuple):
    """A publication: its title, and its items by name."""

    title: str
    items: Mapping[str, Item]


def row(
    quantity: str,
    printed: npt.ArrayLike,
    ours: npt.ArrayLike,
    within: float = ROUND_OFF,
    explained: npt.ArrayLike = 0.0,
    reasons: tuple[str, ...] = (),
) -> Row:
    """Set a printed value beside ours; arguments as of `Row`, numbers or arrays of one shape."""
    left, right = (np.ravel(np.asarray(x, dtype=np.float64)) for x in (printed, ours))
    more = np.broadcast_to(np.ravel(np.asarray(explained, dtype=np.float64)), left.shape)
    return Row(quantity, left, right, within, more, np.zeros(left.shape), reasons)


def matrix(
    name: str, printed: npt.ArrayLike, ours: npt.ArrayLike, within: float = ROUND_OFF
) -> list[Row]:
    """Set the rows of two matrices beside each other."""
    pairs = zip(np.asarray(printed), np.asarray(ours), strict=True)
    return [row(f"{name}, row {i}", a, b, within) for i, (a, b) in enumerate(pairs, start=1)]


def count_row(
    title: str,
    comparison: CountComparison,
    unexplained: tuple[int, int] = (0, 0),
    remark: str = "not explained",
) -> Row:
    """Set printed operations beside ours; what no reason accounts for is given as a number.

    Args:
        title: What is counted.
        comparison: The counts, with the reasons.
        unexplained: Multiplications and additions that ours has more, without a known reason.
        remark: What is known of those.
    """
    left, right = _pair(comparison.printed), _pair(comparison.ours)
    parts = comparison.differences
    more = np.array([sum(d.multiplications for d in parts), sum(d.additions for d in parts)])
    reasons = tuple(_reason(part) for part in parts)
    if unexplained != (0, 0):
        m, a = unexplained
        reasons += (f"{m:+d} / {a:+d}: {remark}",)
    known = np.asarray(unexplained, dtype=np.float64)
    name = f"{title} (mult, add)"
    return Row(name, left, right, 0.0, more.astype(np.float64), known, reasons)


def slower_machine(quantity: str, printed: float, ours: float) -> Row:
    """Set a printed running time, s, beside that of this machine, which takes less."""
    reason = f"the machine of the publication is {printed / ours:.0f} times slower"
    return row(quantity, printed, ours, printed, -printed, (reason,))


def _pair(count: OperationCount) -> Array:
    return np.array([count.multiplications, count.additions], dtype=np.float64)


def _reason(part: Difference) -> str:
    return f"{part.multiplications:+d} / {part.additions:+d}: {part.reason}"


def seconds_of(call: Callable[[], object], repetitions: int = 200) -> float:
    """Measure the shortest of five mean times of a call, s."""
    import timeit  # noqa: PLC0415  # for the two items with running times

    call()
    return min(timeit.repeat(call, number=repetitions, repeat=5)) / repetitions
