"""Stages: equations that read and overwrite named arrays; consecutive stages are fused.

A store followed by a load costs more than most of the arithmetic between them. Consecutive stages
therefore become one program that passes values in registers, and stores only those arrays that
other steps read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from robot_dynamics.compiler.graph.optimize import optimize
from robot_dynamics.compiler.graph.trace import trace
from robot_dynamics.compiler.native.loop.loop_steps import (
    LookUp,
    Normals,
    Recall,
    Record,
    Remember,
    Repeat,
    RunProgram,
    Step,
    When,
    nested,
)

_NEW = "new_"


@dataclass(frozen=True, eq=False)
class LoopStage:
    """Equations of one part of a step.

    Args:
        name: Name of the equations.
        function: Takes the arrays of `reads` by name, and returns those of `writes` by name.
        reads: Names of arrays.
        writes: Names of arrays, which may be among `reads`.
    """

    name: str
    function: Callable[..., Mapping[str, Any]]
    reads: tuple[str, ...]
    writes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class _StageRow:
    """Consecutive stages."""

    stages: tuple[LoopStage, ...]

    @property
    def reads(self) -> list[str]:
        """Arrays that these stages read before they write them."""
        found: dict[str, None] = {}
        written: set[str] = set()
        for stage in self.stages:
            found |= dict.fromkeys(x for x in stage.reads if x not in written)
            written |= set(stage.writes)
        return list(found)


Item = LoopStage | Step


def fused(
    items: Iterable[Item], sizes: Mapping[str, int], kept: Collection[str]
) -> tuple[Step, ...]:
    """Return the steps of a loop, with consecutive stages fused.

    Args:
        items: Stages and steps, in order; bodies of steps may contain stages too.
        sizes: Number of entries of every array.
        kept: Arrays that are read after the loop.
    """
    rows = _rows(items)
    needed = set(kept).union(*(_read(row) for row in nested(rows)))
    return tuple(_built(row, sizes, needed) for row in rows)


def _rows(items: Iterable[Item]) -> list[Any]:
    """Group consecutive stages."""
    rows: list[Any] = []
    for are_stages, group in groupby(items, lambda item: isinstance(item, LoopStage)):
        if are_stages:
            rows.append(_StageRow(tuple(group)))  # type: ignore[arg-type]
            continue
        rows += [_with_rows(step) for step in group]
    return rows


def _with_rows(step: Any) -> Any:
    nests = isinstance(step, (When, Repeat))
    return replace(step, body=tuple(_rows(step.body))) if nests else step


def _read(row: Any) -> Collection[str]:
    """Return the arrays that a step reads from memory."""
    if isinstance(row, _StageRow):
        return row.reads
    if isinstance(row, (When, Repeat)):
        return (row.array,)
    if isinstance(row, (Remember, Record)):
        return row.arrays
    if isinstance(row, Normals):
        return row.key, row.turn
    if isinstance(row, Recall):
        return (row.delay,)
    if isinstance(row, LookUp):
        return (row.row,)
    return tuple(row.program.inputs)


def _built(row: Any, sizes: Mapping[str, int], needed: Collection[str]) -> Step:
    if isinstance(row, (When, Repeat)):
        return replace(row, body=tuple(_built(part, sizes, needed) for part in row.body))
    if isinstance(row, _StageRow):
        return _run(row, sizes, needed)
    step: Step = row
    return step


def _run(row: _StageRow, sizes: Mapping[str, int], needed: Collection[str]) -> RunProgram:
    def equations(**arrays: Any) -> dict[str, Any]:
        present: dict[str, Any] = dict(arrays)
        written: dict[str, Any] = {}
        for stage in row.stages:
            new = stage.function(**{name: present[name] for name in stage.reads})
            present |= new
            written |= new
        return {_NEW + name: array for name, array in written.items() if name in needed}

    name = "_".join(stage.name for stage in row.stages)
    program = optimize(trace(name, equations, {x: (sizes[x],) for x in row.reads}))
    return RunProgram(program, {name: name.removeprefix(_NEW) for name in program.outputs})
