"""Closed-form inverse kinematics of a chain, for the structures that its axes can have.

    wrist       the last k <= 3 axes meet in one point: up to three joints bring the point to its
                place (`positioning`), then the k turn the hand
    parallel    three axes are parallel: the joints around them first, then a triangle in a plane

Each also from hand to root: a shoulder whose axes meet is the wrist of the reversed chain.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from robot_dynamics.kinematics.inverse.axis_chain import Axis, AxisChain, Displacement
from robot_dynamics.kinematics.inverse.positioning import (
    SAME,
    NoClosedForm,
    Partial,
    Positioning,
    Step,
    branches,
)
from robot_dynamics.kinematics.inverse.subproblems import (
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

MEETING = 1e-7
"""Distance, m, below which axes count as meeting; what that leaves is polished away."""


Frees = tuple[Turn, Turn]
"""Turns of joints that may be anywhere: of the arm, and of the hand."""


class Equations(Protocol):
    """The closed form of one structure."""

    closed: bool
    """Whether it can be traced; the quartic cannot."""

    def solve(self, target: Displacement, free: Frees) -> list[Partial]:
        """All motions of the joints, counted from 0, whose product is the displacement."""


class WristEquations:
    """The last `k` axes meet in one point, or are one or none; at most three are before them."""

    def __init__(self, axes: Sequence[Axis], k: int, names: tuple[str, str, str], w: Vector):
        if not 0 <= len(axes) - k <= 3 or not all(axis.rotates for axis in axes[len(axes) - k :]):
            raise NoClosedForm("joints before a wrist: at most three; in a wrist: revolute ones")
        self.arm, self.wrist, self.name = axes[: len(axes) - k], axes[len(axes) - k :], names[2]
        if any(sine(a, b) < SAME for a, b in zip(self.wrist, self.wrist[1:], strict=False)):
            raise NoClosedForm("neighbouring axes of a wrist are not parallel")
        self.centre = common_point(self.wrist) if k else w
        self.position = Positioning(self.arm, self.centre, names[:2]) if self.arm else None
        self.closed = self.position is None or self.position.closed

    def solve(self, target: Displacement, free: Frees) -> list[Partial]:
        """All motions of the joints."""
        if self.position is None:
            ways = [Partial({}, ())]
        else:
            ways = self.position.solve(target.point(self.centre), free[0])
        return [solution for way in ways for solution in self._turn_hand(way, target, free[1])]

    def _turn_hand(self, way: Partial, target: Displacement, free: Turn) -> Iterator[Partial]:
        def before(v: Vector) -> Vector:  # what the arm's turns leave of a vector of the target
            for joint, axis in enumerate(self.arm):
                v = axis.vector(v, axis.back(way.values[joint]))
            return v

        n = len(self.arm)
        if not self.wrist:
            yield way
            return
        if len(self.wrist) < 3:
            yield from _aligned(way, n, self.wrist, lambda v: before(target.vector(v)), free)
            return
        yield from three_turns(
            self.wrist, n, self.name, way, lambda v: before(target.vector(v)), free
        )


def three_turns(
    axes: Sequence[Axis], n: int, name: str, way: Partial, seen: Any, free: Turn
) -> Iterator[Partial]:
    """Turns about a, b, c with R_a R_b R_c v = seen(v): c seen from a first, then a, then the rest.

    They are the joints from number n on, none of them parallel to the next.
    """
    a, b, c = axes
    m = seen(c.h)
    found = axis_to_angle(a.h, b.h, c.h, m, Turn(1.0, 0.0))
    for turn_b, step in branches(n + 1, name, found, unit=""):
        turn_a, size = point_to_point(a.h, b.vector(c.h, turn_b), m, free)
        part = way.extended(n + 1, turn_b, step).extended(n, turn_a, Step(n, "", "", size))
        v = across(c.h)
        rest = b.vector(a.vector(seen(v), turn_a.back), turn_b.back)
        turn_c, _ = point_to_point(c.h, v, rest, free)
        yield part.extended(n + 2, turn_c, Step(n + 2, "", "", 1.0))


def _aligned(way: Partial, n: int, axes: Sequence[Axis], seen: Any, free: Turn) -> list[Partial]:
    """One or two turns that make the rotation v -> seen(v); n is the number of the first."""
    for joint, axis in enumerate(axes, start=n):
        following = axes[joint - n + 1 :]
        v = following[0].h if following else across(axis.h)
        w = seen(v)
        for done, before in enumerate(axes[: joint - n], start=n):
            w = before.vector(w, way.values[done].back)
        turn, size = point_to_point(axis.h, v, w, free)
        way = way.extended(joint, turn, Step(joint, "", "", size))
    return [way]


class ParallelEquations:
    """Three parallel revolute axes, and slides along them; one joint before, two after at most."""

    def __init__(self, axes: Sequence[Axis], names: tuple[str, str, str]) -> None:
        self.axes, self.names, self.closed = list(axes), names, True
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

    def solve(self, target: Displacement, free: Frees) -> list[Partial]:
        """All motions of the joints."""
        return [
            solution
            for way in self._aside(target, free[0])
            for outer in self._outer(way, target, free[1])
            for solution in self._triangle(outer, target, free[0])
        ]

    def _aside(self, target: Displacement, free: Turn) -> list[Partial]:
        """The joint before brings the far point to its height along the parallel axes."""
        start = Partial({}, ())
        if not self.before:
            return [start]
        (first,), n = self.before, self.n
        u = minus(target.point(self.centre), first.p)
        across = minus(n, times(dot(first.h, n), first.h))
        d = dot(n, minus(self.centre, first.p)) - dot(first.h, n) * dot(first.h, u)
        found = circle_and_line(dot(across, u), dot(cross(first.h, across), u), d, free)
        return [start.extended(0, *way) for way in branches(0, self.names[0], found)]

    def _outer(self, way: Partial, target: Displacement, free: Turn) -> list[Partial]:
        """The joints after turn the hand until the parallel axes stand as they do."""
        if not self.after:
            return [way]
        n, k, last = self.n, len(self.axes) - 1, self.after[-1]
        n_base = self.before[0].vector(n, way.values[0]) if self.before else n
        n_hand = target.inverse.vector(n_base)
        if len(self.after) == 1:
            turn, size = point_to_point(last.h, n_hand, n, free)
            return [way.extended(k, turn, Step(k, "", "", size))]
        inner = self.after[0]
        m = target.vector(last.h)
        m = self.before[0].vector(m, way.values[0].back) if self.before else m
        ways = []
        found = axis_to_angle(n, inner.h, last.h, m, Turn(1.0, 0.0))
        for turn, step in branches(k - 1, self.names[2], found, unit=""):
            outer, size = point_to_point(last.h, n_hand, inner.vector(n, turn.back), free)
            ways.append(way.extended(k - 1, turn, step).extended(k, outer, Step(k, "", "", size)))
        return ways

    def _triangle(self, way: Partial, target: Displacement, free: Turn) -> list[Partial]:
        """Two links and a hand in the plane across the axes."""
        n = self.n
        i, j, k = self.turns

        def moved(x: Vector, *, point: bool) -> Vector:  # by the parallel joints together
            for joint, axis in enumerate(self.after, start=self.end):
                value = way.values[joint].back
                x = axis.point(x, value) if point else axis.vector(x, value)
            x = target.point(x) if point else target.vector(x)
            for axis in self.before:
                value = way.values[0].back
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
            free,
        )
        v = across(n)
        total, _ = point_to_point(n, v, moved(v, point=False), free)
        solutions = []
        for turn, step in branches(j, self.names[1], found, (lengths, 1.0 / scale)):
            reached = plus(near, turned(n, turn, far))
            inner, size = point_to_point(n, reached, r, free)
            last = total.then(inner.back).then(turn.back)
            part = way.extended(j, self._signed(j, turn), step)
            part = part.extended(i, self._signed(i, inner), Step(i, "", "", size))
            part = part.extended(k, self._signed(k, last), Step(k, "", "", 1.0))
            for slide in self.slides:
                along = dot(n, minus(t, p_k)) * dot(self.axes[slide].h, n)
                part = part.extended(slide, along, Step(slide, "", "", 1.0))
            solutions.append(part)
        return solutions

    def _signed(self, joint: int, turn: Turn) -> Turn:
        """A turn about n as one about the axis of a joint, which may point against n."""
        return turn if dot(self.axes[joint].h, self.n) > 0.0 else turn.back


class ReversedEquations:
    """A structure seen from the hand: the same equations for the displacement back."""

    def __init__(self, equations: Equations, n: int) -> None:
        self.equations, self.n, self.closed = equations, n, equations.closed

    def solve(self, target: Displacement, free: Frees) -> list[Partial]:
        """All motions of the joints, counted from the root."""
        last = self.n - 1
        return [
            Partial(
                {last - joint: value for joint, value in way.values.items()},
                tuple(step._replace(joint=last - step.joint) for step in way.steps),
            )
            for way in self.equations.solve(target.inverse, free)
        ]


@dataclass(frozen=True, eq=False)
class Structure:
    """What inverse kinematics makes use of in a chain.

    Args:
        description: In words, with the joints.
        equations: The closed form.
    """

    description: str
    equations: Equations


def find_structure(chain: AxisChain) -> Structure | None:
    """The closed form of a chain, found from its axes; None if this file has none.

    Where several fit, one that can be traced comes before one with a quartic, and a wrist before
    parallel axes before a shoulder.
    """
    found = [make(chain) for make in _CANDIDATES]
    known = [structure for structure in found if structure is not None]
    return min(known, key=lambda structure: not structure.equations.closed, default=None)


def _wrist(chain: AxisChain, k: int, *, backwards: bool) -> Structure | None:
    axes = _reversed(chain.axes) if backwards else chain.axes
    names = ("wrist", "elbow", "shoulder") if backwards else ("shoulder", "elbow", "wrist")
    # seen from the hand the point that has to be placed is the root's, which the hand knows nothing
    # of: any point of the root link will do
    w = tuple(map(float, np.zeros(3) if backwards else chain.tool.translation))
    try:
        equations: Equations = WristEquations(axes, k, names, w)
    except NoClosedForm:
        return None
    joints = chain.names[:k] if backwards else chain.names[len(chain) - k :]
    meet = f"the axes of {', '.join(joints)} meet in one point"
    what = meet if k > 1 else f"up to three joints before {joints[0]}" if k else "positions only"
    kind = ("spherical shoulder" if backwards else "spherical wrist") if k == 3 else "short arm"
    quartic = "" if equations.closed else ", with a quartic"
    if backwards:
        equations = ReversedEquations(equations, len(chain))
    return Structure(f"{kind}: {what}{quartic}", equations)


def _parallel(chain: AxisChain, *, backwards: bool) -> Structure | None:
    axes = _reversed(chain.axes) if backwards else chain.axes
    names = ("wrist", "elbow", "shoulder") if backwards else ("shoulder", "elbow", "wrist")
    try:
        equations = ParallelEquations(axes, names)
    except NoClosedForm:
        return None
    last = len(chain) - 1
    joints = [chain.names[last - k if backwards else k] for k in equations.turns]
    what = f"three parallel axes: {', '.join(joints[::-1] if backwards else joints)}"
    return Structure(what, ReversedEquations(equations, len(chain)) if backwards else equations)


_CANDIDATES: tuple[Callable[[AxisChain], Structure | None], ...] = (
    functools.partial(_wrist, k=3, backwards=False),
    functools.partial(_parallel, backwards=False),
    functools.partial(_parallel, backwards=True),
    functools.partial(_wrist, k=3, backwards=True),
    *(
        functools.partial(_wrist, k=k, backwards=backwards)
        for k in (2, 1, 0)
        for backwards in (False, True)
    ),
)


def _reversed(axes: Sequence[Axis]) -> list[Axis]:
    """The axes of the displacement back: in reverse order, and pointing the other way."""
    return [Axis(times(-1.0, axis.h), axis.p, axis.rotates) for axis in reversed(axes)]


def _parallel_runs(axes: Sequence[Axis]) -> Iterator[tuple[int, int]]:
    """Start and end of the longest runs of parallel axes, slides along them included."""
    start = 0
    while start < len(axes):
        end = start + 1
        while end < len(axes) and sine(axes[start], axes[end]) < SAME:
            end += 1
        yield start, end
        start = end


def common_point(axes: Sequence[Axis]) -> Vector:
    """The point where lines meet; of a single one the point next to the origin.

    Raises:
        NoClosedForm: If they do not meet.
    """
    if len(axes) == 1:
        return axes[0].p
    normal = np.concatenate([np.eye(3) - np.outer(axis.h, axis.h) for axis in axes])
    right = np.concatenate([np.array(axis.p) for axis in axes])
    point, _, rank, _ = np.linalg.lstsq(normal, right, rcond=SAME)
    if rank < 3 or np.abs(normal @ point - right).max() > MEETING:
        raise NoClosedForm("axes of a wrist meet in one point")
    return tuple(float(x) for x in np.where(np.abs(point) < 1e-12, 0.0, point))


def across(h: Vector) -> Vector:
    """A unit vector across another one, of few numbers."""
    e = np.eye(3)[int(np.argmin(np.abs(np.array(h))))]
    v = np.cross(h, e)
    return tuple(float(x) for x in v / np.linalg.norm(v))


def _flat(n: Vector, v: Vector) -> Vector:
    """The part of a vector across n."""
    return minus(v, times(dot(n, v), n))


def sine(a: Axis, b: Axis) -> float:
    """Sine of the angle between two axes."""
    return float(np.linalg.norm(np.cross(a.h, b.h)))
