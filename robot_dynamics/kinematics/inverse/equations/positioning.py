"""Up to three joints bring a point to a place: the half of inverse kinematics that has an elbow.

E_1 E_2 E_3 w = t. Seen from between: x = E_3 w is a function of q_3, y = E_1^-1 t one of q_1, and
joint 2 must bring x to y. A turn does that where both have the same height along its axis and the
same distance from a point of it; a slide, where they have the same two coordinates across it.
These are two equations, linear in the cosine and sine of q_1 and of q_3, or in the displacement of
a slide and its square. In nearly every arm that is built one combination of them is free of q_1 or
of q_3, because neighbouring axes meet or are parallel; else they make a quartic (Pieper), or a
square where both are slides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.lazy import imported
from robot_dynamics.kinematics.inverse.axis_chain import Axis, Displacement
from robot_dynamics.kinematics.inverse.equations.both_equations import Row, together
from robot_dynamics.kinematics.inverse.equations.partial_solutions import (
    SAME,
    Frees,
    NoClosedForm,
    Partial,
    SolutionStep,
    branches,
)
from robot_dynamics.kinematics.inverse.subproblems import (
    Crossing,
    Turn,
    Vector,
    circle_and_line,
    cross,
    dot,
    minus,
    plus,
    point_to_point,
    square_and_line,
    times,
)
from robot_dynamics.spatial import rotation_from_rpy

MEETING = 3e-6
"""Ratio below which neighbouring axes count as meeting or parallel; what that leaves is polished
away. Farther apart, what a quartic leaves is less."""


class _Second(NamedTuple):
    """The second joint: its direction, two directions across, and a point of it."""

    h: Vector
    across: Sequence[Vector]
    centre: Vector


class Held(NamedTuple):
    """A motion among those of the joints that is known.

    Attributes:
        axis: Line of the joint that makes it; or `FreeBody`, for any displacement.
        place: How many of the joints are before it.
    """

    axis: Axis | FreeBody
    place: int


class FreeBody:
    """A body that makes any known displacement, in place of the axis of a joint."""

    @staticmethod
    def vector(v: Vector, value: Displacement) -> Vector:
        """Return a vector after the displacement."""
        return value.vector(v)

    @staticmethod
    def point(x: Vector, value: Displacement) -> Vector:
        """Return a point after the displacement."""
        return value.point(x)

    @staticmethod
    def back(value: Displacement) -> Displacement:
        """Return the inverse displacement."""
        return value.inverse


class Positioning:
    """The joints that bring a point to a place.

    Args:
        axes: One to three joints.
        w: The point, carried by the last of them, at zero.
        names: What the branches of the first and of the last joint are called.
        held: One more joint, whose motion is given with the place.
    """

    def __init__(
        self, axes: Sequence[Axis], w: Vector, names: tuple[str, str], held: Held | None = None
    ) -> None:
        self.axes, self.w, self.names, self.held = list(axes), w, names, held
        self.quartic = False
        if held is not None and len(self.axes) != 3:
            raise NoClosedForm("a joint is given beside three others")
        if len(self.axes) > 1:
            self._plan()

    def solve(self, t: Vector, free: Frees, given: Any = None) -> list[Partial]:
        """Return the motions that bring w to t, joints counted from 0 without the held one."""
        first, start = self.axes[0], Partial({}, ())
        if len(self.axes) == 1:
            return [self._carry(start, 0, first, self.w, t, free.arm)]
        t = self._moved(t, given, 0, back=True)
        partials = self._first_and_last(t, free, given)
        return [self._middle(partial, t, free.arm, given) for partial in partials]

    def _moved(self, x: Vector, given: Any, place: int, *, back: bool) -> Vector:
        """Return a point after the motion of the joint that is held, if it is at that place."""
        if self.held is None or self.held.place != place:
            return x
        axis = self.held.axis
        return axis.point(x, axis.back(given) if back else given)

    def _turned(self, v: Vector, given: Any, place: int, *, back: bool) -> Vector:
        """Return a direction after the motion of the joint that is held, if it is at that place."""
        if self.held is None or self.held.place != place:
            return v
        axis = self.held.axis
        return axis.vector(v, axis.back(given) if back else given)

    # -- the two equations ----------------------------------------------------------------------

    def _plan(self) -> None:
        first, second = self.axes[0], self.axes[1]
        h, points = np.array(second.h), [np.array(axis.p) for axis in self.axes]
        lever = max(np.linalg.norm(points[1] - p) for p in [*points, np.array(self.w)])
        self._lever = max(float(lever), 1e-3)
        self._scale = 0.5 / self._lever
        across = np.cross(h, first.h)
        if np.linalg.norm(across) < SAME:
            across = np.cross(h, np.eye(3)[np.argmin(np.abs(h))])
        u = np.cross(across, h) / np.linalg.norm(across)
        self._across = (tuple(u), tuple(np.cross(h, u)))
        # a sphere about p_2, where its axis comes nearest to another one, may not see that joint
        for other in (first, self.axes[-1])[: 1 if self.held is None else 2]:
            self._centre = nearest(second, other)
            if self._separated():
                return
        if len(self.axes) == 2:
            return
        self.quartic = first.rotates or self.axes[2].rotates
        if min(np.linalg.svd(M)[1][1] for M in self._coefficients(self._samples()[0])) < SAME:
            raise NoClosedForm("neither equation has an unknown of its own")

    def _separated(self) -> bool:
        """Look for a combination of both equations with one unknown, for any given joint."""
        tables = [self._coefficients(given) for given in self._samples()]
        if len(self.axes) == 2:  # x is a constant: the equation that q_1 has most to do with
            most = int(np.argmax(np.abs(tables[0][0]).max(axis=1)))
            self._free_of_last, self._free_of_first = np.eye(2)[most], None
            return True
        self._free_of_first = _always([_free_of(A, B) for A, B in tables])
        self._free_of_last = _always([_free_of(B, A) for A, B in tables])
        return self._free_of_first is not None or self._free_of_last is not None

    def _samples(self) -> list[Any]:
        """Motions of the joint that is held, in general position."""
        if self.held is None:
            return [None]
        angles = (0.7, -1.9, 2.6)
        if isinstance(self.held.axis, FreeBody):
            rotations = [rotation_from_rpy(np.array([x, 0.6 * x, -x])) for x in angles]
            places = [(x, 0.4 - x, 0.7) for x in angles]
            zero = (0.0, 0.0, 0.0)
            return [
                Displacement(R.tolist(), zero, p) for R, p in zip(rotations, places, strict=True)
            ]
        if not self.held.axis.rotates:
            return [0.3 * angle for angle in angles]
        return [Turn(float(np.cos(angle)), float(np.sin(angle))) for angle in angles]

    def _coefficients(self, given: Any) -> tuple[Array, Array]:
        """Relate both expressions of y to q_1 for some places, and those of x to q_3."""
        size = 1.0 + 0.5 / self._scale
        targets = imported("numpy.random").default_rng(0).uniform(-size, size, (8, 3))
        y_rows = [self._rows_of_y(tuple(t), given) for t in targets]
        A = np.hstack([np.array(rows, float)[:, 1:] for rows in y_rows])
        return A, np.array([row[1:] for row in self._rows_of_x(given)], float)

    def _rows_of_y(self, t: Vector, given: Any) -> list[Row]:
        """Both expressions of y = E_1^-1 t, seen past a joint that is held behind the first."""
        axis, seen = self.axes[0], self._seen(given, 1, back=False)
        if not axis.rotates:
            backwards = Axis(times(-1.0, axis.h), axis.p, False)
            return self._rows_of_slide(backwards, t, seen)
        return self._rows_of_turn(axis, t, -1.0, seen)

    def _rows_of_x(self, given: Any) -> list[Row]:
        """Both expressions of x = E_3 w, seen past a joint that is held before the last."""
        seen = self._seen(given, 2, back=True)
        if len(self.axes) == 2:
            return [(row[0], 0.0, 0.0) for row in self._rows_of_slide(self.axes[1], self.w, seen)]
        axis, w = self.axes[2], self._moved(self.w, given, 3, back=False)
        if not axis.rotates:
            return self._rows_of_slide(axis, w, seen)
        return self._rows_of_turn(axis, w, 1.0, seen)

    def _seen(self, given: Any, place: int, *, back: bool) -> _Second:
        """Return joint 2 as the first or the last joint sees it."""
        h, *across = (
            self._turned(v, given, place, back=back) for v in (self.axes[1].h, *self._across)
        )
        return _Second(h, across, self._moved(self._centre, given, place, back=back))

    def _rows_of_turn(self, axis: Axis, point: Vector, sense: float, seen: _Second) -> list[Row]:
        h, u = axis.h, minus(point, axis.p)
        along = dot(h, u)

        def linear(g: Vector) -> tuple[Any, Any]:  # of g . (turned u)
            g_across = _clean(minus(g, times(dot(g, h), h)))
            return dot(g_across, u), sense * dot(_clean(cross(g_across, h)), u)

        arm = _clean(minus(axis.p, seen.centre))
        if not self.axes[1].rotates:
            return [(dot(g, arm) + dot(g, h) * along, *linear(g)) for g in map(_clean, seen.across)]
        a, b = linear(arm)
        squared = dot(u, u) + dot(arm, arm) + 2.0 * along * _clean1(dot(arm, h))
        k = self._scale
        g = seen.h
        height = dot(g, arm) + dot(g, h) * along
        return [(height, *linear(g)), (k * squared, 2.0 * k * a, 2.0 * k * b)]

    def _rows_of_slide(self, axis: Axis, point: Vector, seen: _Second) -> list[Row]:
        arm, k = minus(point, seen.centre), self._scale
        if not self.axes[1].rotates:
            return [(dot(g, arm), dot(g, axis.h), 0.0) for g in seen.across]
        return [
            (dot(seen.h, arm), _clean1(dot(seen.h, axis.h)), 0.0),
            (k * dot(arm, arm), 2.0 * k * dot(axis.h, arm), k),
        ]

    # -- q_1 and q_3 ----------------------------------------------------------------------------

    def _first_and_last(self, t: Vector, free: Frees, given: Any) -> Iterator[Partial]:
        y_rows, x_rows = self._rows_of_y(t, given), self._rows_of_x(given)
        pivot = self._free_of_first if self._free_of_first is not None else self._free_of_last
        if pivot is None:
            rotates = self.axes[0].rotates, self.axes[2].rotates
            yield from together(y_rows, x_rows, rotates, self._lever, self.names, free)
            return
        row, other = pivot, np.array([-pivot[1], pivot[0]])
        y, x = _combined(row, y_rows), _combined(row, x_rows)
        start = Partial({}, ())
        if self._free_of_first is not None:
            reach = (x[0] / self._scale, 1.0 / self._scale) if self._sees(row) else None
            last = self._solved(2, x, y[0], free)
            y, x = _combined(other, y_rows), _combined(other, x_rows)
            for value, step in branches(2, self.names[1], last, reach):
                partial = start.extended(2, value, step)
                right = x[0] + _at(x, self.axes[2], value)
                for value_1, step_1 in branches(0, self.names[0], self._solved(0, y, right, free)):
                    yield partial.extended(0, value_1, step_1)
            return
        for value, step in branches(0, self.names[0], self._solved(0, y, x[0], free)):
            partial = start.extended(0, value, step)
            if len(self.axes) == 2:
                yield partial
                continue
            y_2, x_2 = _combined(other, y_rows), _combined(other, x_rows)
            right = y_2[0] + _at(y_2, self.axes[0], value)
            reach = (x_2[0] / self._scale, 1.0 / self._scale) if self._sees(other) else None
            last = self._solved(2, x_2, right, free)
            for value_3, step_3 in branches(2, self.names[1], last, reach):
                yield partial.extended(2, value_3, step_3)

    def _sees(self, row: Array) -> bool:
        """Return whether an equation is that of the distance from joint 2 alone."""
        return bool(row[0] == 0.0) and self.axes[1].rotates

    def _solved(self, joint: int, row: Row, right: Any, free: Frees) -> Crossing:
        d = right - row[0]
        if self.axes[joint].rotates:
            return circle_and_line(row[1], row[2], d, free.arm, free.touching)
        return square_and_line(row[1], row[2], d, free.touching)

    # -- q_2 ------------------------------------------------------------------------------------

    def _middle(self, partial: Partial, t: Vector, free: Turn, given: Any) -> Partial:
        first, x = self.axes[0], self._moved(self.w, given, 3, back=False)
        y = self._moved(first.point(t, first.back(partial.values[0])), given, 1, back=True)
        if len(self.axes) == 3:
            x = self._moved(self.axes[2].point(x, partial.values[2]), given, 2, back=False)
        return self._carry(partial, 1, self.axes[1], x, y, free)

    @staticmethod
    def _carry(
        partial: Partial, joint: int, axis: Axis, x: Vector, y: Vector, free: Turn
    ) -> Partial:
        """Find the motion of one joint that brings x to y."""
        if not axis.rotates:
            return partial.extended(
                joint, dot(axis.h, minus(y, x)), SolutionStep(joint, "", "", 1.0)
            )
        turn, size = point_to_point(axis.h, minus(x, axis.p), minus(y, axis.p), free)
        return partial.extended(joint, turn, SolutionStep(joint, "", "", size))


def nearest(axis: Axis, other: Axis) -> Vector:
    """Return the point of an axis nearest to another one; any, if they are parallel."""
    h, g = np.array(axis.h), np.array(other.h)
    across = g - h * (h @ g)
    between = np.array(other.p) - np.array(axis.p)
    if np.linalg.norm(across) < SAME or not other.rotates:
        return axis.p
    span = np.column_stack([h, -g])
    along = np.linalg.lstsq(span, between, rcond=None)[0][0]
    return _clean(plus(axis.p, times(float(along), axis.h)))


def _free_of(A: Array, B: Array) -> Array | None:
    """The combination (2,) of two rows that vanishes in A, if B is left in it and A in the other.

    None if there is none.
    """
    U, values, _ = np.linalg.svd(A)
    left = float(np.abs(U[:, 1] @ B).max())
    if values[1] > MEETING * min(1.0, 10.0 * left) or values[0] < SAME or left < SAME:
        return None
    near = np.round(U[:, 1])
    return np.where(np.abs(U[:, 1] - near) < SAME, near, U[:, 1])


def _always(found: Sequence[Array | None]) -> Array | None:
    """Return a combination that no given value changes; None if there is none."""
    first, *others = found
    if first is None or any(x is None or np.abs(x - first).max() > MEETING for x in others):
        return None
    return first


def _combined(weights: Array, rows: Sequence[Row]) -> Row:
    """Combine two rows; their coefficients may be symbols."""
    a, b = float(weights[0]), float(weights[1])
    parts = [a * x + b * y for x, y in zip(rows[0], rows[1], strict=True)]
    return parts[0], parts[1], parts[2]


def _at(row: Row, axis: Axis, value: Any) -> Any:
    """Evaluate the unknown part of a row at a motion of its joint."""
    if axis.rotates:
        return row[1] * value.c + row[2] * value.s
    return row[1] * value + row[2] * (value * value)


def _clean1(x: Any) -> Any:
    if not isinstance(x, float):  # a symbol, or an array
        return x
    near = float(np.round(x))
    return near if abs(x - near) < 1e-12 else x


def _clean(v: Vector) -> Vector:
    """Replace numbers that differ from 0 and 1 by round-off."""
    return tuple(_clean1(x) for x in v)
