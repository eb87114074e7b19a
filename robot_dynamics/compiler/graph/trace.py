"""Equations become a program: the live nodes of an expression graph, in order, and their count.

`trace` calls a function with arrays of symbols; the arrays that it returns are
the outputs. Every pass takes and returns a `Program`, and every back end reads
one. They access the operands of a node only by `node.args` and visit nodes only in
the order of `program.nodes`.
"""

from __future__ import annotations

import gc
import hashlib
import keyword
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from robot_dynamics.compiler.graph.expression import (
    Expression,
    Graph,
    add,
    function,
    multiply,
    negate,
    reciprocal,
)
from robot_dynamics.compiler.graph.operations import (
    ADD,
    CONSTANT,
    COS,
    INPUT,
    MULTIPLY,
    NEGATE,
    RECIPROCAL,
    SIN,
    SUBTRACT,
)
from robot_dynamics.compiler.operation_count import OperationCount
from robot_dynamics.errors import ArgumentError, TraceError
from robot_dynamics.foundation.lazy import cached_property

Shape = tuple[int, ...]

RESULT = "result"
"""Name of the output of a function that returns one array without naming it."""


_pauses: list[None] = []  # one for each pause of the garbage collector, of any thread


def _resume_in_child() -> None:
    """Let the garbage collector run in a child of a fork, which has none of those threads."""
    if _pauses:
        _pauses.clear()
        gc.enable()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_resume_in_child)


@contextmanager
def collector_paused() -> Iterator[None]:
    """Build graphs without searches for garbage; a context, and a decorator of functions.

    A graph is a hundred thousand small objects without cycles that all stay alive; searches would
    take a third of the time.
    """
    if not (gc.isenabled() or _pauses):  # the user has switched it off
        yield
        return
    _pauses.append(None)
    gc.disable()
    try:
        yield
    finally:
        if _pauses:
            _pauses.pop()
        if not _pauses:
            gc.enable()


@dataclass(frozen=True, eq=False)
class Output:
    """One result of a program.

    Args:
        shape: Shape of the array.
        entries: Node of every entry, row by row.
    """

    shape: Shape
    entries: tuple[Expression, ...]

    @property
    def array(self) -> npt.NDArray[Any]:
        """The nodes as an object array of that shape."""
        return array_of(self.entries, self.shape)


@dataclass(frozen=True, eq=False)
class Program:
    """Straight-line equations: named input arrays in, named output arrays out.

    Args:
        name: Identifier; becomes the name of generated functions.
        inputs: Shape of every input, in the order of the arguments.
        outputs: Every output, in order.
    """

    name: str
    inputs: Mapping[str, Shape]
    outputs: Mapping[str, Output]

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", MappingProxyType(dict(self.inputs)))
        object.__setattr__(self, "outputs", MappingProxyType(dict(self.outputs)))
        for name in (self.name, *self.inputs, *self.outputs):
            check_identifier(name)
        if not self.outputs:
            raise ArgumentError(f"program '{self.name}' has no output")
        shared = sorted(set(self.inputs) & set(self.outputs))
        if shared:
            raise ArgumentError(f"'{shared[0]}' names both an input and an output; rename one")

    @cached_property
    def nodes(self) -> tuple[Expression, ...]:
        """Every node that an output depends on, operands before the nodes that use them."""
        return live_nodes(e for output in self.outputs.values() for e in output.entries)

    @cached_property
    def digest(self) -> str:
        """Fingerprint of the equations: equal text, equal results (16 hexadecimal digits)."""
        number = {node.index: k for k, node in enumerate(self.nodes)}
        text = hashlib.sha256(repr((self.name, tuple(self.inputs.items()))).encode())
        for node in self.nodes:
            operands = tuple(number[a.index] for a in node.args)
            text.update(repr((node.op, node.value, operands)).encode())
        for name, output in self.outputs.items():
            entries = tuple(number[e.index] for e in output.entries)
            text.update(repr((name, output.shape, entries)).encode())
        return text.hexdigest()[:16]


@collector_paused()
def trace(
    name: str,
    equations: Callable[..., npt.NDArray[Any] | Mapping[str, npt.NDArray[Any]]],
    inputs: Mapping[str, Shape],
) -> Program:
    """Record what a function computes.

    Args:
        name: Name of the program, an identifier.
        equations: Plain arithmetic on arrays of any scalar. It takes one keyword argument per
            input and returns one array, or several by name.
        inputs: Name and shape of every argument.

    Returns:
        The program. A single unnamed array becomes the output "result".

    Raises:
        TraceError: If the function branches on a value or returns anything but numbers.
        ArgumentError: If a name cannot be used in generated code.
    """
    graph = Graph()
    arrays = {
        key: array_of([graph.input(key, i) for i in range(math.prod(shape))], tuple(shape))
        for key, shape in inputs.items()
    }
    returned = equations(**arrays)
    named = returned if isinstance(returned, Mapping) else {RESULT: returned}
    outputs = {key: _output(graph, key, array) for key, array in named.items()}
    program = Program(name, {key: tuple(shape) for key, shape in inputs.items()}, outputs)
    _ = program.nodes
    graph.forget()
    return program


Rewritten = Mapping[int, Expression]
"""New version of every node visited so far, by the index of the old one."""


def rewrite(
    program: Program,
    rule: Callable[[Expression, Rewritten], Expression],
    numbers: Mapping[float, float] = MappingProxyType({}),
) -> Program:
    """Rebuild a program node by node; every graph pass ends in this function.

    Args:
        program: The program to rewrite.
        rule: Called with every operation, operands first, and the new versions so far; returns
            the new version. `rebuilt` is the identity rule.
        numbers: Constants that others replace.
    """
    graph = Graph()
    new = _renewed(program, graph, graph.input, rule, numbers)
    outputs = {
        name: Output(output.shape, tuple(new[e.index] for e in output.entries))
        for name, output in program.outputs.items()
    }
    result = Program(program.name, program.inputs, outputs)
    _ = result.nodes
    graph.forget()
    return result


def copied(program: Program, arrays: Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    """Return the outputs of a program in the graph of the given arrays of inputs, by name."""
    graph = next(iter(arrays.values())).flat[0].graph
    new = _renewed(program, graph, lambda name, position: arrays[name].flat[position], rebuilt)
    return {
        name: array_of([new[e.index] for e in output.entries], output.shape)
        for name, output in program.outputs.items()
    }


def _renewed(
    program: Program,
    graph: Graph,
    entry: Callable[[str, int], Expression],
    rule: Callable[[Expression, Rewritten], Expression],
    numbers: Mapping[float, float] = MappingProxyType({}),
) -> dict[int, Expression]:
    """Return the new version of every node in another graph, by index of the node.

    Args:
        program: The program.
        graph: The other graph.
        entry: Returns the entry of an input there, by name and flat position.
        rule: As of `rewrite`.
        numbers: As of `rewrite`.
    """
    new: dict[int, Expression] = {}
    for node in program.nodes:
        if node.op == INPUT:
            new[node.index] = entry(*node.value)
        elif node.op == CONSTANT:
            new[node.index] = graph.constant(numbers.get(node.value, node.value))
        else:
            new[node.index] = rule(node, new)
    return new


def rebuilt(node: Expression, new: Rewritten) -> Expression:
    """Apply the same operation to the new operands, with folding."""
    op, operands = node.op, [new[a.index] for a in node.args]
    if op == MULTIPLY:
        return multiply(*operands)
    if op == ADD:
        return add(*operands)
    if op == SUBTRACT:
        return add(operands[0], negate(operands[1]))
    if op == NEGATE:
        return negate(*operands)
    if op == RECIPROCAL:
        return reciprocal(*operands)
    return function(op, *operands)


def live_nodes(roots: Iterable[Expression]) -> tuple[Expression, ...]:
    """The given nodes and everything they depend on, operands first."""
    found: dict[int, Expression] = {}
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node.index not in found:
            found[node.index] = node
            stack.extend(node.args)
    return tuple(found[index] for index in sorted(found))


def use_counts(program: Program) -> dict[int, int]:
    """Count the uses of every live node, as operand and as output, by its index."""
    uses = {node.index: 0 for node in program.nodes}
    for node in program.nodes:
        for operand in node.args:
            uses[operand.index] += 1
    for output in program.outputs.values():
        for entry in output.entries:
            uses[entry.index] += 1
    return uses


def array_of(items: Iterable[Any], shape: Shape) -> npt.NDArray[Any]:
    """An object array of that shape, filled row by row."""
    array = np.empty(math.prod(shape), dtype=object)
    array[:] = list(items)
    return array.reshape(shape)


# Keywords of C and C++ that are not keywords of Python, and names in generated source
_RESERVED = re.compile(
    r"t\d+|atan2f?|arctan2|where|(a?(sin|cos|tan)h?|sqrt|cbrt|hypot|pow|exp2?|log(10|2|1p|b)?|fabs|fmod|floor|ceil)f?|"
    r"abs|alignas|alignof|asm|auto|bitand|bitor|bool|case|catch|char|compl|concept|const|constexpr|"
    r"decltype|default|delete|do|double|enum|explicit|export|extern|float|friend|goto|inline|int|"
    r"long|main|mutable|namespace|new|noexcept|nullptr|operator|private|protected|public|register|"
    r"requires|restrict|results|short|signed|sizeof|static|std|struct|switch|template|this|throw|"
    r"typedef|typeid|typename|union|unsigned|using|virtual|void|volatile|xor"
)


def check_identifier(name: str) -> None:
    """Check that generated source can use a name.

    Raises:
        ArgumentError: If it is not an identifier, or generated source uses it already.
    """
    plain = name.isidentifier() and name.isascii() and not name.startswith("_")
    if not plain or keyword.iskeyword(name):
        raise ArgumentError(
            f"'{name}' is not a name; use an ASCII identifier that is no keyword and has no "
            "leading underscore"
        )
    if _RESERVED.fullmatch(name):
        raise ArgumentError(f"the name '{name}' is used by generated code; choose another")


def _output(graph: Graph, name: str, values: Any) -> Output:
    array = np.asarray(values)
    entries = [graph.lift(value) for value in array.ravel()]
    for value, entry in zip(array.ravel(), entries, strict=True):
        if entry is None:
            raise TraceError(f"output '{name}' holds {value!r}, which is neither number nor symbol")
    return Output(array.shape, tuple(e for e in entries if e is not None))


# -- sums of many terms and products of many factors, each seen as one operation ----------------


@dataclass(frozen=True)
class NaryOperation:
    """A sum of many terms or a product of many factors, treated as one operation.

    Args:
        root: The last operation; no node outside uses the others.
        terms: Operands that are not part of it, each with True if it is subtracted.
    """

    root: Expression
    terms: tuple[tuple[Expression, bool], ...]


def nary_operations(
    program: Program, uses: dict[int, int], ops: tuple[str, ...]
) -> list[NaryOperation]:
    """List the maximal sums or products of these kinds of operations, in order of their roots."""
    inner = {
        operand.index
        for node in program.nodes
        if node.op in ops
        for operand in node.args
        if operand.op in ops and uses[operand.index] == 1
    }
    return [
        NaryOperation(node, tuple(_terms(node, inner, ops)))
        for node in program.nodes
        if node.op in ops and node.index not in inner
    ]


def _terms(
    root: Expression, inner: set[int], ops: tuple[str, ...]
) -> list[tuple[Expression, bool]]:
    terms: list[tuple[Expression, bool]] = []
    stack = [(root, False)]
    while stack:
        node, minus = stack.pop()
        if node is root or node.index in inner:
            a, b = node.args
            stack += [(b, minus != (node.op == SUBTRACT)), (a, minus)]
        else:
            terms.append((node, minus))
    return terms


def factors(term: Expression, uses: dict[int, int]) -> tuple[Expression, ...]:
    """Return the factors of a product that only one sum uses; any other term is one factor."""
    if term.op != MULTIPLY or uses[term.index] > 1:
        return (term,)
    return tuple(f for operand in term.args for f in factors(operand, uses))


# -- operation counts -----------------------------------------------------------------------------


def operation_count(program: Program) -> OperationCount:
    """Count the operations of a program."""
    ops = Counter(node.op for node in program.nodes)
    free = ops[INPUT] + ops[CONSTANT] + ops[NEGATE]
    multiplications = ops[MULTIPLY]
    additions = ops[ADD] + ops[SUBTRACT]
    sines_cosines = ops[SIN] + ops[COS]
    divisions = ops[RECIPROCAL]
    known = free + multiplications + additions + sines_cosines + divisions
    return OperationCount(
        multiplications, additions, sines_cosines, divisions, len(program.nodes) - known
    )
