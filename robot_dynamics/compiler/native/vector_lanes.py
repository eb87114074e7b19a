"""The kernel of one sample whose equations put numbers side by side, as LLVM text.

Equations may say themselves what is computed at once: `Expression.side_by_side` makes a
vector, whose lanes are for instance the joints of a robot. A vector of any number of
lanes is cut into registers here. Only registers that somebody needs are computed, lanes
that are asked for one by one go through memory, where reading one into all lanes of a
register costs nothing, and rows of a result are written as registers.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from robot_dynamics.compiler.graph.expression import (
    ADD,
    COS,
    INPUT,
    LANE,
    MULTIPLY,
    NEGATE,
    PACK,
    SIN,
    SUBTRACT,
    TRANSPOSE,
    Expression,
    constant_value,
)
from robot_dynamics.compiler.graph.trace import Output, Program
from robot_dynamics.compiler.native.ir import (
    Code,
    FiniteCheck,
    Lanes,
    angle_levels,
    argument,
    emit_operation,
    number_text,
)
from robot_dynamics.compiler.native.llvm import Host
from robot_dynamics.compiler.native.rows import shuffle, transpose
from robot_dynamics.compiler.native.sincos import exact_functions, packed_sine_cosine

NUMBER = Lanes("double")

Register = tuple[Expression, int]
"""Part of a vector: its node, and which register of it; a number has one, 0."""


def single_functions_of_vectors(program: Program, host: Host, finite: bool) -> list[str]:
    """Write `single`, as `single.single_functions` does, but it refuses before it computes.

    Args:
        program: The equations, with vectors.
        host: The machine.
        finite: Check inputs.
    """
    code, width = Code(host.typed_pointers), host.lanes("double")
    body = _Body(code, program, width)
    inputs = {
        (name, i): code.load("double", argument(name), i * NUMBER.bytes)
        for name, shape in program.inputs.items()
        for i in range(math.prod(shape))
    }
    if finite:
        check = FiniteCheck(code, NUMBER)
        for x in inputs.values():
            check.add(x)
        code.branch_rarely(check.failed(), "refuse", "compute")
        code.label("refuse")
        code.do("ret i32 1")
        code.label("compute")
    body.write(
        lambda name, i: inputs[name, i],
        lambda angles: packed_sine_cosine(code, NUMBER, width, angles, host.fused),
    )
    code.do("ret i32 0")
    parameters = ", ".join(f"i64 {argument(name)}" for name in (*program.inputs, *program.outputs))
    return [
        *(exact_functions(t, host.typed_pointers) for t in (NUMBER, Lanes("double", width))),
        code.function(f"define i32 @single({parameters})", "nounwind"),
    ]


@dataclass(frozen=True)
class _Piece:
    """Neighbouring entries of a result that are written together.

    Args:
        output: Name of the result.
        first: Flat position of the first entry.
        entries: The entries.
        register: Which register of vectors they are lanes of, from its first lane on; None if
            they are written one by one.
        spare: Whether more rows of the result follow, so that a store may be too long.
    """

    output: str
    first: int
    entries: Sequence[Expression]
    register: int | None
    spare: bool

    @property
    def needs(self) -> list[Register]:
        """What must be known before it is written."""
        if self.register is None:
            return [(entry, 0) for entry in self.entries]
        return [(x.args[0], self.register) for x in self.entries if x.op == LANE]


class _Body:
    """The operations of a program, and the stores of its results as soon as they are known.

    Args:
        code: Where to write; nothing has been written yet.
        program: The equations.
        width: Lanes of a register.
    """

    def __init__(self, code: Code, program: Program, width: int) -> None:
        self._code = code
        self._program = program
        self._width = width
        self._count = self._lane_counts()
        self._pieces = [
            piece for name, output in program.outputs.items() for piece in self._cut(name, output)
        ]
        self._needed = self._demand()
        self._value: dict[tuple[int, int], str] = {}
        self._waves: dict[int, tuple[str, str]] = {}
        self._everywhere: dict[tuple[int, int], str] = {}  # by node and lanes of the register
        self._blocks: dict[tuple[Expression, ...], dict[tuple[int, int], list[str]]] = {}
        self._slots = self._memory()

    def write(
        self,
        load_input: Callable[[str, int], str],
        sine_cosine: Callable[[list[str]], list[tuple[str, str]]],
    ) -> None:
        """Write everything.

        Args:
            load_input: Gives the value of an input entry, by name and flat position.
            sine_cosine: Writes sines and cosines.
        """
        self._load_input = load_input
        for angles in angle_levels(self._program):
            for angle in angles:
                self._emit((angle, 0))
            pairs = sine_cosine([self._value[angle.index, 0] for angle in angles])
            self._waves.update(zip((angle.index for angle in angles), pairs, strict=True))
        # The rows of all results that belong to one joint have much in common. In order: what a
        # store writes beyond the end of a row, the next row overwrites
        for piece in sorted(self._pieces, key=lambda piece: piece.first):
            for register in piece.needs:
                self._emit(register)
            self._store(piece)

    def _emit(self, wanted: Register) -> None:
        """Write a register after those that it depends on, each just before it is needed."""
        stack = [wanted]
        while stack:
            node, k = stack[-1]
            missing = [x for x in self._operands(node, k) if (x[0].index, x[1]) not in self._value]
            stack += missing[::-1]
            if missing:
                continue
            stack.pop()
            if (node.index, k) not in self._value:
                value = self._value[node.index, k] = self._register(node, k)
                if (node.index, k) in self._slots:
                    slot = self._slots[node.index, k]
                    self._code.store(self._type(node).type, value, slot)

    # -- what is needed ---------------------------------------------------------------------

    def _lane_counts(self) -> dict[int, int]:
        """Number of lanes of every node."""
        count: dict[int, int] = {}
        for node in self._program.nodes:
            if node.op in (PACK, TRANSPOSE):
                count[node.index] = len(node.args)
            elif node.op == LANE:
                count[node.index] = 1
            else:
                count[node.index] = max((count[x.index] for x in node.args), default=1)
        return count

    def _type(self, node: Expression) -> Lanes:
        """Type of a register of a node: the smallest that holds it, or the widest there is."""
        return _register_type(self._count[node.index], self._width)

    def _cut(self, name: str, output: Output) -> Iterator[_Piece]:
        """Pieces of a result that lie in one register, row by row; else single rows."""
        length = output.shape[-1] if output.shape else 1
        total = len(output.entries)
        for start in range(0, total, length):
            row = output.entries[start : start + length]
            whole = length > 1 and all(
                self._is_lane(x, column, length) or constant_value(x) == 0.0
                for column, x in enumerate(row)
            )
            size = self._width if whole else length
            for first in range(0, length, size):
                entries = row[first : first + size]
                register = first // size if whole else None
                yield _Piece(name, start + first, entries, register, start + length < total)

    def _is_lane(self, x: Expression, k: int, count: int) -> bool:
        """Whether a number is lane k of a vector with that many lanes."""
        return x.op == LANE and x.value == k and self._count[x.args[0].index] == count

    def _demand(self) -> dict[int, set[int]]:
        """Registers of every node that an output depends on."""
        needed: dict[int, set[int]] = defaultdict(set)
        for piece in self._pieces:
            for node, register in piece.needs:
                needed[node.index].add(register)
        for node in reversed(self._program.nodes):
            for k in needed[node.index]:
                waves = node.op in (SIN, COS)
                for x, register in [(node.args[0], 0)] if waves else self._operands(node, k):
                    needed[x.index].add(register)
        return needed

    def _operands(self, node: Expression, k: int) -> list[Register]:
        """What register k of a node depends on."""
        if node.op in (SIN, COS):  # are known before
            return []
        here = slice(k * self._width, (k + 1) * self._width)
        if node.op == PACK:
            return [(x, 0) for x in node.args[here]]
        if node.op == LANE:
            return [(node.args[0], node.value // self._width)]
        operands = node.args
        if node.op == TRANSPOSE:
            operands, k = node.args[here], node.value // self._width
        return [(x, k if self._count[x.index] > 1 else 0) for x in operands]

    def _memory(self) -> dict[tuple[int, int], str]:
        """Addresses of registers of which lanes are asked for one by one."""
        read = dict.fromkeys(
            (node.args[0].index, node.value // self._width)
            for node in self._program.nodes
            if node.op == LANE and self._needed[node.index]
        )
        if not read:
            return {}
        start = self._code.stack("double", self._width * len(read))
        size = self._width * NUMBER.bytes
        return {
            register: self._code.let(f"add i64 {start}, {k * size}")
            for k, register in enumerate(read)
        }

    # -- operations -------------------------------------------------------------------------

    def _register(self, node: Expression, k: int) -> str:
        """Write one register of a node."""
        kind = self._type(node)
        if (known := constant_value(node)) is not None:
            return kind.number(known)
        if node.op == INPUT:
            return self._load_input(*node.value)
        if node.op in (SIN, COS):
            return self._waves[node.args[0].index][node.op == COS]
        if node.op == LANE:
            place = node.args[0].index, node.value // self._width
            offset = node.value % self._width * NUMBER.bytes
            return self._code.load("double", self._slots[place], offset)
        if node.op == PACK:
            return self._packed(node.args[k * self._width : (k + 1) * self._width], kind)
        if node.op == TRANSPOSE:
            return self._transposed(node, k, kind)
        operands = [self._operand(x, k, kind) for x in node.args]
        return self._folded(node.op, operands, kind) or emit_operation(
            self._code, kind, node.op, operands
        )

    def _folded(self, op: str, operands: Sequence[str], kind: Lanes) -> str:
        """The value of an operation on registers full of zeros or ones, "" if there are none.

        A vector of constants may hold nothing else in one of its registers.
        """
        zero, one = kind.number(0.0), kind.number(1.0)
        if op == MULTIPLY and zero in operands:
            return zero
        if op == MULTIPLY and one in operands:
            return operands[operands[0] == one]
        if op == ADD and zero in operands:
            return operands[operands[0] == zero]
        if op == SUBTRACT and operands[1] == zero:
            return operands[0]
        return zero if op == NEGATE and operands[0] == zero else ""

    def _operand(self, x: Expression, k: int, kind: Lanes) -> str:
        """A register of a vector, or a number in all lanes."""
        if self._count[x.index] > 1 or kind.width == 1:
            return self._value[x.index, k]
        if (known := constant_value(x)) is not None:
            return kind.number(known)
        if (x.index, kind.width) not in self._everywhere:
            one = f"insertelement {kind.type} poison, double {self._value[x.index, 0]}, i32 0"
            zeros = f"<{kind.width} x i32> zeroinitializer"
            self._everywhere[x.index, kind.width] = self._code.let(
                f"shufflevector {kind.type} {self._code.let(one)}, {kind.type} poison, {zeros}"
            )
        return self._everywhere[x.index, kind.width]

    def _packed(self, numbers: Sequence[Expression], kind: Lanes) -> str:
        known = [constant_value(x) for x in numbers]
        known += [0.0] * (kind.width - len(known))
        register = ", ".join(f"double {number_text(x or 0.0, 'double')}" for x in known)
        register = f"<{register}>"
        for i, x in enumerate(numbers):
            if known[i] is None:
                lane = f"double {self._value[x.index, 0]}, i32 {i}"
                register = self._code.let(f"insertelement {kind.type} {register}, {lane}")
        return register

    def _transposed(self, node: Expression, k: int, kind: Lanes) -> str:
        """The register of lane `node.value` of as many vectors as a register has lanes."""
        block = self._blocks.setdefault(node.args, {})
        place = k, node.value // self._width
        if place not in block:
            block[place] = self._transposed_block(node.args, *place, kind)
        return block[place][node.value % self._width]

    def _transposed_block(
        self, vectors: Sequence[Expression], k: int, register: int, kind: Lanes
    ) -> list[str]:
        """Turn a register each of up to `kind.width` vectors: a register for each of its lanes."""
        code, size = self._code, kind.width
        given = max((self._type(x) for x in vectors), key=lambda lanes: lanes.width)
        rows = [
            self._operand(x, register if self._count[x.index] > 1 else 0, given)
            for x in vectors[k * self._width : (k + 1) * self._width]
        ]
        zero = given.number(0.0)
        if all(row == zero for row in rows):
            return [kind.number(0.0)] * given.width
        rows += ["poison"] * (size - len(rows))
        if given.width < size:  # rows of one square after the other, side by side
            return transpose(
                code,
                kind,
                [
                    self._joined([rows[i] for i in range(first, size, given.width)], given)
                    for first in range(given.width)
                ],
            )
        if given.width == size:
            return _turned(code, kind, rows)
        turned = transpose(code, given, rows)
        return [
            shuffle(
                code,
                given,
                turned[i % size],
                "poison",
                list(range(i - i % size, i - i % size + size)),
            )
            for i in range(given.width)
        ]

    def _joined(self, parts: list[str], kind: Lanes) -> str:
        while len(parts) > 1:
            everything = list(range(2 * kind.width))
            parts = [
                shuffle(self._code, kind, a, b, everything)
                for a, b in zip(parts[::2], parts[1::2], strict=True)
            ]
            kind = Lanes(kind.scalar, 2 * kind.width)
        return parts[0]

    # -- results ----------------------------------------------------------------------------

    def _store(self, piece: _Piece) -> None:
        address = argument(piece.output)
        if piece.register is None:
            for i, x in enumerate(piece.entries):
                value = self._value[x.index, 0]
                self._code.store("double", value, address, (piece.first + i) * NUMBER.bytes)
            return
        value, kind = self._blended(piece)
        missing = kind.width - len(piece.entries)
        if not missing or piece.spare:
            self._code.store(kind.type, value, address, piece.first * NUMBER.bytes)
            return
        first = 0
        while first < len(piece.entries):  # the largest parts that fit
            size = 1 << ((len(piece.entries) - first).bit_length() - 1)
            part = Lanes("double", size)
            lanes = shuffle(self._code, kind, value, "poison", list(range(first, first + size)))
            place = (piece.first + first) * NUMBER.bytes
            self._code.store(part.vector, lanes, address, place)
            first += size

    def _blended(self, piece: _Piece) -> tuple[str, Lanes]:
        """The lanes of several vectors, and zeros, in one register."""
        output = self._program.outputs[piece.output]
        kind = _register_type(output.shape[-1], self._width)
        total = kind.number(0.0)
        sources = dict.fromkeys(x.args[0].index for x in piece.entries if x.op == LANE)
        for source in sources:
            mine = [
                i < len(piece.entries)
                and piece.entries[i].op == LANE
                and piece.entries[i].args[0].index == source
                for i in range(kind.width)
            ]
            picks = [i + kind.width if own else i for i, own in enumerate(mine)]
            value = self._value[source, piece.register or 0]
            total = shuffle(self._code, kind, total, value, picks)
        return total, kind


def _register_type(count: int, width: int) -> Lanes:
    """The smallest register for so many lanes, or the widest there is."""
    return Lanes("double", min(width, 1 << (count - 1).bit_length()))


def _turned(code: Code, lanes: Lanes, rows: Sequence[str]) -> list[str]:
    """Transpose a square of registers.

    Pairs of rows first exchange lanes within pairs, then pairs are dealt out like cards: both
    are instructions that need no table of lanes, unlike those of `rows.transpose`.
    """
    width = lanes.width
    pairs = list(zip(rows[::2], rows[1::2], strict=True))

    def deal(hands: list[str]) -> list[str]:
        if len(hands) == 1:
            return hands
        dealt: list[list[str]] = []
        for first in (0, 2):
            picks = [i + j for i in range(first, 2 * width, 4) for j in range(2)]
            two = zip(hands[::2], hands[1::2], strict=True)
            dealt.append(deal([shuffle(code, lanes, a, b, picks) for a, b in two]))
        return [hand for both in zip(*dealt, strict=True) for hand in both]

    columns: list[list[str]] = []
    for parity in range(2):
        picks = [i + parity + j * width for i in range(0, width, 2) for j in range(2)]
        columns.append(deal([shuffle(code, lanes, a, b, picks) for a, b in pairs]))
    return [column for both in zip(*columns, strict=True) for column in both]
