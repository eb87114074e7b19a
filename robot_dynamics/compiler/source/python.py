"""Back end: readable straight-line Python, and the kernel where LLVM is absent.

The generated function works on floats and, with NumPy's functions, on columns, where
`q_0` is an array with one entry per sample. One source thus serves single calls and
batches.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from robot_dynamics.compiler.graph.operations import ARCTAN2, FLOOR, SELECT
from robot_dynamics.compiler.graph.trace import Program, Shape, array_of, operation_count
from robot_dynamics.compiler.kernel import Given, Kernel, Results, program_of
from robot_dynamics.compiler.kernel_arguments import check_arguments, check_threads
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


def compile_python(
    program: Given, *, key: str | None = None, finite: bool = False, use_cache: bool = True
) -> Kernel:
    """Build a kernel that runs in the Python interpreter.

    Args:
        program: The equations, or a function that makes them.
        key: Ignored: there is no code to cache.
        finite: Refuse NaN and infinity in arguments.
        use_cache: Ignored.
    """
    return PythonKernel(program_of(program), finite)


class PythonKernel(Kernel):
    """A program as interpreted Python: same calls and results as native code, slowly."""

    def __init__(self, program: Program, finite: bool) -> None:
        shapes = {name: output.shape for name, output in program.outputs.items()}
        super().__init__(program.name, program.inputs, shapes, operation_count(program))
        self._program = program
        self._finite = finite
        self._on_floats = _load(program, "math")
        self._on_columns = _load(program, "numpy")

    @property
    def program(self) -> Program:
        """The equations."""
        return self._program

    def __call__(
        self, *arrays: npt.ArrayLike, out: Any = None, threads: int | None = None
    ) -> Results:
        """See `Kernel.__call__`; `threads` is ignored."""
        check_threads(threads)
        call = check_arguments(self.inputs, self.outputs, arrays, out, finite=self._finite)
        if call.batch is None:
            try:
                values = self._on_floats(*[a.tolist() for a in call.inputs])
            except (ValueError, OverflowError, ZeroDivisionError):  # where NumPy gives nan or inf
                values = self._columns(*call.inputs)
        else:
            columns = [
                np.moveaxis(a, 0, -1) if a.ndim > len(shape) else a
                for a, shape in zip(call.inputs, self.inputs.values(), strict=True)
            ]
            values = self._columns(*columns)
        named = dict.fromkeys(self.outputs, values) if len(self.outputs) == 1 else values
        for (name, shape), result in zip(self.outputs.items(), call.outputs, strict=True):
            _fill(result, shape, named[name])
        return self.results(call.finish())

    def _columns(self, *arrays: Any) -> Any:
        with np.errstate(all="ignore"):
            return self._on_columns(*arrays)


def _load(program: Program, functions: str) -> Callable[..., Any]:
    """Run the generated module and return its function."""
    namespace: dict[str, Any] = {}
    source = python_source(program, functions=functions)
    exec(compile(source, f"<{program.name}>", "exec"), namespace)
    return namespace[program.name]


def _imported(program: Program, calls: Mapping[str, str]) -> list[str]:
    """List the functions to import: the common ones, and rare ones that the program uses."""
    rare = {node.op for node in program.nodes} & {ARCTAN2, FLOOR, SELECT}
    names = {calls[op].partition("(")[0] for op in rare} - {""}
    return sorted({"cos", "exp", "sin", "sqrt", "tanh", *names})


def _fill(result: npt.NDArray[Any], shape: Shape, values: Any) -> None:
    """Copy nested lists of numbers or columns into an array of samples."""
    if not shape:
        result[...] = values
        return
    for i, value in enumerate(values):
        _fill(
            result[..., i] if len(shape) == 1 else np.moveaxis(result, -len(shape), 0)[i],
            shape[1:],
            value,
        )


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
