"""Writers of LLVM text: values, memory, functions and modules.

The text is valid for LLVM 14 and later. Addresses are plain 64-bit integers that
become pointers at a load or store, because pointer types changed with LLVM 15.
Constant vectors are written out, because `splat` came with LLVM 19.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from robot_dynamics.compiler.graph.operations import ABS, FLOOR, SQRT
from robot_dynamics.compiler.native.llvm import LIBRARY_FUNCTIONS

INTRINSICS = {SQRT: "sqrt", ABS: "fabs", FLOOR: "floor"}
"""Operations that LLVM has as intrinsics, with their names."""


@dataclass(frozen=True)
class SimdType:
    """A numeric type of `width` SIMD lanes; width 1 is the plain scalar.

    Args:
        scalar: "double" or "float".
        width: Number of SIMD lanes.
    """

    scalar: str
    width: int = 1

    @property
    def bits(self) -> int:
        """Bits of one lane."""
        return 64 if self.scalar == "double" else 32

    @property
    def bytes(self) -> int:
        """Bytes of one lane in memory."""
        return self.bits // 8

    @property
    def type(self) -> str:
        """LLVM type of the numbers."""
        return self.of(self.scalar)

    @property
    def vector(self) -> str:
        """LLVM type of the numbers as a vector, even of one lane."""
        return f"<{self.width} x {self.scalar}>"

    @property
    def integer(self) -> str:
        """LLVM type of the integers with the same bits."""
        return self.of(f"i{self.bits}")

    @property
    def suffix(self) -> str:
        """Suffix of intrinsic functions of the type."""
        letter = f"f{self.bits}"
        return letter if self.width == 1 else f"v{self.width}{letter}"

    def of(self, scalar: str) -> str:
        """LLVM type of as many SIMD lanes of another scalar."""
        return scalar if self.width == 1 else f"<{self.width} x {scalar}>"

    def number(self, value: float) -> str:
        """A constant in every lane."""
        return self._everywhere(self.scalar, number_text(value, self.scalar))

    def whole(self, value: int) -> str:
        """An integer constant in every lane."""
        return self._everywhere(f"i{self.bits}", str(value))

    def _everywhere(self, scalar: str, text: str) -> str:
        if self.width == 1:
            return text
        return "<" + ", ".join([f"{scalar} {text}"] * self.width) + ">"


def number_text(value: float, scalar: str) -> str:
    """Write a constant exactly, as the bits of a double, also for a float."""
    if scalar == "float":
        value = float(np.float32(value))
    return f"0x{struct.unpack('Q', struct.pack('d', value))[0]:016X}"


class Code:
    """The lines of one LLVM function, with a fresh name for every value.

    Args:
        typed_pointers: True for LLVM before 16, whose pointers say what they point to.
    """

    def __init__(self, typed_pointers: bool) -> None:
        self.typed_pointers = typed_pointers
        self.lines: list[str] = []
        self._count = 0

    def fresh(self, stem: str = "v") -> str:
        """Return an unused name for a value or label, without its % sign."""
        self._count += 1
        return f"{stem}{self._count}"

    def let(self, instruction: str) -> str:
        """Append an instruction and return the name of its value."""
        name = "%" + self.fresh()
        self.lines.append(f"  {name} = {instruction}")
        return name

    def do(self, instruction: str) -> None:
        """Append an instruction that has no value."""
        self.lines.append(f"  {instruction}")

    def equal(self, kind: str, a: str, b: str) -> str:
        """Equality of integers, i1."""
        return self.let(f"icmp eq {kind} {a}, {b}")

    def all(self, conditions: Sequence[str]) -> str:
        """Conjunction, i1."""
        total = conditions[0]
        for c in conditions[1:]:
            total = self.let(f"and i1 {total}, {c}")
        return total

    def label(self, name: str) -> None:
        """Begin a basic block."""
        self.lines.append(f"{name}:")

    def branch(self, condition: str, yes: str, no: str) -> None:
        """Go to one of two blocks."""
        self.do(f"br i1 {condition}, label %{yes}, label %{no}")

    def branch_rarely(self, condition: str, yes: str, no: str) -> None:
        """Go to one of two blocks, of which the first is unlikely and placed out of line."""
        self.do(f"br i1 {condition}, label %{yes}, label %{no}, !prof !0")

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """Let what is written inside run only if a condition (i1) holds."""
        body, after = self.fresh("body"), self.fresh("after")
        self.branch(condition, body, after)
        self.label(body)
        yield
        self.do(f"br label %{after}")
        self.label(after)

    @contextmanager
    def rounds(self, most: str, condition: Callable[[], str] = lambda: "true") -> Iterator[str]:
        """Repeat what is written inside, and give the number of the round, from 0 on.

        Args:
            most: Number of rounds.
            condition: Writes a condition (i1) of every round; the first one without it ends all.
        """
        names = [self.fresh(stem) for stem in ("before", "test", "round", "body", "more", "after")]
        before, test, count, body, more, after = names
        self.do(f"br label %{before}")
        self.label(before)
        self.do(f"br label %{test}")
        self.label(test)
        self.do(f"%{count} = phi i64 [ 0, %{before} ], [ %{count}.next, %{more} ]")
        left = self.let(f"icmp slt i64 %{count}, {most}")
        self.branch(self.let(f"and i1 {left}, {condition()}"), body, after)
        self.label(body)
        yield f"%{count}"
        self.do(f"br label %{more}")
        self.label(more)
        self.do(f"%{count}.next = add i64 %{count}, 1")
        self.do(f"br label %{test}")
        self.label(after)

    def pointer(self, pointee: str) -> str:
        """Type of a pointer."""
        return f"{pointee}*" if self.typed_pointers else "ptr"

    def at(self, address: str, pointee: str, offset: int = 0) -> str:
        """Return a typed pointer to `address` + `offset` bytes, preceded by its type."""
        if offset:
            address = self.let(f"add i64 {address}, {offset}")
        pointer = self.pointer(pointee)
        return f"{pointer} " + self.let(f"inttoptr i64 {address} to {pointer}")

    def load(self, kind: str, address: str, offset: int = 0, align: int = 8) -> str:
        """Read a value of that type."""
        place = self.at(address, kind, offset)
        return self.let(f"load {kind}, {place}, align {align}")

    def store(self, kind: str, value: str, address: str, offset: int = 0, align: int = 8) -> None:
        """Write a value of that type."""
        place = self.at(address, kind, offset)
        self.do(f"store {kind} {value}, {place}, align {align}")

    def address_of(self, variable: str, kind: str) -> str:
        """Address of a variable of the module."""
        return f"ptrtoint ({self.pointer(kind)} @{variable} to i64)"

    def stack(self, kind: str, count: int) -> str:
        """Address of `count` values on the stack; call it in the first block of a function."""
        pointer = self.let(f"alloca {kind}, i32 {count}, align 64")
        return self.let(f"ptrtoint {self.pointer(kind)} {pointer} to i64")

    def copy(self, target: str, source: str, length: str) -> None:
        """Copy bytes between addresses."""
        places = f"{self.at(target, 'i8')}, {self.at(source, 'i8')}"
        self.do(f"call void {self.memory('cpy')}({places}, i64 {length}, i1 false)")

    def fill(self, target: str, length: str) -> None:
        """Set bytes to zero."""
        self.do(
            f"call void {self.memory('set')}({self.at(target, 'i8')}, i8 0, i64 {length}, i1 false)"
        )

    def memory(self, what: str) -> str:
        """Name of the intrinsic that copies ("cpy") or fills ("set") memory."""
        places = 2 if what == "cpy" else 1
        suffix = "p0i8" if self.typed_pointers else "p0"
        return f"@llvm.mem{what}{f'.{suffix}' * places}.i64"

    def function(self, signature: str, attributes: str = "") -> str:
        """Return the finished function, e.g. of the signature `define void @f(i64 %x)`.

        No C++ exception passes through it, so it has no unwind table. Unwind tables are registered
        for the whole process, and with libgcc of GCC 13 and later the lookup for an exception of
        any other library has crashed after the code was freed.
        """
        body = "\n".join(self.lines)
        return f"{signature} nounwind {attributes} {{\nentry:\n{body}\n}}\n"


REALIGNED = '"stackrealign"'
"""Attribute of a function that spills vectors: else most of them lie across two lines of cache."""


def argument(name: str) -> str:
    """Return the parameter of a native function that holds the address of an input or output."""
    return f"%at_{name}"


def by_lane(code: Code, lanes: SimdType, function: str, *operands: str) -> str:
    """Call a C library function of doubles for every SIMD lane."""
    result = "undef"
    for i in range(lanes.width):
        given = []
        for x in operands:
            lane = x if lanes.width == 1 else code.let(f"extractelement {lanes.type} {x}, i32 {i}")
            if lanes.scalar == "float":
                lane = code.let(f"fpext float {lane} to double")
            given.append(f"double {lane}")
        lane = code.let(f"call double @{function}({', '.join(given)})")
        if lanes.scalar == "float":
            lane = code.let(f"fptrunc double {lane} to float")
        if lanes.width == 1:
            return lane
        result = code.let(f"insertelement {lanes.type} {result}, {lanes.scalar} {lane}, i32 {i}")
    return result


def packed(code: Code, wide: SimdType, scalars: list[str]) -> list[str]:
    """Pack scalars into vectors; zeros fill up the last one."""
    vectors = []
    for start in range(0, len(scalars), wide.width):
        vector = wide.number(0.0)
        for i, x in enumerate(scalars[start : start + wide.width]):
            vector = code.let(f"insertelement {wide.type} {vector}, {wide.scalar} {x}, i32 {i}")
        vectors.append(vector)
    return vectors


def lane(code: Code, wide: SimdType, vector: str, k: int) -> str:
    """Extract packed scalar number k from its vector."""
    return code.let(f"extractelement {wide.type} {vector}, i32 {k % wide.width}")


def any_lane(code: Code, lanes: SimdType, flags: str) -> str:
    """Return true (i1) if any flag of a vector is true."""
    if lanes.width == 1:
        return flags
    bits = code.let(f"bitcast {lanes.of('i1')} {flags} to i{lanes.width}")
    return code.let(f"icmp ne i{lanes.width} {bits}, 0")


def module(functions: Iterable[str], types: Iterable[SimdType], typed_pointers: bool) -> str:
    """Write a complete module: the functions, and declarations of all that they may call."""
    spelling = Code(typed_pointers)
    byte = spelling.pointer("i8")
    lines = [
        f"declare void {spelling.memory('cpy')}({byte}, {byte}, i64, i1)",
        f"declare void {spelling.memory('set')}({byte}, i8, i64, i1)",
        "declare i64 @malloc(i64)",
        "declare void @free(i64)",
    ]
    lines += [
        f"declare double @{name}({', '.join(['double'] * count)})"
        for name, count in LIBRARY_FUNCTIONS.items()
    ]
    for lanes in dict.fromkeys(types):
        kind, wide = lanes.type, lanes.suffix
        lines += [f"declare {kind} @llvm.{name}.{wide}({kind})" for name in INTRINSICS.values()]
        lines += [f"declare {kind} @llvm.copysign.{wide}({kind}, {kind})"]
        lines += [f"declare {kind} @llvm.fma.{wide}({kind}, {kind}, {kind})"]
    lines += ['!0 = !{!"branch_weights", i32 1, i32 1000000}']
    return "\n".join([*lines, "", *functions])
