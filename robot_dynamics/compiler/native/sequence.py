"""Sequence: kernels called in order by one native call, each under a condition."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.compiler.native import cache, llvm
from robot_dynamics.compiler.native.ir import Code, module
from robot_dynamics.compiler.native.native_kernel import NativeKernel
from robot_dynamics.foundation.arrays import Array

_ALWAYS, _FIRST = np.ones(1), np.zeros(1)
_HALF = "0x3FE0000000000000"


class Call(NamedTuple):
    """One call of a sequence.

    Args:
        kernels: Kernels to choose from; None for one that is not compiled yet.
        choice: Number of the kernel, shape (1,); None for the first.
        flag: Number above 0.5 if the kernel is called, shape (1,); None for always.
        inputs: Inputs of the kernel.
        out: Output of the kernel.
        kept: Copied to the output instead, if the kernel is not called.
    """

    kernels: list[NativeKernel | None]
    choice: Array | None
    flag: Array | None
    inputs: tuple[Array, ...]
    out: Array
    kept: Array


class KernelSequence:
    """Calls in order; all arrays are read and written in place.

    Args:
        calls: The calls, whose kernels have equally many inputs.
        compiled: Returns a kernel that is not compiled yet, by the index of its call and its number
            among those of the call.
    """

    def __init__(self, calls: Sequence[Call], compiled: Callable[[int, int], NativeKernel]) -> None:
        self._calls, self._compiled = tuple(calls), compiled
        self._tables = [
            np.array([0 if x is None else x.address for x in call.kernels], dtype=np.int64)
            for call in calls
        ]
        rows = [
            [
                *map(_address, (_ALWAYS if call.flag is None else call.flag, table)),
                _address(_FIRST if call.choice is None else call.choice),
                *map(_address, (*call.inputs, call.out, call.kept)),
                call.out.nbytes,
            ]
            for call, table in zip(calls, self._tables, strict=True)
        ]
        self._rows = np.array(rows, dtype=np.int64)
        self._start, self._step = _address(self._rows), self._rows.strides[0]
        self._code = _driver(len(calls[0].inputs))
        # It keeps the interpreter: to give it up and take it again costs more than the calls
        prototype = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
        self._run = prototype(self._code.address("sequence"))

    def __call__(self) -> None:
        """Run all calls."""
        count = len(self._calls)
        if (done := self._run(self._start, count)) < count:
            self.run(done, count - done)

    def run(self, first: int, count: int) -> None:
        """Run some calls in a row."""
        while (done := self._run(self._start + first * self._step, count)) < count:
            first, count = first + done, count - done
            self._compile(first)

    def _compile(self, index: int) -> None:
        call = self._calls[index]
        number = 0 if call.choice is None else int(call.choice[0])
        kernel = call.kernels[number] = self._compiled(index, number)
        self._tables[index][number] = kernel.address


def _address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


@lru_cache
def _driver(inputs: int) -> Any:
    """Return the code that runs rows of addresses, and returns how many it ran.

    It stops before a kernel that is not compiled.
    """
    code = Code(llvm.host().typed_pointers)
    with code.rounds("%count") as k:
        row = code.let(f"add i64 %rows, {code.let(f'mul i64 {k}, {8 * (inputs + 6)}')}")
        flag, table, choice, *given, kept, size = (
            code.load("i64", row, 8 * i) for i in range(inputs + 6)
        )
        code.branch(code.let(f"fcmp ogt double {code.load('double', flag)}, {_HALF}"), "do", "keep")
        code.label("do")
        number = code.let(f"fptosi double {code.load('double', choice)} to i64")
        place = code.let(f"add i64 {table}, {code.let(f'shl i64 {number}, 3')}")
        function = code.load("i64", place)
        code.branch_rarely(code.equal("i64", function, "0"), "leave", "call")
        code.label("leave")
        code.do(f"ret i64 {k}")
        code.label("call")
        kind = code.pointer(f"i32 ({', '.join(['i64'] * len(given))})")
        pointer = code.let(f"inttoptr i64 {function} to {kind}")
        code.let(f"call i32 {pointer}({', '.join(f'i64 {x}' for x in given)})")
        code.do("br label %next")
        code.label("keep")
        code.copy(given[-1], kept, size)
        code.do("br label %next")
        code.label("next")
    code.do("ret i64 %count")
    text = module(
        [code.function("define i64 @sequence(i64 %rows, i64 %count)")],
        [],
        code.typed_pointers,
    )
    return llvm.Loaded(cache.object_code("sequence", text), ["sequence"])
