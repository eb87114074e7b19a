"""Operations of a program, shared out among steps that follow one another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from robot_dynamics.compiler.graph.trace import Program, operation_count
from robot_dynamics.compiler.operation_count import OperationCount


def flat(values: Any) -> Any:
    """All numbers in a list of arrays, as one array: the output of one step."""
    return np.concatenate([np.ravel(np.asarray(a)) for a in values])


def count_steps(program: Program) -> Mapping[str, OperationCount]:
    """Count what each output adds to those before it, of what the last output needs.

    Args:
        program: One output for each step, in order, the result last. Operations of a step that
            the result does not use are not counted.
    """
    names = list(program.outputs)

    def count(chosen: list[str]) -> tuple[int, int, int]:
        some = Program(
            program.name, program.inputs, {name: program.outputs[name] for name in chosen}
        )
        c = operation_count(some)
        return c.multiplications, c.additions, c.sines_cosines

    counts: dict[str, OperationCount] = {}
    before: tuple[int, ...] = (0, 0, 0)
    for k, name in enumerate(names):
        # Shared with the result: |A and B| = |A| + |B| - |A or B|
        first, result, both = (
            count(names[: k + 1]),
            count(names[-1:]),
            count([*names[: k + 1], names[-1]]),
        )
        shared = tuple(a + b - c for a, b, c in zip(first, result, both, strict=True))
        counts[name] = OperationCount(*(x - y for x, y in zip(shared, before, strict=True)))
        before = shared
    return counts
