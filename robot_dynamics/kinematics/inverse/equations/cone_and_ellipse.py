"""Intersections of an ellipse in space and a cone: a quartic, by lines through its roots.

The cone has its tip at the origin, and is as wide as it is high: with the product

    a . b = a_1 b_1 + a_2 b_2 - a_3 b_3,

p . p = 0 on it. In a plane across its axis it is a circle. A point centre + x u + y v of the
ellipse, x^2 + y^2 = 1, is on the cone where

    A (x^2 - y^2) + 2 b x + 2 c y + E = 0,

x and y counted along the directions in which u . v = 0. Multiples of x^2 + y^2 - 1 may be added:
where a cubic vanishes, what comes of it is a pair of lines (Ferrari, seen as a pencil of conics),
each of which meets the circle x^2 + y^2 = 1 in two roots. The cubic has opposite signs at the ends
of [-A, A], so that there always is such a pair of real lines. Where roots come together a line
touches the circle, or both lines meet on it, and nothing is lost.

A parabola v_0 + z v_1 + z^2 v_2 in the plane that meets a circle of radius r is such an ellipse:
with z = l tan(angle / 2), and all lengths times 1 + x, it is v_0 (1 + x) + l v_1 y +
l^2 v_2 (1 - x) at the height r (1 + x).

Plain arithmetic on any scalar without a branch, as in `subproblems`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.compiler.graph.piecewise import clip, maximum, select
from robot_dynamics.kinematics.inverse.subproblems import (
    Crossing,
    Turn,
    Vector,
    circle_and_line,
    direction,
    minus,
    plus,
    times,
)

STEPS = 12
"""Towards the root of the cubic: ten bring all roots, multiple ones too, to round-off."""

TOLERATED = 1e-3
"""Distance beyond the bracket of a root up to which a step is taken to its end."""

ROUND = 1e-40
"""Half the difference of u . u and v . v, m^4, that an ellipse has at least, a circle too."""

_LEAST = 1e-300
"""Divisor in place of a number that vanishes; the quotient is not used."""


def cone_and_ellipse(centre: Vector, u: Vector, v: Vector) -> tuple[Crossing, Crossing]:
    """The turns (x, y) that bring centre + x u + y v to the cone.

    Returns:
        Two pairs, each as where a line meets the unit circle: `d` is beyond 1 where it does not,
        and the solutions are then the turn next to it.
    """
    a, twist = 0.5 * (_product(u, u) - _product(v, v)), _product(u, v)
    A = maximum(np.sqrt(a * a + twist * twist), ROUND)
    to_axes = _half(direction(a, twist, Turn(1.0, 0.0), ROUND)[0])
    along = plus(times(to_axes.c, u), times(to_axes.s, v))
    across = minus(times(to_axes.c, v), times(to_axes.s, u))
    E = _product(centre, centre) + 0.5 * (_product(u, u) + _product(v, v))

    lines = _lines(A, _product(centre, along), _product(centre, across), E)
    first, second = (
        found._replace(solutions=tuple(turn.then(to_axes) for turn in found.solutions))
        for found in map(_on_circle, lines)
    )
    return first, second


def _lines(A: Any, b: Any, c: Any, E: Any) -> tuple[tuple[Any, Any, Any], ...]:
    """Two lines (p, q, d), p x + q y = d, whose points on the circle are the roots.

    They are p x + g = q y - h and p x + g = h - q y with

        p^2 = A (1 + m), q^2 = A (1 - m), p g = b, q h = c, g^2 - h^2 = E - A m,

    one equation more than unknowns, which m, the root of a cubic, makes agree. Each number comes
    from those that leave it its digits.
    """
    m = _root(A, b, c, E)
    rest, sign = E - A * m, select(0.0, m, 1.0, -1.0)  # p is the larger one where m is positive
    large = np.sqrt(A * (1.0 + abs(m)))
    at, far = select(0.0, m, b, c) / large, select(0.0, m, c, b)
    # the other two: both squares and the product are known
    small, square = A * (1.0 - abs(m)), at * at - sign * rest
    root = np.sqrt(maximum(maximum(small, square), abs(far)))
    less, side = far / maximum(root, ROUND), select(far, 0.0, -1.0, 1.0)
    other = select(small, square, side * less, root)
    beside = select(small, square, side * root, less)
    p, q = select(0.0, m, large, other), select(0.0, m, other, large)
    g, h = select(0.0, m, at, beside), select(0.0, m, beside, at)
    # g + h and g - h: the one that is no difference, and from their product the other
    alike = g * h
    most = select(alike, 0.0, g - h, g + h)
    least = rest / select(abs(most), ROUND, ROUND, most)
    plus, minus = select(alike, 0.0, least, most), select(alike, 0.0, most, least)
    return (p, -q, -plus), (p, q, -minus)


def _root(A: Any, b: Any, c: Any, E: Any) -> Any:
    """Find a root of the cubic in [-1, 1] by Laguerre's steps between known signs."""
    bend = E / (3.0 * A)  # it starts where the cubic bends away from zero: there steps fall short
    upper = select(0.0, _cubic(A, b, c, E, clip(bend, -1.0, 1.0))[0], 1.0, -1.0)
    low, high, m = -1.0, 1.0, select(bend, -1.0, 1.0, select(1.0, bend, -1.0, upper))
    for _ in range(STEPS):
        value, slope, curve = _cubic(A, b, c, E, m)
        low, high = select(0.0, value, m, low), select(0.0, value, high, m)
        square = maximum(4.0 * slope * slope - 6.0 * value * curve, 0.0)
        over = slope + select(slope, 0.0, -1.0, 1.0) * np.sqrt(square)
        m = m - 3.0 * value / select(abs(over), _LEAST, _LEAST, over)
        near, middle = clip(m, low, high), 0.5 * (low + high)
        m = select(abs(m - near), TOLERATED, near, middle)
    return m


def _cubic(A: Any, b: Any, c: Any, E: Any, m: Any) -> tuple[Any, Any, Any]:
    """Value, not negative at m = -1 and not positive at 1, slope and curvature."""
    below, above, rest = 1.0 - m, 1.0 + m, E - A * m
    value = b * b * below - c * c * above - A * below * above * rest
    slope = A * (2.0 * m * rest + A * below * above) - b * b - c * c
    return value, slope, A * (2.0 * rest - 4.0 * A * m)


def _on_circle(line: tuple[Any, Any, Any]) -> Crossing:
    p, q, d = line
    over = 1.0 / maximum(np.sqrt(p * p + q * q), _LEAST)
    d = d * over
    return circle_and_line(p * over, q * over, d, Turn(1.0, 0.0), gram=(1.0 - d) * (1.0 + d))


def _half(turn: Turn) -> Turn:
    """Return the turn by half the angle."""
    large = np.sqrt(0.5 + 0.5 * abs(turn.c))
    small = 0.5 * turn.s / large
    side = select(turn.s, 0.0, -1.0, 1.0)
    return Turn(select(turn.c, 0.0, abs(small), large), select(turn.c, 0.0, side * large, small))


def _product(a: Vector, b: Vector) -> Any:
    return a[0] * b[0] + a[1] * b[1] - a[2] * b[2]
