"""Derivatives of expressions with respect to input entries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt

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
    CONSTANT,
    COS,
    EXP,
    FLOOR,
    INPUT,
    MULTIPLY,
    NEGATE,
    RECIPROCAL,
    SELECT,
    SIN,
    SQRT,
    SUBTRACT,
    TANH,
)
from robot_dynamics.compiler.graph.trace import Program, array_of, live_nodes, rebuilt, trace


def derivative(expression: Expression, x: Expression) -> Expression:
    """Return the derivative of an expression with respect to an input."""
    return _forward(live_nodes([expression]), [expression], x)[0]


def jacobian(outputs: Sequence[Expression], inputs: Sequence[Expression]) -> npt.NDArray[Any]:
    """Return all derivatives of expressions (rows) with respect to inputs (columns).

    Accumulated from the inputs on or from the outputs back, whichever are fewer.
    """
    nodes = live_nodes(outputs)
    matrix = np.empty((len(outputs), len(inputs)), dtype=object)
    if len(inputs) <= len(outputs):
        for j, x in enumerate(inputs):
            matrix[:, j] = _forward(nodes, outputs, x)
    else:
        for i, output in enumerate(outputs):
            matrix[i] = _backward(nodes, output, inputs)
    return matrix


def _forward(
    nodes: Sequence[Expression], outputs: Sequence[Expression], x: Expression
) -> list[Expression]:
    """Return the derivatives of some of the nodes with respect to one input."""
    zero = x.graph.zero
    slopes = dict(zip([x.index], [x.graph.one], strict=True))
    for node in nodes:
        moving = [k for k, a in enumerate(node.args) if a.index in slopes]
        if moving:
            partials = _partials(node)
            slope = zero
            for k in moving:
                slope = add(slope, multiply(partials[k], slopes[node.args[k].index]))
            if slope is not zero:
                slopes[node.index] = slope
    return [slopes.get(output.index, zero) for output in outputs]


def _backward(
    nodes: Sequence[Expression], output: Expression, inputs: Sequence[Expression]
) -> list[Expression]:
    """Return the derivatives of one node with respect to some inputs."""
    zero = output.graph.zero
    found = dict(zip([output.index], [output.graph.one], strict=True))
    for node in reversed(nodes):
        if node.index in found and node.args:
            for a, partial in zip(node.args, _partials(node), strict=True):
                found[a.index] = add(found.get(a.index, zero), multiply(partial, found[node.index]))
    return [found.get(x.index, zero) for x in inputs]


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


def all_derivatives(
    outputs: Mapping[str, npt.NDArray[Any]],
    inputs: Mapping[str, npt.NDArray[Any]],
    known: Mapping[str, npt.NDArray[Any]] | None = None,
) -> dict[str, npt.NDArray[Any]]:
    """Return the derivatives of arrays of expressions with respect to all inputs of their graph.

    They are named like dtau_dq, have shape (*output, *input) and come in the order of outputs,
    then inputs.

    Args:
        outputs: Arrays of expressions or numbers, by name.
        inputs: Arrays of inputs, by name.
        known: Derivatives that are not to be derived, by name.
    """
    found = {}
    for name, output in outputs.items():
        for x, array in inputs.items():
            key, entries = f"d{name}_d{x}", list(array.flat)
            if known and key in known:
                found[key] = known[key]
            else:
                values = [entries[0].graph.lift(value) for value in np.asarray(output).flat]
                found[key] = jacobian(values, entries).reshape(np.shape(output) + array.shape)
    return found


def differentiated(program: Program) -> Program:
    """Return the program of all derivatives of a program; see `all_derivatives`."""

    def equations(**arrays: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
        graph = next(iter(arrays.values())).flat[0].graph
        new: dict[int, Expression] = {}
        for node in program.nodes:
            if node.op == INPUT:
                new[node.index] = graph.input(*node.value)
            elif node.op == CONSTANT:
                new[node.index] = graph.constant(node.value)
            else:
                new[node.index] = rebuilt(node, new)
        outputs = {
            name: array_of([new[e.index] for e in output.entries], output.shape)
            for name, output in program.outputs.items()
        }
        return all_derivatives(outputs, arrays)

    return trace(program.name, equations, program.inputs)
