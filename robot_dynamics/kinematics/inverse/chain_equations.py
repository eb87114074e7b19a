"""Where a chain of axes has its hand, how that moves, and one step of a search; on any scalar."""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.algorithms.composite_body import factorise, solve
from robot_dynamics.arrays import Array
from robot_dynamics.compiler.graph.piecewise import clip, select
from robot_dynamics.kinematics.inverse.axis_chain import AxisChain, as_turn
from robot_dynamics.kinematics.inverse.equations.subproblems import (
    Vector,
    cross,
    dot,
    minus,
    plus,
    times,
    turned,
)

DAMPING = 0.05
"""Damping by squared error."""

LEAST_DAMPING = 1e-12
"""What is left of it where the pose is reached."""


def pose_and_jacobian(chain: AxisChain, q: Array) -> tuple[list[Vector], Vector, Array]:
    """Columns of the frame's rotation, its position, and its Jacobian.

    Args:
        chain: The joints.
        q: Their positions, shape (n,).

    Returns:
        Three columns; the position; and six rows of n, linear over angular, axes of the root.
    """
    unit = np.eye(3)
    columns: list[Vector] = [tuple(map(float, e)) for e in unit]
    origin: Vector = (0.0, 0.0, 0.0)

    def seen(v: Vector) -> Vector:  # a vector of the link in axes of the root
        parts = [times(x, column) for x, column in zip(v, columns, strict=True)]
        return plus(parts[0], plus(parts[1], parts[2]))

    lines = []
    for axis, x in zip(chain.axes, q, strict=True):
        lines.append((seen(axis.h), plus(seen(axis.p), origin)))
        direction, point = lines[-1]
        if axis.rotates:
            turn = as_turn(x)
            columns = [seen(turned(axis.h, turn, tuple(map(float, e)))) for e in unit]
            origin = minus(point, seen(axis.p))
        else:
            origin = plus(origin, times(x, direction))
    position = plus(seen(tuple(map(float, chain.tool.translation))), origin)
    tool = [seen(tuple(map(float, column))) for column in chain.tool.rotation.T]
    J = [
        (*cross(h, minus(position, p)), *h) if rotates else (*h, 0.0, 0.0, 0.0)
        for (h, p), rotates in zip(lines, chain.rotates, strict=True)
    ]
    return tool, position, rows_of(zip(*J, strict=True))


def pose_error(
    chain: AxisChain, q: Array, rotation: Array, position: Array
) -> tuple[list[Any], Array, Any]:
    """What is missing to a pose: displacement (6,), position over rotation vector; J; residual.

    The rotation vector is zero for half a turn, from which other starts lead away.
    """
    columns, at, J = pose_and_jacobian(chain, q)
    wanted = [[rotation[i, j] for i in range(3)] for j in range(3)]
    apart = minus([position[i] for i in range(3)], at)
    sine_axis = times(
        0.5, plus(cross(columns[0], wanted[0]), plus(*map(cross, columns[1:], wanted[1:])))
    )
    cosine = 0.5 * (sum(dot(a, b) for a, b in zip(columns, wanted, strict=True)) - 1.0)
    sine = np.sqrt(dot(sine_axis, sine_axis))
    scale = np.arctan2(sine, cosine) / select(0.0, sine, sine, 1.0)
    misses = [apart, *(minus(columns[k], wanted[k]) for k in (0, 1))]
    residual = np.sqrt(sum(dot(miss, miss) for miss in misses))
    return [*apart, *times(scale, sine_axis)], J, residual


def search_step(
    chain: AxisChain,
    limits: tuple[Array, Array],
    middle: Array,
    q: Array,
    rotation: Array,
    position: Array,
    pull: Any,
) -> tuple[Array, Any]:
    """One damped step towards a pose, within the limits: next positions, and residual of q.

    Levenberg-Marquardt with the damping of Sugihara, by the squared error. A joint at its limit
    that would go beyond is left out. `pull` times the damping draws to the middle of the ranges.
    """
    n, (lower, upper) = len(chain), limits  # infinite where there are none
    error, J, residual = pose_error(chain, q, rotation, position)
    damping = DAMPING * sum(e * e for e in error) + LEAST_DAMPING
    slope = [sum(J[i, k] * error[i] for i in range(6)) for k in range(n)]
    for k in range(n):
        goes = 1.0
        if np.isfinite(lower[k]):
            goes = select(slope[k], 0.0, select(lower[k], q[k], 1.0, 0.0), goes)
        if np.isfinite(upper[k]):
            goes = select(0.0, slope[k], select(q[k], upper[k], 1.0, 0.0), goes)
        slope[k] = slope[k] * goes + pull * damping * (middle[k] - q[k])
        J[:, k] = J[:, k] * goes
    A = J.T @ J + damping * np.eye(n)
    parents = tuple(range(-1, n - 1))
    moved = q + solve(*factorise(A, parents), parents, np.array(slope, dtype=object))
    inside = [
        clip(x, *pair) if np.isfinite(pair).all() else x
        for x, *pair in zip(moved, lower, upper, strict=True)
    ]
    return np.array(inside, dtype=object), residual


def rows_of(rows: Any) -> Array:
    """Scalars in rows as an array of objects, whatever they are."""
    table = [list(row) for row in rows]
    array = np.empty((len(table), len(table[0])), dtype=object)
    for i, row in enumerate(table):
        for j, x in enumerate(row):
            array[i, j] = x
    return array
