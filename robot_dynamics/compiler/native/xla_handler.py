"""Handlers of XLA's foreign function interface, through which JAX calls kernels on a CPU.

A handler takes the arrays out of XLA's call frame and calls the code of a kernel: no Python and
no copy in between. The frame is read where c_api.h of XLA, version 0, keeps its fields.
"""

from __future__ import annotations

import math

from robot_dynamics.compiler.native import llvm
from robot_dynamics.compiler.native.ir import Code, SimdType, module
from robot_dynamics.compiler.native.native_kernel import NativeKernel

# Offsets of fields in bytes: of a call frame, a buffer, and the frame that asks for the version
_EXTENSION, _API, _ARGUMENTS, _RESULTS = 8, 16, 72, 112
_DATA, _RANK, _DIMENSIONS = 24, 32, 40
_METADATA, _VERSION, _TRAITS, _VERSION_OF_API = 24, 24, 32, 32


def xla_handler(kernel: NativeKernel, scalar: str) -> llvm.Loaded:
    """Compile the handler of a kernel, a function `handler` that has to live as long as its uses.

    It takes arrays of shape (..., *input), with the same leading axes throughout.

    Args:
        kernel: A kernel that takes numbers that are not finite.
        scalar: "double" or "float".
    """
    here = llvm.host()
    single, batch, width = kernel.addresses(scalar)
    code, lanes = Code(here.typed_pointers), SimdType(scalar)
    shapes = list(kernel.inputs.values())

    extension = code.load("i64", "%frame", _EXTENSION)
    code.branch(code.equal("i64", extension, "0"), "call", "ask")
    code.label("ask")  # the version of the interface: that of the caller, whose layout it is
    api, metadata = code.load("i64", "%frame", _API), code.load("i64", extension, _METADATA)
    code.store("i64", code.load("i64", api, _VERSION_OF_API), metadata, _VERSION)
    code.store("i32", "0", metadata, _TRAITS, align=4)
    code.do("ret i64 0")

    code.label("call")
    places = []
    for start, count in ((_ARGUMENTS, len(shapes)), (_RESULTS, len(kernel.outputs))):
        buffers = code.load("i64", "%frame", start)
        places += [code.load("i64", buffers, 8 * k) for k in range(count)]
    data = [code.load("i64", place, _DATA) for place in places]
    rank = code.load("i64", places[0], _RANK)
    leading = code.let(f"sub i64 {rank}, {len(shapes[0])}")
    dimensions = code.load("i64", places[0], _DIMENSIONS)
    code.do("br label %count")
    code.label("count")
    code.do("%axis = phi i64 [ 0, %call ], [ %axis.next, %multiply ]")
    code.do("%states = phi i64 [ 1, %call ], [ %states.next, %multiply ]")
    code.branch(code.equal("i64", "%axis", leading), "counted", "multiply")
    code.label("multiply")
    place = code.let(f"add i64 {dimensions}, " + code.let("shl i64 %axis, 3"))
    code.do(f"%states.next = mul i64 %states, {code.load('i64', place)}")
    code.do("%axis.next = add i64 %axis, 1")
    code.do("br label %count")

    code.label("counted")
    code.branch(code.equal("i64", "%states", "1"), "one", "many")
    code.label("one")
    _call(code, "i32", single, data)
    code.do("ret i64 0")
    code.label("many")
    steps = [str(width * math.prod(shape) * lanes.bytes) for shape in shapes]
    _call(code, "i64", batch, ["%states", *data, *steps])
    code.do("ret i64 0")
    text = module([code.function("define i64 @handler(i64 %frame)")], [lanes], here.typed_pointers)
    return llvm.Loaded(llvm.compile_object(text), ["handler"])


def _call(code: Code, result: str, address: int, values: list[str]) -> None:
    """Call a function at a known address with 64-bit integers."""
    kind = f"{result} ({', '.join(['i64'] * len(values))})"
    function = code.let(f"inttoptr i64 {address} to {code.pointer(kind)}")
    code.let(f"call {result} {function}({', '.join(f'i64 {value}' for value in values)})")
