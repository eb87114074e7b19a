"""Derivatives of expressions: of one with respect to an input, and of programs both ways."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat

from robot_dynamics.compiler.graph.expression import (
    Expression,
    add,
    function,
    multiply,
    negate,
    reciprocal,
    select,
)
from robot_dynamics.compiler.graph.operations import (
    ABS,
    ADD,
    ARCTAN2,
    COS,
    EXP,
    FLOOR,
    MULTIPLY,
    NEGATE,
    RECIPROCAL,
    SELECT,
    SIN,
    SQRT,
    SUBTRACT,
    TANH,
)
from robot_dynamics.compiler.graph.trace import Program, array_of, copied, live_nodes, trace
from robot_dynamics.foundation.arrays import Array


def derivative(expression: Expression, x: Expression) -> Expression:
    """Return the derivative of an expression with respect to an input."""
    return _forward(live_nodes([expression]), {x.index: x.graph.one}).get(
        expression.index, x.graph.zero
    )


def pushforward(program: Program) -> Program:
    """Return the program of the change of every output, linear in changes of the inputs.

    Its inputs are those of the program, then a change of each; its outputs are in the same order.
    """
    changes = _names(program, program.inputs, "dot")
    shapes = dict(zip(changes, program.inputs.values(), strict=True))

    def equations(**arrays: Array) -> dict[str, Array]:
        seeds = {
            entry.index: change
            for x, dot in zip(program.inputs, changes, strict=True)
            for entry, change in zip(arrays[x].flat, arrays[dot].flat, strict=True)
        }
        outputs = copied(program, arrays)
        nodes = live_nodes(e for output in outputs.values() for e in output.flat)
        found = _forward(nodes, seeds)
        return _gathered(_names(program, outputs, "dot"), outputs, found)

    return trace(program.name, equations, {**program.inputs, **shapes})


def pullback(program: Program) -> Program:
    """Return the program of the gradient of sum(weights * outputs) with respect to every input.

    Its inputs are those of the program, then the weights of each output; its outputs are in the
    order of the inputs.
    """
    weights = _names(program, program.outputs, "bar")
    shapes = {w: o.shape for w, o in zip(weights, program.outputs.values(), strict=True)}

    def equations(**arrays: Array) -> dict[str, Array]:
        outputs = copied(program, arrays)
        seeds: dict[int, Expression] = {}
        for output, weight in zip(outputs.values(), weights, strict=True):
            for entry, w in zip(output.flat, arrays[weight].flat, strict=True):
                seeds[entry.index] = add(seeds[entry.index], w) if entry.index in seeds else w
        nodes = live_nodes(e for output in outputs.values() for e in output.flat)
        found = _backward(nodes, seeds)
        inputs = {x: arrays[x] for x in program.inputs}
        return _gathered(_names(program, inputs, "bar"), inputs, found)

    return trace(program.name, equations, {**program.inputs, **shapes})


def _names(program: Program, arrays: Iterable[str], suffix: str) -> list[str]:
    """Names that the program has not yet."""
    taken = {*program.inputs, *program.outputs}
    while any(f"{name}_{suffix}" in taken for name in taken):
        suffix += suffix[-1]
    return [f"{name}_{suffix}" for name in arrays]


def _gathered(
    names: Iterable[str], like: Mapping[str, Array], found: Mapping[int, Expression]
) -> dict[str, Array]:
    """Arrays of what was found for the entries of others, zero where nothing was."""
    return {
        name: array_of([found.get(e.index, e.graph.zero) for e in array.flat], array.shape)
        for name, array in zip(names, like.values(), strict=True)
    }


def _forward(nodes: Sequence[Expression], seeds: Mapping[int, Expression]) -> dict[int, Expression]:
    """Return the changes of nodes from those of some inputs, by index."""
    found = dict(seeds)
    for node in nodes:
        moving = [k for k, a in enumerate(node.args) if a.index in found]
        if moving:
            partials = _partials(node)
            change = node.graph.zero
            for k in moving:
                change = add(change, multiply(partials[k], found[node.args[k].index]))
            found[node.index] = change
    return found


def _backward(
    nodes: Sequence[Expression], seeds: Mapping[int, Expression]
) -> dict[int, Expression]:
    """Return the derivatives of a weighted sum of nodes with respect to all nodes, by index."""
    found = dict(seeds)
    for node in reversed(nodes):
        if node.index in found and node.args:
            for a, partial in zip(node.args, _partials(node), strict=True):
                change = multiply(partial, found[node.index])
                found[a.index] = add(found[a.index], change) if a.index in found else change
    return found


def _partials(node: Expression) -> list[Expression]:
    """Return the derivatives of an operation with respect to its operands."""
    one, zero, args = node.graph.one, node.graph.zero, node.args
    x = args[0]
    if node.op == ADD:
        return [one, one]
    if node.op == SUBTRACT:
        return [one, negate(one)]
    if node.op == MULTIPLY:
        return [args[1], x]
    if node.op == ARCTAN2:
        square = add(multiply(x, x), multiply(args[1], args[1]))
        return [multiply(args[1], reciprocal(square)), negate(multiply(x, reciprocal(square)))]
    if node.op == SELECT:
        return [zero, zero, select(x, args[1], one, zero), select(x, args[1], zero, one)]
    if node.op == NEGATE:
        return [negate(one)]
    if node.op == RECIPROCAL:
        return [negate(multiply(node, node))]
    if node.op == SIN:
        return [function(COS, x)]
    if node.op == COS:
        return [negate(function(SIN, x))]
    if node.op == SQRT:
        return [multiply(node.graph.constant(0.5), reciprocal(node))]
    if node.op == EXP:
        return [node]
    if node.op == TANH:
        return [add(one, negate(multiply(node, node)))]
    if node.op == ABS:
        return [select(x, zero, negate(one), one)]
    assert node.op == FLOOR, f"there is no derivative of '{node.op}'"
    return list(repeat(zero, len(args)))
