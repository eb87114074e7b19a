"""Both equations of `positioning` at once, where none has an unknown of its own.

The circle of a turn has to meet the curve of the other joint, the ellipse of a turn or the parabola
of a slide: a quartic. Two slides leave a square.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from robot_dynamics.compiler.graph.piecewise import clip, maximum, select
from robot_dynamics.kinematics.inverse.equations.cone_and_ellipse import cone_and_ellipse
from robot_dynamics.kinematics.inverse.equations.partial_solutions import (
    Frees,
    Partial,
    SolutionStep,
)
from robot_dynamics.kinematics.inverse.subproblems import (
    NEAR,
    TINY,
    Turn,
    circle_and_line,
    direction,
    minus,
    plus,
    times,
)

Row = tuple[Any, Any, Any]
"""Constant, and the coefficients of (cosine, sine), or of (displacement, its square)."""


POLISHING_STEPS = 3

FAR = 1e-6
"""Longest step of polishing, part of the lever or rad; what is no root must not go on to one."""

TURNED = 0.1
"""Longest step of the turn that follows from it, rad."""


def together(
    y_rows: list[Row],
    x_rows: list[Row],
    rotates: tuple[bool, bool],
    lever: float,
    names: tuple[str, str],
    free: Frees,
) -> Iterator[Partial]:
    """Solve y = x for the first and the third of three joints.

    Args:
        y_rows: Both equations as the first joint sees them.
        x_rows: As the third one does.
        rotates: Which of the two joints turn.
        lever: Length that displacements are compared with, m.
        names: What the branches of the two joints are called.
        free: The free angles.
    """
    if not any(rotates):
        yield from _slides(y_rows, x_rows, lever, names[1], free)
        return
    turn, other = (0, 2) if rotates[0] else (2, 0)
    turns = all(rotates)
    of_turn, of_other = (y_rows, x_rows) if turn == 0 else (x_rows, y_rows)
    (k_1, a_11, a_12), (k_2, a_21, a_22) = of_turn
    (x_1, *b_1), (x_2, *b_2) = of_other
    right = [(x_1 - k_1, *b_1), (x_2 - k_2, *b_2)]
    det = a_11 * a_22 - a_12 * a_21
    # det (c, s) = v_0 + v_1 c' + v_2 s', or v_0 + v_1 x + v_2 x^2
    v_0, v_1, v_2 = [
        (a_22 * r_1 - a_12 * r_2, a_11 * r_2 - a_21 * r_1, 0.0)
        for r_1, r_2 in zip(*right, strict=True)
    ]
    up = (0.0, 0.0, det)
    if turns:
        curve = [plus(v_0, up), v_1, v_2]
    else:
        far = times(lever * lever, v_2)
        curve = [plus(plus(v_0, far), up), plus(minus(v_0, far), up), times(lever, v_1)]
    side = select(det, 0.0, -1.0, 1.0)
    number = 0
    for found in cone_and_ellipse(*curve):
        for root in found.solutions:
            number += 1
            x, y, _ = plus(curve[0], plus(times(root.c, curve[1]), times(root.s, curve[2])))
            solved, size = direction(side * x, side * y, free.arm, NEAR * NEAR)
            value = root if turns else _slid(root, lever)
            solved, value = _polished(solved, value, of_turn, of_other, 1.0 if turns else lever)
            name = names[other // 2]
            step = SolutionStep(other, name, str(number), found.size, found.d, surface=True)
            yield Partial({other: value, turn: solved}, (step, SolutionStep(turn, "", "", size)))


def _polished(
    turn: Turn, value: Any, turns: list[Row], others: list[Row], lever: float
) -> tuple[Turn, Any]:
    """Restore the digits that elimination lost, by Newton's steps of both joints.

    Where one equation nearly has an unknown of its own, two roots of the quartic lie side by
    side, and the turn that tells them apart is a quotient of small numbers.
    """
    far = FAR * lever

    def missed(turn: Turn, value: Any) -> list[tuple[Any, Any, Any]]:
        x, y, x_rate, y_rate = _of_motion(value)
        return [
            (
                k - e + a * turn.c + b * turn.s - c * x - d * y,
                b * turn.c - a * turn.s,
                -c * x_rate - d * y_rate,
            )
            for (k, a, b), (e, c, d) in zip(turns, others, strict=True)
        ]

    here = missed(turn, value)
    for _ in range(POLISHING_STEPS):
        (f_1, a_1, b_1), (f_2, a_2, b_2) = here
        det = a_1 * b_2 - a_2 * b_1
        over = 1.0 / select(abs(det), TINY * TINY, TINY * TINY, det)
        angle = clip((b_1 * f_2 - b_2 * f_1) * over, -TURNED, TURNED)
        shift = clip((a_2 * f_1 - a_1 * f_2) * over, -far, far)
        moved = _advanced(turn, angle), _advanced(value, shift)
        there = missed(*moved)
        better = there[0][0] ** 2 + there[1][0] ** 2, f_1 * f_1 + f_2 * f_2
        turn, value = _chosen(better, moved, (turn, value))
        here = [
            tuple(select(*better, x, y) for x, y in zip(*rows, strict=True))
            for rows in zip(there, here, strict=True)
        ]
    return turn, value


def _slides(
    y_rows: list[Row], x_rows: list[Row], lever: float, name: str, free: Frees
) -> Iterator[Partial]:
    """Both equations of two slides: on a line of both displacements, a square."""
    (k_1, a, _), (k_2, a_2, k) = y_rows
    (x_1, b, _), (x_2, b_2, _) = x_rows
    over = 1.0 / maximum(a * a + b * b, TINY * TINY)
    p, r = (times((x_1 - k_1) * over, (a, -b, 0.0)), times(np.sqrt(over), (b, a, 0.0)))
    (p_1, p_3, _), (r_1, r_3, _) = p, r
    square = k * (r_1 * r_1 - r_3 * r_3) * lever * lever
    line = (a_2 + 2.0 * k * p_1) * r_1 - (b_2 + 2.0 * k * p_3) * r_3
    rest = k_2 - x_2 + (a_2 + k * p_1) * p_1 - (b_2 + k * p_3) * p_3
    found = circle_and_line(rest - square, line * lever, -rest - square, free.arm, free.touching)
    for number, root in zip("12", found.solutions, strict=True):
        along = _slid(root, lever)
        step = SolutionStep(2, name, number, found.size, found.d, surface=True)
        yield Partial({2: p_3 + along * r_3, 0: p_1 + along * r_1}, (step,))


def _slid(root: Turn, lever: float) -> Any:
    """Return the displacement whose part of the lever is the tangent of half an angle."""
    near = abs(root.s) / (1.0 + abs(root.c))
    far = select(root.c, 0.0, 1.0 / maximum(near, TINY), near)
    return lever * select(root.s, 0.0, -far, far)


def _of_motion(value: Any) -> tuple[Any, Any, Any, Any]:
    """Return the two terms of a `Row` at a motion, and their rates."""
    if isinstance(value, Turn):
        return value.c, value.s, -value.s, value.c
    return value, value * value, 1.0, 2.0 * value


def _advanced(value: Any, step: Any) -> Any:
    """Return a motion after a small step, rad or m."""
    if not isinstance(value, Turn):
        return value + step
    over = 1.0 / np.sqrt(1.0 + step * step)
    return Turn((value.c - step * value.s) * over, (value.s + step * value.c) * over)


def _chosen(less: tuple[Any, Any], first: Any, second: Any) -> Any:
    """Return the first of two motions if the first of two numbers is less."""
    return [
        Turn(select(*less, a.c, b.c), select(*less, a.s, b.s))
        if isinstance(a, Turn)
        else select(*less, a, b)
        for a, b in zip(first, second, strict=True)
    ]
