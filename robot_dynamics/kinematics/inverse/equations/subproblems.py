"""Subproblems of inverse kinematics in closed form: one joint brings a point where it should be.

After Paden and Kahan: subproblem 1 turns one point towards another, 3 brings a point to a distance
and 4 to a plane, which both are one equation, a c + b s = d. Plain arithmetic on any scalar
without a branch: on floats and arrays it computes numbers, on symbols it is traced and compiled. A
vector is a tuple of three scalars, so that some may be constants while others are arrays of N
poses. A turn is cosine and sine of an angle: no angle is needed before the end.

Where an equation has no solution the nearest turn is returned: what is missed stands in its
`size` and `d`. Where every turn solves it, the turn `free` is returned.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.compiler.graph.piecewise import clip, maximum, select

Vector = Sequence[Any]

TINY = 1e-14
"""Length below which a direction is nothing but round-off of numbers near one."""

NEAR = 1e-12
"""Distance of two points from an axis below which a turn about it is not seen: a pose misses by it
at most, and round-off is far below."""


_LEAST = 1e-300
"""Divisor in place of a length that is zero; the quotient is not used."""


class Turn(NamedTuple):
    """Cosine and sine of an angle, and the angle where it is known without an arctangent."""

    c: Any
    s: Any
    known: Any = None

    @property
    def angle(self) -> Any:
        """The angle, rad, in [-pi, pi]."""
        return np.arctan2(self.s, self.c) if self.known is None else self.known

    def then(self, other: Turn) -> Turn:
        """The turn by the sum of both angles."""
        return Turn(self.c * other.c - self.s * other.s, self.s * other.c + self.c * other.s)

    @property
    def back(self) -> Turn:
        """The turn by the opposite angle."""
        return Turn(self.c, -self.s, None if self.known is None else -self.known)

    @property
    def half_on(self) -> Turn:
        """The turn by half a turn more, or less."""
        angle = self.angle
        return Turn(-self.c, -self.s, select(0.0, angle, angle - np.pi, angle + np.pi))


class Crossing(NamedTuple):
    """The solutions of a c + b s = d: where a circle of radius `size` meets a line at `d`."""

    solutions: tuple[Any, ...]
    size: Any
    d: Any


def dot(a: Vector, b: Vector) -> Any:
    """Product a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vector, b: Vector) -> Vector:
    """Cross product a x b."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def plus(a: Vector, b: Vector) -> Vector:
    """Sum a + b."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def minus(a: Vector, b: Vector) -> Vector:
    """Difference a - b."""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


def times(a: Any, b: Vector) -> Vector:
    """Multiple a b."""
    return (a * b[0], a * b[1], a * b[2])


def turned(h: Vector, turn: Turn, v: Vector) -> Vector:
    """The vector v after a turn about the unit vector h (Rodrigues)."""
    along = times(dot(h, v), h)
    return plus(along, plus(times(turn.c, minus(v, along)), times(turn.s, cross(h, v))))


def direction(x: Any, y: Any, free: Turn, least: float = TINY) -> tuple[Turn, Any]:
    """The turn from (1, 0) to the direction of (x, y), and the length of (x, y).

    Below the length `least` it has none, and the turn is `free`.
    """
    size = np.sqrt(x * x + y * y)
    over = 1.0 / maximum(size, _LEAST)
    c, s = (select(size, least, f, z * over) for f, z in ((free.c, x), (free.s, y)))
    return Turn(c, s), size


def point_to_point(h: Vector, v: Vector, w: Vector, free: Turn) -> tuple[Turn, Any]:
    """Subproblem 1: the turn about h that brings v to w, or as near to it as it can.

    Returns:
        The turn, and the product of the distances of v and w from the axis: where it vanishes,
        any turn will do.
    """
    # across the axis first, so that no digits are lost where both come near it
    v, w = minus(v, times(dot(h, v), h)), minus(w, times(dot(h, w), h))
    return direction(dot(v, w), dot(h, cross(v, w)), free, NEAR * NEAR)


def circle_and_line(a: Any, b: Any, d: Any, free: Turn, gram: Any = None) -> Crossing:
    """Subproblems 3 and 4: the two turns with a c + b s = d.

    Args:
        a: Coefficient of the cosine.
        b: Coefficient of the sine.
        d: Right side.
        free: Direction of (a, b) where it has none.
        gram: a^2 + b^2 - d^2, where it is known with more digits than that difference has.
    """
    towards, size = direction(a, b, free)
    rest = size * size - d * d if gram is None else gram
    over = 1.0 / maximum(size, _LEAST)
    opening = Turn(
        select(size, TINY, 1.0, clip(d * over, -1.0, 1.0)),
        select(size, TINY, 0.0, np.sqrt(maximum(rest, 0.0)) * over),
    )
    return Crossing((towards.then(opening), towards.then(opening.back)), size, d)


def axis_to_angle(h: Vector, k: Vector, v: Vector, m: Vector, free: Turn) -> Crossing:
    """Subproblem 4 on unit vectors: the two turns about k that bring v to the angle of m with h.

    h . R(k) v = h . m. The sine of the angle between h and m decides where m comes near h, as
    where the first and the last axis of a wrist come in line; of its cosine half of all digits
    would be lost there.
    """
    hk, kv = dot(h, k), dot(k, v)
    sine, apart = cross(h, m), minus(h, m)
    gram = dot(sine, sine) - (hk - kv) * (hk - kv) - hk * kv * dot(apart, apart)
    a = dot(h, v) - hk * kv
    return circle_and_line(a, dot(h, cross(k, v)), dot(h, m) - hk * kv, free, gram)


def square_and_line(a: Any, b: Any, d: Any) -> Crossing:
    """Solve the subproblem of a slide: the displacements x with a x + b x^2 = d, b a number.

    `size` is what the square root is taken of, m^2, to be compared with zero.
    """
    if b == 0.0:
        return Crossing((d / a,), 1.0, 0.0)
    middle = a / (-2.0 * b)
    rest = middle * middle + d / b
    aside = np.sqrt(maximum(rest, 0.0))
    return Crossing((middle + aside, middle - aside), rest, 0.0)
