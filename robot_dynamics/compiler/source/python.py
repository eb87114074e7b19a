"""Readable straight-line Python.

The generated function works on floats and, with NumPy's functions, on columns, where
`q_0` is an array with one entry per sample. One source thus serves single calls and
batches.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

import numpy as np

from robot_dynamics.compiler.graph.operations import ARCTAN2, FLOOR, SELECT
from robot_dynamics.compiler.graph.trace import Program, Shape, array_of
from robot_dynamics.compiler.source.straight_line import (
    FUNCTION_CALLS,
    Syntax,
    header_lines,
    straight_line,
)

_OF_FLOATS = {ARCTAN2: "atan2({}, {})", SELECT: "({2} if {0} < {1} else {3})"}


def python_source(
    program: Program, *, header: Mapping[str, str] | None = None, functions: str = "numpy"
) -> str:
    """Write a program as one Python function of sequences.

    Args:
        program: The equations.
        header: More lines for the docstring of the file, by key: robot, formulation, version.
        functions: Module that sin, cos and the like come from, "numpy" or "math".

    Returns:
        A module with one function, named like the program. It takes every input as a (nested)
        sequence and returns a list, or a dict of lists if there are several outputs.
    """
    entries = entry_names(program.inputs)
    calls = {**FUNCTION_CALLS, **(_OF_FLOATS if functions == "math" else {})}
    syntax = Syntax(input=lambda name, i: entries[name][i], calls=calls, width=80)
    text = straight_line(program, syntax)
    body = [f"{nested(entries[n], s)} = {n}" for n, s in program.inputs.items()]
    body += [f"{name} = {value}" for name, value in text.terms]
    returned = {
        name: nested(text.outputs[name], output.shape, "[", "]")
        for name, output in program.outputs.items()
    }
    if len(returned) == 1:
        body += [f"return {value}" for value in returned.values()]
    else:
        body += ["return {", *[f'    "{k}": {v},' for k, v in returned.items()], "}"]
    about = "\n".join(header_lines(program, header))
    signature = f"def {program.name}({', '.join(program.inputs)}):"
    return (
        f'"""{about}\n"""\n\n'
        f"from {functions} import {', '.join(_imported(program, calls))}\n"
        "\n\n"
        f"{signature}\n{textwrap.indent(chr(10).join(body), '    ')}\n"
    )


def _imported(program: Program, calls: Mapping[str, str]) -> list[str]:
    """List the functions to import: the common ones, and rare ones that the program uses."""
    rare = {node.op for node in program.nodes} & {ARCTAN2, FLOOR, SELECT}
    names = {calls[op].partition("(")[0] for op in rare} - {""}
    return sorted({"cos", "exp", "sin", "sqrt", "tanh", *names})


def entry_names(inputs: Mapping[str, Shape]) -> dict[str, list[str]]:
    """Variable of every entry of every input: q_0, q_1, ... or J_0_0, J_0_1, ..."""
    names: dict[str, list[str]] = {}
    taken = set(inputs)
    for name, shape in inputs.items():
        entries = ["_".join([name, *map(str, index)]) for index in np.ndindex(*shape)]
        while shape and taken.intersection(entries):  # an input may be called q_0 itself
            entries = [f"{entry}_" for entry in entries]
        taken.update(entries)
        names[name] = entries
    return names


def nested(
    items: list[str] | tuple[str, ...], shape: Shape, left: str = "(", right: str = ")"
) -> str:
    """Items as nested tuples or lists of that shape."""

    def written(array: Any) -> str:
        if not isinstance(array, np.ndarray) or array.ndim == 0:
            return str(array)
        inner = ", ".join(written(a) for a in array)
        comma = "," if len(array) == 1 and left == "(" else ""
        return f"{left}{inner}{comma}{right}"

    return written(array_of(items, shape))
