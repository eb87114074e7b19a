"""The pieces of a kernel as modules in LLVM's language: one sample, or many, and their entries."""

from __future__ import annotations

import math

from robot_dynamics.compiler.graph.trace import Program, Shape
from robot_dynamics.compiler.native.arctangent import packed_arctangent
from robot_dynamics.compiler.native.batch import batch_functions
from robot_dynamics.compiler.native.entry import array_layout
from robot_dynamics.compiler.native.entry.entry_functions import batch_entry, single_entry
from robot_dynamics.compiler.native.ir import Code, Lanes, argument, module
from robot_dynamics.compiler.native.llvm import Host
from robot_dynamics.compiler.native.program_ir import FiniteCheck, Values, emit_body
from robot_dynamics.compiler.native.sincos import exact_functions, packed_sine_cosine


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


def single_functions(
    program: Program, host: Host, finite: bool, scalar: str = "double"
) -> list[str]:
    """Write `i32 single(addresses of inputs, then of outputs)`.

    It reads every input before it writes an output, so an output may lie on an input. It
    returns 1, and writes nothing, if an input is not finite and that is to be checked.

    Args:
        program: The equations.
        host: The machine.
        finite: Check inputs.
        scalar: Type of numbers, "double" or "float".
    """
    lanes, width = Lanes(scalar), host.lanes(scalar)
    code = Code(host.typed_pointers)
    outputs = emit_body(
        code,
        program,
        lanes,
        Values(lambda name, i: code.load(lanes.type, argument(name), i * lanes.bytes, lanes.bytes)),
        lambda code, angles: packed_sine_cosine(code, lanes, width, angles, host.fused),
        lambda code, points: packed_arctangent(code, lanes, width, points, host.fused),
    )
    if finite:
        check = FiniteCheck(code, lanes)
        for name, shape in program.inputs.items():
            for i in range(math.prod(shape)):
                check.add(code.load(lanes.type, argument(name), i * lanes.bytes, lanes.bytes))
        code.branch_rarely(check.failed(), "refuse", "write")
        code.label("refuse")
        code.do("ret i32 1")
        code.label("write")
    for name, values in outputs.items():
        for i, value in enumerate(values):
            code.store(lanes.type, value, argument(name), i * lanes.bytes, lanes.bytes)
    code.do("ret i32 0")
    parameters = ", ".join(f"i64 {argument(name)}" for name in (*program.inputs, *program.outputs))
    types = dict.fromkeys([lanes, Lanes(scalar, width)])
    return [
        *(exact_functions(t, host.typed_pointers) for t in types),
        code.function(f"define i32 @single({parameters})"),
    ]
