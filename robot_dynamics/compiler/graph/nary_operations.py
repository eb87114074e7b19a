"""Sums of many terms and products of many factors, each seen as one operation by graph passes."""

from __future__ import annotations

from dataclasses import dataclass

from robot_dynamics.compiler.graph.expression import Expression
from robot_dynamics.compiler.graph.operations import MULTIPLY, SUBTRACT
from robot_dynamics.compiler.graph.trace import Program


@dataclass(frozen=True)
class NaryOperation:
    """A sum of many terms or a product of many factors, seen as one operation.

    Args:
        root: The last operation; the others are used by it only.
        terms: Operands that are of other kinds, each with True if it is subtracted.
    """

    root: Expression
    terms: tuple[tuple[Expression, bool], ...]


def nary_operations(
    program: Program, uses: dict[int, int], ops: tuple[str, ...]
) -> list[NaryOperation]:
    """Every longest sum or product of these kinds of operations, in order of their roots."""
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
    """Factors of a product that only one sum uses; any other term is its own single factor."""
    if term.op != MULTIPLY or uses[term.index] > 1:
        return (term,)
    return tuple(f for operand in term.args for f in factors(operand, uses))
