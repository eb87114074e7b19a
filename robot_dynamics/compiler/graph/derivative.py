"""Derivatives of expressions with respect to an input entry."""

from __future__ import annotations

from robot_dynamics.compiler.graph.expression import (
    Expression,
    add,
    function,
    multiply,
    negate,
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
from robot_dynamics.compiler.graph.trace import live_nodes
from robot_dynamics.errors import TraceError


def derivative(expression: Expression, x: Expression) -> Expression:
    """Return the derivative of an expression with respect to an input.

    Raises:
        TraceError: If it holds another function than sine and cosine.
    """
    graph = x.graph
    found: dict[int, Expression] = {}
    for node in live_nodes([expression]):
        args = node.args
        slopes = [found[a.index] for a in args]
        if node.op in (INPUT, CONSTANT):
            slope = graph.one if node is x else graph.zero
        elif node.op == NEGATE:
            slope = negate(slopes[0])
        elif node.op == ADD:
            slope = add(*slopes)
        elif node.op == SUBTRACT:
            slope = add(slopes[0], negate(slopes[1]))
        elif node.op == MULTIPLY:
            slope = add(multiply(slopes[0], args[1]), multiply(args[0], slopes[1]))
        elif node.op == RECIPROCAL:
            slope = negate(multiply(multiply(node, node), slopes[0]))
        elif node.op == SIN:
            slope = multiply(function(COS, args[0]), slopes[0])
        elif node.op == COS:
            slope = negate(multiply(function(SIN, args[0]), slopes[0]))
        else:
            raise TraceError(f"there is no derivative of '{node.op}'")
        found[node.index] = slope
    return found[expression.index]
