"""Kernels that Python evaluates: an oracle for native code, and for traced equations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from robot_dynamics.compiler.graph.trace import Program, Shape, operation_count
from robot_dynamics.compiler.kernel import Given, Kernel, Results, program_of
from robot_dynamics.compiler.kernel_arguments import check_arguments, check_threads
from robot_dynamics.compiler.source.python import python_source
from robot_dynamics.foundation.arrays import refuse_non_finite


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
        call = check_arguments(self.inputs, self.outputs, arrays, out)
        if self._finite:
            for name, array in zip(self.inputs, call.inputs, strict=True):
                refuse_non_finite(name, array)
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
