"""Back end: native code through LLVM."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from robot_dynamics.compiler import llvm
from robot_dynamics.compiler.arguments import check_arguments
from robot_dynamics.compiler.ir import Code, Lanes, emit_body, module
from robot_dynamics.compiler.kernel import Kernel, Results, results_type
from robot_dynamics.compiler.sincos import exact_functions, packed_sine_cosine
from robot_dynamics.compiler.trace import Program


def scalar_ir(program: Program, host: llvm.Host, scalar: str = "double") -> str:
    """Write the kernel of one sample: `void single(addresses of inputs, then of outputs)`."""
    lanes = Lanes(scalar)
    code = Code(host.typed_pointers)
    width = host.lanes(scalar) if host.fused else 0
    outputs = emit_body(
        code,
        program,
        lanes,
        lambda name, i: code.load(lanes.type, f"%{name}", i * lanes.bytes, lanes.bytes),
        lambda code, angles: packed_sine_cosine(code, lanes, width, angles),
    )
    for name, values in outputs.items():
        for i, value in enumerate(values):
            code.store(lanes.type, value, f"%{name}", i * lanes.bytes, lanes.bytes)
    code.do("ret void")
    parameters = ", ".join(f"i64 %{name}" for name in (*program.inputs, *program.outputs))
    types = [lanes, Lanes(scalar, width)] if width > 1 else [lanes]
    functions = [exact_functions(t, host.typed_pointers) for t in types]
    functions.append(code.function(f"define void @single({parameters})", "nounwind"))
    return module(functions, types)


def compile_native(program: Program, *, finite: bool = False) -> Kernel:
    """Build a kernel of native code."""
    return NativeKernel(program, finite)


class NativeKernel(Kernel):
    """A program as native code."""

    def __init__(self, program: Program, finite: bool) -> None:
        shapes = {name: output.shape for name, output in program.outputs.items()}
        super().__init__(program.name, program.inputs, shapes)
        self.program = program
        self._finite = finite
        self._results = results_type(program.name, shapes)
        host = llvm.host()
        self._code = llvm.Loaded(llvm.compile_object(scalar_ir(program, host)), ["single"])
        count = len(self.inputs) + len(shapes)
        prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * count)
        self._single = prototype(self._code.address("single"))

    def __call__(
        self, *arrays: npt.ArrayLike, out: Any = None, threads: int | None = None
    ) -> Results:
        """See `Kernel.__call__`."""
        call = check_arguments(self.inputs, self.outputs, arrays, out, finite=self._finite)
        inputs = [a.astype(np.float64) for a in call.inputs]
        outputs = [np.empty(o.shape) for o in call.outputs]
        shapes = list(self.inputs.values()), list(self.outputs.values())
        for i in range(1 if call.batch is None else call.batch):
            addresses = []
            for a, shape in zip((*inputs, *outputs), (*shapes[0], *shapes[1]), strict=True):
                step = 8 * math.prod(shape) if a.ndim > len(shape) else 0
                addresses.append(a.ctypes.data + i * step)
            self._single(*addresses)
        for target, result in zip(call.outputs, outputs, strict=True):
            target[...] = result
        call.finish()
        return self._results(call.outputs)
