"""Packed operations of a program as LLVM vector instructions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from robot_dynamics.compiler.graph.expression import Expression
from robot_dynamics.compiler.graph.operations import CONSTANT, MULTIPLY
from robot_dynamics.compiler.graph.packing import (
    LaneSigns,
    Pack,
    Packing,
    PackOperand,
    Source,
    source_of,
    unsigned,
)
from robot_dynamics.compiler.native.ir import Code, SimdType, number_text
from robot_dynamics.compiler.native.program_ir import Values


class _Vector(NamedTuple):
    """A vector value, and for each SIMD lane whether it holds the negated node."""

    name: str
    negative: tuple[bool, ...]


def _differ(some: Sequence[bool], others: Sequence[bool]) -> tuple[bool, ...]:
    """Mark the SIMD lanes where the signs differ."""
    return tuple(x != y for x, y in zip(some, others, strict=True))


class PackedValues(Values):
    """Values of one program; nodes of packs are SIMD lanes of vectors.

    Args:
        load_input: See `Values`.
        code: Code of the function.
        lanes: Type of a scalar.
        packing: The packs of the program.
    """

    def __init__(
        self,
        load_input: Callable[[str, int], str],
        code: Code,
        lanes: SimdType,
        packing: Packing,
    ) -> None:
        super().__init__(load_input)
        self._code, self._lanes, self._packing = code, lanes, packing
        self._signs = LaneSigns(packing)
        self._vectors: dict[Pack, _Vector] = {}
        self._opposite: dict[Pack, str] = {}
        self._gathered: dict[Source, _Vector] = {}

    def define_pack(self, pack: Pack) -> None:
        """See `Values`."""
        left, right = self._operand(pack.left), self._operand(pack.right)
        if pack.multiplies:
            kind, differ = self._kind(len(pack.nodes)).type, _differ(left.negative, right.negative)
            product = self._code.let(f"fmul contract {kind} {left.name}, {right.name}")
            self._vectors[pack] = _Vector(product, differ)
        else:
            self._vectors[pack] = self._sum(pack, left, right)

    def use(self, node: Expression) -> str:
        """See `Values`; a SIMD lane is extracted at its first use."""
        if node.index not in self.known:
            self.known[node.index] = self._lane(*unsigned(node))
        return self.known[node.index]

    def result(self, node: Expression) -> str:
        """See `Values`."""
        return self.use(node)

    def _sum(self, pack: Pack, left: _Vector, right: _Vector) -> _Vector:
        """Write a sum, or a difference if that changes fewer signs, with the signs of the left."""
        kind, differ = self._kind(len(pack.nodes)).type, _differ(left.negative, right.negative)
        subtracts = 2 * sum(differ) > len(differ)
        wrong = tuple(x != subtracts for x in differ)
        # A product whose sign is changed does not fuse with its sum
        if pack.right.nodes[0].op == MULTIPLY and pack.left.nodes[0].op != MULTIPLY:
            left = _Vector(self._changed(left.name, wrong), _differ(left.negative, wrong))
        else:
            right = _Vector(self._changed(right.name, wrong), _differ(right.negative, wrong))
        operation = "fsub" if subtracts else "fadd"
        name = self._code.let(f"{operation} contract {kind} {left.name}, {right.name}")
        return _Vector(name, left.negative)

    def _lane(self, node: Expression, minus: bool) -> str:
        pack, lane = self._packing.place[node.index]
        name, negative = self._vectors[pack]
        kind = self._kind(len(pack.nodes)).type
        if negative[lane] != minus:
            if pack not in self._opposite:
                self._opposite[pack] = self._code.let(f"fneg {kind} {name}")
            name = self._opposite[pack]
        return self._code.let(f"extractelement {kind} {name}, i32 {lane}")

    def _operand(self, operand: PackOperand) -> _Vector:
        """Return the vector of the operands, and their signs in it."""
        pack = self._packing.pack_of(operand.nodes)
        if pack is not None:
            name, negative = self._vectors[pack]
        else:
            source, negative = source_of(operand), self._signs.chosen(operand)
            if source not in self._gathered:
                self._gathered[source] = _Vector(self._put_together(operand, negative), negative)
            name, _ = self._gathered[source]
        return _Vector(name, _differ(negative, operand.negative))

    def _put_together(self, operand: PackOperand, negative: Sequence[bool]) -> str:
        """Assemble a vector from constants or scalars."""
        kind, nodes = self._kind(len(operand.nodes)), operand.nodes
        if all(x.op == CONSTANT for x in nodes):
            signs = (-1.0 if minus else 1.0 for minus in negative)
            signed = (sign * x.value for sign, x in zip(signs, nodes, strict=True))
            numbers = (f"{kind.scalar} {number_text(c, kind.scalar)}" for c in signed)
            return f"<{', '.join(numbers)}>"
        if all(x is nodes[0] for x in nodes):
            first = f"{kind.scalar} {self.use(nodes[0])}, i32 0"
            one = self._code.let(f"insertelement {kind.type} poison, {first}")
            same = f"<{len(nodes)} x i32> zeroinitializer"
            name = self._code.let(f"shufflevector {kind.type} {one}, {kind.type} poison, {same}")
            return self._changed(name, negative)
        name = "poison"
        for lane, x in enumerate(nodes):
            entry = f"{kind.scalar} {self.use(x)}, i32 {lane}"
            name = self._code.let(f"insertelement {kind.type} {name}, {entry}")
        return self._changed(name, negative)

    def _changed(self, name: str, lanes: Sequence[bool]) -> str:
        """Change the sign of some SIMD lanes of a vector."""
        if not any(lanes):
            return name
        kind = self._kind(len(lanes))
        bits = (f"i{kind.bits} {-(1 << (kind.bits - 1)) if minus else 0}" for minus in lanes)
        whole = self._code.let(f"bitcast {kind.type} {name} to {kind.integer}")
        whole = self._code.let(f"xor {kind.integer} {whole}, <{', '.join(bits)}>")
        return self._code.let(f"bitcast {kind.integer} {whole} to {kind.type}")

    def _kind(self, count: int) -> SimdType:
        return SimdType(self._lanes.scalar, count)
