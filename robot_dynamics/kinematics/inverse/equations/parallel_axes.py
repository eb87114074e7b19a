"""Closed form of chains with three parallel axes: what is around them, then a triangle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.compiler.graph.piecewise import maximum, minimum, select
from robot_dynamics.foundation.units import FULL_TURN
from robot_dynamics.kinematics.inverse.axis_chain import Axis, Displacement
from robot_dynamics.kinematics.inverse.equations.partial_solutions import (
    SAME,
    Frees,
    NoClosedForm,
    Partial,
    SolutionStep,
    branches,
    missed_by,
)
from robot_dynamics.kinematics.inverse.equations.spherical_wrist import (
    across,
    at_right_angles,
    common_point,
    sine,
)
from robot_dynamics.kinematics.inverse.subproblems import (
    NEAR,
    Turn,
    Vector,
    axis_to_angle,
    circle_and_line,
    cross,
    dot,
    minus,
    plus,
    point_to_point,
    times,
    turned,
)


class _Reach(NamedTuple):
    """Reach of the two links of a triangle while a parallel axis turns its third side.

    Attributes:
        mean: Of the square of that side, m^2.
        a: Coefficient of the cosine of the turn.
        b: Coefficient of the sine.
        low: Least square that the links reach.
        high: Largest one.
    """

    mean: Any
    a: Any
    b: Any
    low: float
    high: float

    def missed(self, turn: Turn) -> Any:
        """Return by how much the square is out of reach; positive where it is."""
        square = self.mean + self.a * turn.c + self.b * turn.s
        return maximum(self.low - square, square - self.high)

    def middle(self, free: Turn) -> Turn:
        """Return the turn in the middle of the squares in reach, or the nearest one."""
        change = np.sqrt(self.a * self.a + self.b * self.b)
        low, high = maximum(self.mean - change, self.low), minimum(self.mean + change, self.high)
        aim = 0.5 * (low + high) - self.mean
        turn: Turn = circle_and_line(self.a, self.b, aim, free).solutions[0]
        return turn


class ParallelEquations:
    """Three parallel revolute axes, and slides along them; one joint before, two after at most."""

    def __init__(self, axes: Sequence[Axis], names: tuple[str, str, str]) -> None:
        self.axes, self.names, self.quartic = list(axes), names, False
        for self.start, self.end in _parallel_runs(axes):
            self.before, self.after = axes[: self.start], axes[self.end :]
            group = axes[self.start : self.end]
            self.turns = [k for k in range(self.start, self.end) if axes[k].rotates]
            self.slides = [k for k in range(self.start, self.end) if not axes[k].rotates]
            around = [*self.before, *self.after[:1]]
            if (
                len(self.turns) == 3
                and len(self.before) <= 1
                and len(self.after) <= 2
                and len(self.slides) <= (0 if self.before else 1)
                and all(axis.rotates and sine(axis, group[0]) > SAME for axis in around)
                and (len(self.after) < 2 or sine(*self.after) > SAME)
            ):
                break
        else:
            raise NoClosedForm("no three parallel axes with few joints around them")
        self.n = axes[self.turns[0]].h
        self.centre = common_point(self.after) if self.after else axes[self.turns[2]].p
        self.missed = missed_by(axes, (self.start, self.end), (self.n, across(self.n)))
        self.decisive = frozenset(range(self.start))

    def solve(self, target: Displacement, free: Frees, given: Any = None) -> list[Partial]:
        """Return all motions of the joints; none is given."""
        return [
            solution
            for partial in self._aside(target, free)
            for outer in self._outer(partial, target, free.end_effector)
            for solution in self._triangle(outer, target, free)
        ]

    def _aside(self, target: Displacement, free: Frees) -> list[Partial]:
        """Bring the far point to its height along the parallel axes by the joint before them."""
        start = Partial({}, ())
        if not self.before:
            return [start]
        (first,), n = self.before, self.n
        u = minus(target.point(self.centre), first.p)
        across = minus(n, times(dot(first.h, n), first.h))
        d = dot(n, minus(self.centre, first.p)) - dot(first.h, n) * dot(first.h, u)
        a, b = dot(across, u), dot(cross(first.h, across), u)
        found = circle_and_line(a, b, d, free.arm, free.touching)
        return [start.extended(0, *partial) for partial in branches(0, self.names[0], found)]

    def _outer(self, partial: Partial, target: Displacement, free: Turn) -> list[Partial]:
        """Turn the end effector by the joints after them until the parallel axes match."""
        if not self.after:
            return [partial]
        n, k, last = self.n, len(self.axes) - 1, self.after[-1]
        n_base = self.before[0].vector(n, partial.values[0]) if self.before else n
        n_end = target.inverse.vector(n_base)
        if len(self.after) == 1:
            turn, size = point_to_point(last.h, n_end, n, free)
            return [partial.extended(k, turn, SolutionStep(k, "", "", size))]
        inner = self.after[0]
        m = target.vector(last.h)
        m = self.before[0].vector(m, partial.values[0].back) if self.before else m
        p_i, p_k = (self.axes[joint].p for joint in (self.turns[0], self.turns[2]))
        shoulder = target.inverse.point(
            self.before[0].point(p_i, partial.values[0]) if self.before else p_i
        )
        partials: list[
            Partial
        ] = []  # where the last axis is parallel to the others, any turn will do
        found = axis_to_angle(n, inner.h, last.h, m, Turn(1.0, 0.0))
        flips = at_right_angles(self.axes[self.turns[0]], inner, last)
        for turn, step in branches(k - 1, self.names[2], found, unit=""):
            reach = self._reach(last, shoulder, inner.point(p_k, turn.back))
            if partials and flips:
                outer = partials[0].values[k]
                misses = select(size, NEAR * NEAR, reach.missed(outer.half_on), 0.0)
                outer = _first_if_positive(misses, outer, outer.half_on)
            else:
                angle = _first_if_positive(reach.missed(free), reach.middle(free), free)
                outer, size = point_to_point(last.h, n_end, inner.vector(n, turn.back), angle)
            partials.append(
                partial.extended(k - 1, turn, step).extended(
                    k, outer, SolutionStep(k, "", "", size)
                )
            )
        return partials

    def _reach(self, last: Axis, shoulder: Vector, wrist: Vector) -> _Reach:
        """Return what the triangle reaches where the last axis is parallel to those in it.

        Args:
            last: The axis; the turn moves `wrist` about it.
            shoulder: Point of the first axis in the triangle, seen from the end effector.
            wrist: Point of the last one in it, before the turn.
        """
        p_i, p_j, p_k = (self.axes[joint].p for joint in self.turns)
        near, far = (
            float(np.linalg.norm(_flat(self.n, minus(*x)))) for x in ((p_j, p_i), (p_k, p_j))
        )
        x, y = (_flat(last.h, minus(point, last.p)) for point in (wrist, shoulder))
        return _Reach(
            dot(x, x) + dot(y, y),
            -2.0 * dot(x, y),
            2.0 * dot(y, cross(last.h, x)),
            (near - far) ** 2,
            (near + far) ** 2,
        )

    def _triangle(self, partial: Partial, target: Displacement, free: Frees) -> list[Partial]:
        """Solve the triangle of two links and an end effector in the plane across the axes."""
        n = self.n
        i, j, k = self.turns

        def moved(x: Vector, *, point: bool) -> Vector:  # by the parallel joints together
            for joint, axis in enumerate(self.after, start=self.end):
                value = partial.values[joint].back
                x = axis.point(x, value) if point else axis.vector(x, value)
            x = target.point(x) if point else target.vector(x)
            for axis in self.before:
                value = partial.values[0].back
                x = axis.point(x, value) if point else axis.vector(x, value)
            return x

        p_i, p_j, p_k = (self.axes[joint].p for joint in self.turns)
        t = moved(p_k, point=True)
        r, far = _flat(n, minus(t, p_i)), _flat(n, minus(p_k, p_j))
        near = _flat(n, minus(p_j, p_i))
        scale = 0.5 / np.sqrt(max(dot(near, near), dot(far, far)))
        lengths = dot(near, near) + dot(far, far)
        found = circle_and_line(
            2.0 * scale * dot(near, far),
            2.0 * scale * dot(near, cross(n, far)),
            scale * (dot(r, r) - lengths),
            free.arm,
            free.touching,
        )
        v = across(n)
        w = moved(v, point=False)
        total = Turn(dot(v, w), dot(cross(n, v), w))  # both are unit vectors across n
        solutions = []
        for turn, step in branches(j, self.names[1], found, (lengths, 1.0 / scale)):
            reached = plus(near, turned(n, turn, far))
            inner, size = point_to_point(n, reached, r, free.arm)
            c, s, _ = total.then(inner.back).then(turn.back)
            last = Turn(c, s, _within_a_turn(total.angle - inner.angle - turn.angle))
            part = partial.extended(j, self._signed(j, turn), step)
            part = part.extended(i, self._signed(i, inner), SolutionStep(i, "", "", size))
            part = part.extended(k, self._signed(k, last), SolutionStep(k, "", "", 1.0))
            for slide in self.slides:
                along = dot(n, minus(t, p_k)) * dot(self.axes[slide].h, n)
                part = part.extended(slide, along, SolutionStep(slide, "", "", 1.0))
            solutions.append(part)
        return solutions

    def _signed(self, joint: int, turn: Turn) -> Turn:
        """Convert a turn about n to one about the axis of a joint, which may point against n."""
        return turn if dot(self.axes[joint].h, self.n) > 0.0 else turn.back


def _first_if_positive(x: Any, first: Turn, other: Turn) -> Turn:
    """Return one of two turns."""
    pairs = ((first.c, other.c), (first.s, other.s), (first.angle, other.angle))
    return Turn(*(select(0.0, x, a, b) for a, b in pairs))


def _flat(n: Vector, v: Vector) -> Vector:
    """Return the part of a vector across n."""
    return minus(v, times(dot(n, v), n))


def _within_a_turn(angle: Any) -> Any:
    """Return the angle in (-pi, pi], equal up to multiples of 2 pi."""
    return angle + FULL_TURN * np.floor((np.pi - angle) * (1.0 / FULL_TURN))


def _parallel_runs(axes: Sequence[Axis]) -> Iterator[tuple[int, int]]:
    """Yield start and end of the longest runs of parallel axes, slides along them included."""
    start = 0
    while start < len(axes):
        end = start + 1
        while end < len(axes) and sine(axes[start], axes[end]) < SAME:
            end += 1
        yield start, end
        start = end
