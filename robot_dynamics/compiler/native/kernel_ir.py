"""The pieces of a kernel as modules in LLVM's language: one sample, or many, and their entries."""

from __future__ import annotations

from robot_dynamics.compiler.graph.trace import Program, Shape
from robot_dynamics.compiler.native.batch import batch_functions
from robot_dynamics.compiler.native.entry import array_layout
from robot_dynamics.compiler.native.entry.entry_functions import batch_entry, single_entry
from robot_dynamics.compiler.native.ir import Lanes, module
from robot_dynamics.compiler.native.llvm import Host
from robot_dynamics.compiler.native.single import single_functions


def single_ir(program: Program, host: Host, finite: bool, scalar: str) -> str:
    """The module for one sample.

    Args:
        program: The equations.
        host: The machine it is for.
        finite: Refuse NaN and infinity in arguments.
        scalar: "double" or "float".
    """
    functions = single_functions(program, host, finite, scalar)
    if array_layout.available():
        shapes = _shapes(program)
        functions += single_entry(program.inputs, shapes, scalar, host.typed_pointers)
    lanes = Lanes(scalar), Lanes(scalar, host.lanes(scalar))
    return module(functions, lanes, host.typed_pointers)


def batch_ir(program: Program, host: Host, finite: bool, scalar: str, release_from: int) -> str:
    """The module for many samples.

    Args:
        program: The equations.
        host: The machine it is for.
        finite: Refuse NaN and infinity in arguments.
        scalar: "double" or "float".
        release_from: Number of samples from which the entry lets other threads run.
    """
    lanes = Lanes(scalar, host.lanes(scalar))
    functions = batch_functions(program, lanes, host, finite)
    if array_layout.available():
        shapes = _shapes(program)
        functions += batch_entry(program.inputs, shapes, lanes, release_from, host.typed_pointers)
    return module(functions, [lanes], host.typed_pointers)


def _shapes(program: Program) -> dict[str, Shape]:
    return {name: output.shape for name, output in program.outputs.items()}
