"""A stage: equations on named arrays, some of which they write anew."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from robot_dynamics.compiler.graph.optimize import optimize
from robot_dynamics.compiler.graph.trace import trace
from robot_dynamics.compiler.native.loop.loop_steps import Run

_NEW = "new_"


def stage(
    name: str,
    function: Callable[..., Mapping[str, Any]],
    sizes: Mapping[str, int],
    inputs: Iterable[str],
) -> Run:
    """The step that evaluates a function of arrays.

    Args:
        name: What it is called.
        function: Takes the arrays of `inputs` by name, and returns those that it writes by name:
            they may be the same.
        sizes: Number of entries of every array.
        inputs: Names of the arrays that it reads.
    """

    def equations(**arrays: Any) -> dict[str, Any]:
        return {_NEW + key: value for key, value in function(**arrays).items()}

    program = optimize(trace(name, equations, {x: (sizes[x],) for x in inputs}))
    return Run(program, {key: key.removeprefix(_NEW) for key in program.outputs})
