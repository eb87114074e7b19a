"""The kernel of one sample, as LLVM text: one number after the other, sines side by side."""

from __future__ import annotations

import math

from robot_dynamics.compiler.graph.trace import Program
from robot_dynamics.compiler.native.arctangent import packed_arctangent
from robot_dynamics.compiler.native.finite_check import FiniteCheck
from robot_dynamics.compiler.native.ir import Code, Lanes, argument, emit_body
from robot_dynamics.compiler.native.llvm import Host
from robot_dynamics.compiler.native.sincos import exact_functions, packed_sine_cosine


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
        lambda name, i: code.load(lanes.type, argument(name), i * lanes.bytes, lanes.bytes),
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
        code.function(f"define i32 @single({parameters})", "nounwind"),
    ]
