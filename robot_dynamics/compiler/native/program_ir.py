"""The operations of a program as LLVM text, and the check that its inputs are finite."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from robot_dynamics.compiler.graph.expression import Expression, constant_value
from robot_dynamics.compiler.graph.operations import (
    ADD,
    ARCTAN2,
    COS,
    EXP,
    INPUT,
    MULTIPLY,
    NEGATE,
    RECIPROCAL,
    SELECT,
    SIN,
    SUBTRACT,
    TANH,
)
from robot_dynamics.compiler.graph.packing import Pack, Packing
from robot_dynamics.compiler.graph.trace import Program, live_nodes
from robot_dynamics.compiler.native.ir import INTRINSICS, Code, SimdType, any_lane, by_lane
from robot_dynamics.errors import BackendError

SineCosine = Callable[[Code, list[str]], list[tuple[str, str]]]
"""Writes the sine and cosine of a list of values that are known at one time."""

Arctangent = Callable[[Code, list[tuple[str, str]]], list[str]]
"""Writes the angles of a list of points (y, x) that are known at one time."""


class Values:
    """The LLVM names of the nodes written so far.

    Args:
        load_input: Writes the load of an input entry, by name and flat position; called once for
            every entry that is used.
    """

    def __init__(self, load_input: Callable[[str, int], str]) -> None:
        self._load_input = load_input
        self.known: dict[int, str] = {}

    def enter(self, node: Expression) -> None:
        """Load an input, before any operation that uses it."""
        self.known[node.index] = self._load_input(*node.value)

    def define(self, node: Expression, name: str) -> None:
        """Set the name of an operation."""
        self.known[node.index] = name

    def define_pack(self, pack: Pack) -> None:
        """Write the nodes of a pack; only `PackedValues` implements it."""
        raise NotImplementedError

    def use(self, node: Expression) -> str:
        """Return the name of an operand."""
        return self.known[node.index]

    def result(self, node: Expression) -> str:
        """Return the name of an output."""
        return self.known[node.index]


def emit_body(
    code: Code,
    program: Program,
    lanes: SimdType,
    values: Values,
    sine_cosine: SineCosine,
    arctangent: Arctangent,
    packing: Packing | None = None,
) -> dict[str, list[str]]:
    """Write the operations of a program.

    All sines and cosines whose angles are known come first and together, so that they share
    vector instructions and one test for huge angles. Angles that depend on other sines follow.
    Arctangents come after the sines that are known with them.

    Products and sums carry the flag `contract`: LLVM may fuse a product and a sum, which is faster
    and rounds once. With `nsz` a zero may have either sign, and changes of sign move into other
    operations. No other flag may change results.

    Args:
        code: Code of the function.
        program: The equations.
        lanes: Type of every value.
        values: Names of the values.
        sine_cosine: Writes sines and cosines.
        arctangent: Writes arctangents.
        packing: Operations that share an instruction; by default none do.

    Returns:
        Names of the entries of every output.
    """
    waves: dict[int, tuple[str, str]] = {}  # sine and cosine, by the index of the angle
    packing = packing or Packing()
    done: set[int] = set()

    def emit(nodes: Iterable[Expression]) -> None:
        for node in packing.in_order(nodes, done):
            if isinstance(node, Pack):
                values.define_pack(node)
            elif node.op == INPUT:
                values.enter(node)
            elif node.op in (SIN, COS):
                values.define(node, waves[node.args[0].index][node.op == COS])
            elif (known := constant_value(node)) is not None:
                values.define(node, lanes.number(known))
            else:
                operands = [values.use(x) for x in node.args]
                values.define(node, emit_operation(code, lanes, node.op, operands))

    for angles, turns in function_levels(program):
        if angles:
            emit(live_nodes(angles))
            pairs = sine_cosine(code, [values.use(angle) for angle in angles])
            waves.update(zip((angle.index for angle in angles), pairs, strict=True))
        if turns:
            emit(live_nodes(x for turn in turns for x in turn.args))
            points = [(values.use(y), values.use(x)) for y, x in (turn.args for turn in turns)]
            for turn, angle in zip(turns, arctangent(code, points), strict=True):
                values.define(turn, angle)
                done.add(turn.index)
    emit(program.nodes)
    return {
        name: [values.result(entry) for entry in output.entries]
        for name, output in program.outputs.items()
    }


def function_levels(program: Program) -> list[tuple[list[Expression], list[Expression]]]:
    """Sort angles of sines and cosines, and arctangents, into levels of dependence.

    The first level depends on no other such function, the next one only on the first, and so on.
    """
    level: dict[int, int] = {}
    levels: list[tuple[dict[int, Expression], list[Expression]]] = []
    for node in program.nodes:
        own = max((level[x.index] for x in node.args), default=0)
        if node.op in (SIN, COS, ARCTAN2):
            if own == len(levels):
                levels.append(({}, []))
            angles, turns = levels[own]
            if node.op == ARCTAN2:
                turns.append(node)
            else:
                angles[node.args[0].index] = node.args[0]
            own += 1
        level[node.index] = own
    return [(list(angles.values()), turns) for angles, turns in levels]


_ARITHMETIC = {ADD: "fadd", SUBTRACT: "fsub", MULTIPLY: "fmul"}
FLAGS = "contract nsz"
"""Of products and sums; see `emit_body`."""
_LIBRARY = (EXP, TANH)


def emit_operation(code: Code, lanes: SimdType, op: str, operands: list[str]) -> str:
    """Write one operation other than a sine, cosine or arctangent; return its name."""
    kind, x = lanes.type, operands[0]
    if op in _ARITHMETIC:
        return code.let(f"{_ARITHMETIC[op]} {FLAGS} {kind} {x}, {operands[1]}")
    if op == NEGATE:
        return code.let(f"fneg nsz {kind} {x}")
    if op == RECIPROCAL:
        return code.let(f"fdiv {kind} {lanes.number(1.0)}, {x}")
    if op in INTRINSICS:
        return code.let(f"call {kind} @llvm.{INTRINSICS[op]}.{lanes.suffix}({kind} {x})")
    if op == SELECT:
        less = code.let(f"fcmp olt {kind} {x}, {operands[1]}")
        yes, no = operands[2:]
        return code.let(f"select {lanes.of('i1')} {less}, {kind} {yes}, {kind} {no}")
    if op in _LIBRARY:
        return by_lane(code, lanes, op, x)
    raise BackendError(f"native code has no operation '{op}'; add it to native/program_ir.py")


class FiniteCheck:
    """Test whether any of many values is infinite or not a number.

    0 x is 0 for every finite x and NaN otherwise, and a sum with NaN is NaN. Four separate sums
    shorten the chain of additions.
    """

    def __init__(self, code: Code, lanes: SimdType) -> None:
        self.code = code
        self.lanes = lanes
        self._zero = lanes.number(0.0)
        self._sums = [self._zero] * 4
        self._count = 0

    def add(self, x: str) -> None:
        """Write the test of a further value."""
        kind, k = self.lanes.type, self._count % 4
        product = self.code.let(f"fmul contract {kind} {x}, {self._zero}")
        self._sums[k] = self.code.let(f"fadd contract {kind} {product}, {self._sums[k]}")
        self._count += 1

    def failed(self) -> str:
        """True (i1) if a value is not finite."""
        total, kind = self._sums[0], self.lanes.type
        for other in self._sums[1:]:
            total = self.code.let(f"fadd {kind} {total}, {other}")
        flags = self.code.let(f"fcmp uno {kind} {total}, {self._zero}")
        return any_lane(self.code, self.lanes, flags)
