"""Subproblems of inverse kinematics in closed form, after Paden and Kahan: one joint, one equation.

Subproblem 1 turns a point to another one, 3 brings a point to a given distance from another, and 4
brings it into a plane. Subproblems 3 and 4 are the same equation, a c + b s = d, in cosine c and
sine s of the joint. The arithmetic takes any scalar and never branches: on floats and arrays it
computes numbers, on symbols it is traced and compiled. A vector is a tuple of three scalars, so
that some may be constants while others are arrays of N poses.

If an equation has no solution, the nearest turn is returned; `size` and `d` of the `Crossing` show
by how much it misses. If every turn solves it, the argument `free` is returned.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.compiler.graph.piecewise import clip, maximum, select

Vector = Sequence[Any]

TINY = 1e-14
"""Length of a vector below which its direction is only round-off, for components near one, m."""

NEAR = 1e-12
"""Distance of the points from an axis below which a turn about the axis counts as free, m. The pose
error is at most this distance; round-off is far below."""


TOUCHING = 4e-15
"""Difference of two squares, as a part of them or m^2, that may be round-off: there a line is taken
to touch its circle, because the root of round-off would be an angle of up to 6e-8. A pose that it
misses by little is solved again, with 0 in its place."""

_LEAST = 1e-300
"""Divisor in place of a length that is zero; the quotient is not used."""


class Turn(NamedTuple):
    """A rotation as cosine and sine, and its angle if that is known without an arctangent."""

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
        """The turn by pi more, or by pi less for a positive angle."""
        angle = self.angle
        return Turn(-self.c, -self.s, select(0.0, angle, angle - np.pi, angle + np.pi))


class Crossing(NamedTuple):
    """The solutions of an equation, which has none where `size` is below the magnitude of `d`.

    Those of a c + b s = d lie where a circle of radius `size` meets a line at `d`, in the unit of
    the equation; for a slide see `square_and_line`.
    """

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

    The turn is `free` if the length is below `least`.
    """
    size = np.sqrt(x * x + y * y)
    over = 1.0 / maximum(size, _LEAST)
    c, s = (select(size, least, f, z * over) for f, z in ((free.c, x), (free.s, y)))
    return Turn(c, s), size


def point_to_point(h: Vector, v: Vector, w: Vector, free: Turn) -> tuple[Turn, Any]:
    """Subproblem 1: the turn about h that brings v to w, or as near as possible.

    Returns:
        The turn, and the product of the distances of v and w from the axis; if it vanishes, every
        turn is a solution.
    """
    # Project across the axis first, so that no digits are lost where both points are near it
    v, w = minus(v, times(dot(h, v), h)), minus(w, times(dot(h, w), h))
    return direction(dot(v, w), dot(h, cross(v, w)), free, NEAR * NEAR)


def circle_and_line(
    a: Any, b: Any, d: Any, free: Turn, touching: float = 0.0, gram: Any = None
) -> Crossing:
    """Subproblems 3 and 4: the two turns with a c + b s = d.

    Args:
        a: Coefficient of the cosine.
        b: Coefficient of the sine.
        d: Right side.
        free: Direction of (a, b) if both vanish.
        touching: Part of the squares up to which a^2 + b^2 - d^2 counts as zero; see `TOUCHING`.
        gram: a^2 + b^2 - d^2, if the caller knows it more accurately than this difference.
    """
    towards, size = direction(a, b, free)
    rest = gram
    if gram is None:
        rest = size * size - d * d
        rest = select(rest, touching * size * size, 0.0, rest)
    over = 1.0 / maximum(size, _LEAST)
    opening = Turn(
        select(size, TINY, 1.0, clip(d * over, -1.0, 1.0)),
        select(size, TINY, 0.0, np.sqrt(maximum(rest, 0.0)) * over),
    )
    return Crossing((towards.then(opening), towards.then(opening.back)), size, d)


def axis_to_angle(h: Vector, k: Vector, v: Vector, m: Vector, free: Turn) -> Crossing:
    """Subproblem 4 on unit vectors: the two turns about k that bring v to the angle of m with h.

    h . R(k) v = h . m. Where m is near h, as near the singularity of a wrist, the cosine of the
    angle between them would lose half of all digits; therefore its sine enters.
    """
    hk, kv = dot(h, k), dot(k, v)
    sine, apart = cross(h, m), minus(h, m)
    gram = dot(sine, sine) - (hk - kv) * (hk - kv) - hk * kv * dot(apart, apart)
    a = dot(h, v) - hk * kv
    return circle_and_line(a, dot(h, cross(k, v)), dot(h, m) - hk * kv, free, gram=gram)


def square_and_line(a: Any, b: Any, d: Any, touching: float = 0.0) -> Crossing:
    """Solve the subproblem of a slide: the two displacements x, m, with a x + b x^2 = d.

    Args:
        a: Coefficient of the displacement.
        b: Coefficient of its square, a number; if it is 0, there is one solution.
        d: Right side.
        touching: Radicand up to which it counts as zero, m^2; see `TOUCHING`.

    Returns:
        The displacements, with the radicand, m^2, as `size` and 0 as `d`. If the radicand is
        negative, both are the displacement nearest to a solution.
    """
    if b == 0.0:
        return Crossing((d / a,), 1.0, 0.0)
    middle = a / (-2.0 * b)
    rest = middle * middle + d / b
    half_gap = np.sqrt(select(rest, touching, 0.0, rest))
    return Crossing((middle + half_gap, middle - half_gap), rest, 0.0)
