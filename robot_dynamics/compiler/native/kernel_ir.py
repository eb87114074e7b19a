"""The modules of a kernel as LLVM text: one sample, many samples, and their entries."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import starmap
from typing import NamedTuple

from robot_dynamics.compiler.graph.expression import Expression, constant_value
from robot_dynamics.compiler.graph.operations import CONSTANT, MULTIPLY
from robot_dynamics.compiler.graph.packing import (
    LaneSigns,
    Pack,
    Packing,
    PackOperand,
    Source,
    find_packs,
    source_of,
    unsigned,
)
from robot_dynamics.compiler.graph.trace import Program, Shape
from robot_dynamics.compiler.native.batch import BatchLimits, BatchWriter
from robot_dynamics.compiler.native.entry import native_entry
from robot_dynamics.compiler.native.entry.entry_code import single_entry
from robot_dynamics.compiler.native.ir import Code, SimdType, argument, module, number_text
from robot_dynamics.compiler.native.llvm import Host
from robot_dynamics.compiler.native.program_ir import FLAGS, FiniteCheck, Values, emit_body
from robot_dynamics.compiler.native.trigonometry import (
    exact_functions,
    packed_arctangent,
    packed_sine_cosine,
)


def single_ir(
    program: Program, host: Host, finite: bool, scalar: str, at_once: bool, table: bool
) -> str:
    """Write the module for one sample.

    Args:
        program: The equations.
        host: The target machine.
        finite: Refuse NaN and infinity in arguments.
        scalar: "double" or "float".
        at_once: Store results as soon as they are known.
        table: Keep constants in a table.
    """
    functions = single_functions(program, host, finite, scalar, at_once, table)
    if native_entry.available():
        shapes = _shapes(program)
        functions += single_entry(program.inputs, shapes, scalar, host.typed_pointers)
    else:
        functions.append(_buffered(program, SimdType(scalar).bytes, host.typed_pointers))
    lanes = SimdType(scalar), SimdType(scalar, host.lanes(scalar))
    return module(functions, lanes, host.typed_pointers)


def batch_ir(
    program: Program, host: Host, finite: bool, scalar: str, limits: tuple[int, ...], columns: bool
) -> str:
    """Write the module for many samples.

    Args:
        program: The equations.
        host: The target machine.
        finite: Refuse NaN and infinity in arguments.
        scalar: "double" or "float".
        limits: As in `BatchLimits`.
        columns: Samples lie side by side.
    """
    lanes = SimdType(scalar, host.lanes(scalar))
    writer = BatchWriter(program.inputs, _shapes(program), lanes, host, columns)
    functions = writer.functions(program, finite)
    if native_entry.available():
        functions += writer.entry(BatchLimits(*limits))
    return module(functions, [lanes], host.typed_pointers)


def _buffered(program: Program, size: int, typed_pointers: bool) -> str:
    """Write `i32 buffered(address)`: `single` of inputs and outputs one after the other."""
    code, at, places = Code(typed_pointers), 0, []
    for shape in (*program.inputs.values(), *_shapes(program).values()):
        places.append(f"i64 {code.let(f'add i64 %first, {at}')}")
        at += math.prod(shape) * size
    missed = code.let(f"call i32 @single({', '.join(places)})")
    code.do(f"ret i32 {missed}")
    return code.function("define i32 @buffered(i64 %first)")


def _shapes(program: Program) -> dict[str, Shape]:
    return {name: output.shape for name, output in program.outputs.items()}


def single_functions(
    program: Program,
    host: Host,
    finite: bool,
    scalar: str = "double",
    at_once: bool = False,
    table: bool = False,
) -> list[str]:
    """Write `i32 single(addresses of inputs, then of outputs)`.

    It reads every input before it writes an output, so an output may share memory with an input.
    With `finite`, it returns 1 and writes nothing if an input is not finite.

    Args:
        program: The equations.
        host: The target machine.
        finite: Check inputs.
        scalar: Type of numbers, "double" or "float".
        at_once: Store results as soon as they are known, so that those of a large matrix do not
            stay on the stack until the end.
        table: Read constants from a table, each use from a place of its own. LLVM writes the
            address of each constant into the code, ten bytes.
    """
    lanes, width = SimdType(scalar), host.lanes(scalar)
    code = Code(host.typed_pointers)
    constants = Constants(code, lanes) if table else None

    def load(name: str, i: int) -> str:
        return code.load(lanes.type, argument(name), i * lanes.bytes, lanes.bytes)

    packing = find_packs(program, width)
    values: Values
    if at_once:
        inputs = {place: load(*place) for place in _places(program.inputs)}
        if finite:
            _refuse_non_finite(code, lanes, inputs.values())
        values = _WrittenValues(program, packing, inputs, code, lanes, constants, width)
    elif packing.packs or constants:
        values = PackedValues(program, load, code, lanes, packing, constants)
    else:
        values = Values(load)
    outputs = emit_body(
        code,
        program,
        lanes,
        values,
        lambda code, angles: packed_sine_cosine(code, lanes, width, angles, host.fused),
        lambda code, points: packed_arctangent(code, lanes, width, points, host.fused),
        packing,
    )
    if not at_once:
        if finite:
            _refuse_non_finite(code, lanes, starmap(load, _places(program.inputs)))
        for name, results in outputs.items():
            entries = program.outputs[name].entries
            i = 0
            while i < len(results):
                kind, value = lanes, results[i]
                if isinstance(values, PackedValues) and (row := values.row(entries[i:])):
                    kind, value = row
                code.store(kind.type, value, argument(name), i * lanes.bytes, lanes.bytes)
                i += kind.width
    code.do("ret i32 0")
    parameters = ", ".join(f"i64 {argument(name)}" for name in (*program.inputs, *program.outputs))
    types = dict.fromkeys([lanes, SimdType(scalar, width)])
    return [
        *(constants.definitions() if constants else ()),
        *(exact_functions(t, host.typed_pointers) for t in types),
        code.function(f"define i32 @single({parameters})", "nounwind"),
    ]


_REACH = 128
"""Bytes before and behind an address that an offset of one byte reaches."""


class Constants:
    """A table of constants in memory.

    Every use has its own entry, so that it becomes an operand in memory and takes no register.
    Uses follow one another through windows of the table, whose offsets take one byte in the code.
    The addresses of windows come from memory, so that LLVM does not add offsets to a symbol, which
    takes ten bytes each.
    """

    def __init__(self, code: Code, lanes: SimdType) -> None:
        self._code, self._lanes = code, lanes
        self._values: list[float] = []
        self._windows: list[int] = []
        self._window = ""
        self._table = code.load("i64", code.address_of("table_of_windows", "i64"))

    def load(self, *values: float) -> str:
        """Write the load of a constant, or of a vector of several."""
        kind, size = SimdType(self._lanes.scalar, len(values)).type, self._lanes.bytes
        offset = len(self._values) * size
        if not self._windows or offset - self._windows[-1] >= _REACH:
            self._window = self._code.load("i64", self._table, 8 * len(self._windows))
            self._windows.append(offset + _REACH)
        place = self._code.at(self._window, kind, offset - self._windows[-1])
        self._values += values
        return self._code.let(f"load {kind}, {place}, align {size}, !invariant.load !1")

    def definitions(self) -> list[str]:
        """Write the table."""
        scalar, values = self._lanes.scalar, self._values or [0.0]
        kind = f"[{len(values)} x {scalar}]"
        numbers = ", ".join(f"{scalar} {number_text(x, scalar)}" for x in values)
        address = self._code.address_of("constants", kind)
        windows = self._windows or [0]
        addresses = ", ".join(f"i64 add (i64 {address}, i64 {x})" for x in windows)
        of_windows = f"[{len(windows)} x i64]"
        first = self._code.address_of("windows", of_windows)
        return [
            f"@constants = internal global {kind} [{numbers}], align 64\n",
            f"@windows = internal global {of_windows} [{addresses}]\n",
            f"@table_of_windows = internal global i64 {first}\n",
            "!1 = !{}\n",
        ]


Place = tuple[str, int]
"""Array and flat index of an entry."""


def _places(shapes: Mapping[str, Shape]) -> list[Place]:
    return [(name, i) for name, shape in shapes.items() for i in range(math.prod(shape))]


def _refuse_non_finite(code: Code, lanes: SimdType, inputs: Iterable[str]) -> None:
    """Write code that returns 1 if an input is NaN or infinite."""
    check = FiniteCheck(code, lanes)
    for x in inputs:
        check.add(x)
    code.branch_rarely(check.failed(), "refuse", "write")
    code.label("refuse")
    code.do("ret i32 1")
    code.label("write")


# -- packed operations as vector instructions -----------------------------------------------------


class _Vector(NamedTuple):
    """A vector value, and for each SIMD lane whether it holds the negated node."""

    name: str
    negative: tuple[bool, ...]


def _differ(some: Sequence[bool], others: Sequence[bool]) -> tuple[bool, ...]:
    """Mark the SIMD lanes where the signs differ."""
    return tuple(x != y for x, y in zip(some, others, strict=True))


class PackedValues(Values):
    """Values of a program; nodes of packs are SIMD lanes of vectors.

    Args:
        program: The equations.
        load_input: See `Values`.
        code: Code of the function.
        lanes: Type of a scalar.
        packing: The packs of the program.
        constants: Table of constants, or None.
    """

    def __init__(
        self,
        program: Program,
        load_input: Callable[[str, int], str],
        code: Code,
        lanes: SimdType,
        packing: Packing,
        constants: Constants | None,
    ) -> None:
        super().__init__(load_input)
        self._constants = constants
        self._code, self._lanes, self._packing = code, lanes, packing
        self._signs = LaneSigns(program, packing)
        self._vectors: dict[Pack, _Vector] = {}
        self._gathered: dict[Source, _Vector] = {}

    def define_pack(self, pack: Pack) -> None:
        """See `Values`."""
        left, right = self._operand(pack.left), self._operand(pack.right)
        if pack.multiplies:
            kind, differ = self._kind(len(pack.nodes)).type, _differ(left.negative, right.negative)
            product = self._code.let(f"fmul {FLAGS} {kind} {left.name}, {right.name}")
            self._vectors[pack] = _Vector(product, differ)
        else:
            self._vectors[pack] = self._sum(pack, left, right)

    def use(self, node: Expression) -> str:
        """See `Values`; a SIMD lane is extracted at its first use."""
        value = constant_value(node) if self._constants else None
        if self._constants and value is not None and abs(value) not in (0.0, 1.0):
            return self._constants.load(value)
        if node.index not in self.known:
            self.known[node.index] = self._lane(*unsigned(node))
        return self.known[node.index]

    def result(self, node: Expression) -> str:
        """See `Values`."""
        return self.use(node)

    def row(self, entries: Sequence[Expression]) -> tuple[SimdType, str] | None:
        """Return the vector of a pack whose nodes the entries begin with, and its type; or None."""
        pack, _ = self._packing.place.get(unsigned(entries[0])[0].index, (None, 0))
        nodes, signs = zip(*map(unsigned, entries[: len(pack.nodes) if pack else 1]), strict=True)
        if pack is None or self._packing.pack_of(nodes) is None:
            return None
        name, negative = self._vectors[pack]
        return self._kind(len(nodes)), self._changed(name, _differ(negative, signs))

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
        name = self._code.let(f"{operation} {FLAGS} {kind} {left.name}, {right.name}")
        return _Vector(name, left.negative)

    def _lane(self, node: Expression, minus: bool) -> str:
        pack, lane = self._packing.place[node.index]
        name, negative = self._vectors[pack]
        kind = self._kind(len(pack.nodes)).type
        x = self._code.let(f"extractelement {kind} {name}, i32 {lane}")
        return x if negative[lane] == minus else self._code.let(f"fneg nsz {self._lanes.type} {x}")

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
            signed = [sign * x.value for sign, x in zip(signs, nodes, strict=True)]
            if self._constants:
                return self._constants.load(*signed)
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


class _WrittenValues(PackedValues):
    """Values that are stored to the outputs as soon as they are known; zeros several at a time.

    Args:
        program: The equations.
        packing: Packs of the program.
        inputs: Every input, loaded before the first store.
        code: Code of the function.
        lanes: Type of every value.
        constants: Table of constants, or None.
        width: Zeros to store at a time.
    """

    def __init__(
        self,
        program: Program,
        packing: Packing,
        inputs: Mapping[Place, str],
        code: Code,
        lanes: SimdType,
        constants: Constants | None,
        width: int,
    ) -> None:
        super().__init__(program, lambda name, i: inputs[name, i], code, lanes, packing, constants)
        self._width = width
        self._targets: dict[int, list[Place]] = defaultdict(list)
        for name, output in program.outputs.items():
            for i, entry in enumerate(output.entries):
                self._targets[entry.index].append((name, i))

    def enter(self, node: Expression) -> None:
        """See `Values`."""
        super().enter(node)
        self._write(node)

    def define(self, node: Expression, name: str) -> None:
        """See `Values`."""
        super().define(node, name)
        self._write(node)

    def define_pack(self, pack: Pack) -> None:
        """See `Values`."""
        super().define_pack(pack)
        for node in self._packing.with_negations(pack):
            self._write(node)

    def _write(self, node: Expression) -> None:
        targets = self._targets[node.index]
        most = self._width if constant_value(node) == 0.0 else 1
        while targets:
            name, first = targets[0]
            count = 1
            while targets[count : count + 1] == [(name, first + count)] and count < most:
                count += 1
            del targets[:count]
            side_by_side = SimdType(self._lanes.scalar, count)
            value = side_by_side.number(0.0) if count > 1 else self.use(node)
            place = first * side_by_side.bytes
            self._code.store(side_by_side.type, value, argument(name), place, side_by_side.bytes)
