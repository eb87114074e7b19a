"""Closed form of chains with axes that meet in one point: Pieper's wrist, at the end or inside.

Up to three joints bring the point to its place (`positioning`), then the wrist turns the end
effector.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

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
from robot_dynamics.kinematics.inverse.equations.positioning import FreeBody, Held, Positioning
from robot_dynamics.kinematics.inverse.subproblems import (
    Turn,
    Vector,
    axis_to_angle,
    dot,
    point_to_point,
    times,
)

RIGHT = 1e-13
"""Cosine below which an angle counts as a right one; residuals show what that leaves."""

MEETING_M = 1e-7
"""Distance, m, below which axes count as meeting; what that leaves is polished away."""


class WristEquations:
    """The last `k` axes meet in one point, or are one or none; at most three are before them.

    One more may be before them, number `given`, whose motion is known beside the pose.
    """

    def __init__(
        self,
        axes: Sequence[Axis],
        k: int,
        names: tuple[str, str, str],
        w: Vector,
        given: int | None = None,
    ):
        n = len(axes) - k
        if not 0 <= n <= (3 if given is None else 4) or not all(axis.rotates for axis in axes[n:]):
            raise NoClosedForm("joints before a wrist: at most three; in a wrist: revolute ones")
        if given is not None and given >= n:
            raise NoClosedForm("a joint of a wrist is given")
        self.arm, self.wrist, self.name, self.given = axes[:n], axes[n:], names[2], given
        if any(sine(a, b) < SAME for a, b in itertools.pairwise(self.wrist)):
            raise NoClosedForm("neighbouring axes of a wrist are not parallel")
        self.centre = common_point(self.wrist) if k else w
        held = None if given is None else Held(axes[given], given)
        others = [axis for j, axis in enumerate(self.arm) if j != given]
        self.position = Positioning(others, self.centre, names[:2], held) if others else None
        self.quartic = self.position is not None and self.position.quartic
        last = axes[-1].h
        self.missed = missed_by(axes, (n, len(axes)), (last, across(last)))
        reaches = not self.quartic and k == 3 and at_right_angles(*self.wrist)
        self.decisive = frozenset(() if reaches else range(len(axes)))

    def solve(self, target: Displacement, free: Frees, given: Any = None) -> list[Partial]:
        """Return all motions of the joints."""
        if self.position is None:
            partials = [Partial({}, ())]
        else:
            partials = self.position.solve(target.point(self.centre), free, given)
        if self.given is not None:
            partials = [partial.around(self.given, given) for partial in partials]
        return [
            solution
            for partial in partials
            for solution in self._turn_end_effector(partial, target, free.end_effector)
        ]

    def _turn_end_effector(
        self, partial: Partial, target: Displacement, free: Turn
    ) -> Iterator[Partial]:
        def before(v: Vector) -> Vector:  # what the arm's turns leave of a vector of the target
            for joint, axis in enumerate(self.arm):
                v = axis.vector(v, axis.back(partial.values[joint]))
            return v

        n = len(self.arm)
        if not self.wrist:
            yield partial
            return
        if len(self.wrist) < 3:
            yield from _aligned(partial, n, self.wrist, lambda v: before(target.vector(v)), free)
            return
        yield from three_turns(
            self.wrist, n, self.name, partial, lambda v: before(target.vector(v)), free
        )


class InnerWristEquations:
    """Axes 2, 3 and 4 of six meet in one point, joints 1, 5 and 6 are any.

    The point stays where it is: E_1^-1 T E_6^-1 E_5^-1 w = w, which three joints with the pose T
    between them bring about.
    """

    def __init__(self, axes: Sequence[Axis], names: tuple[str, str, str]) -> None:
        if len(axes) != 6 or not all(axis.rotates for axis in axes[1:4]):
            raise NoClosedForm("six joints, with revolute ones inside")
        if any(sine(a, b) < SAME for a, b in itertools.pairwise(axes[1:4])):
            raise NoClosedForm("neighbouring axes of a wrist are not parallel")
        self.axes, self.name, self.centre = axes, names[2], common_point(axes[1:4])
        back = [Axis(times(-1.0, axis.h), axis.p, axis.rotates) for axis in axes]
        outer = [back[0], back[5], back[4]]
        self.position = Positioning(outer, self.centre, names[:2], Held(FreeBody(), 1))
        self.quartic = self.position.quartic
        reaches = not self.quartic and at_right_angles(*axes[1:4])
        self.decisive = frozenset(() if reaches else range(6))
        self.missed = missed_by(axes, (1, 4), (axes[3].h, across(axes[3].h)))

    def solve(self, target: Displacement, free: Frees, given: Any = None) -> list[Partial]:
        """Return all motions of the joints; none is given."""
        partials: list[Partial] = []
        for found in self.position.solve(self.centre, free, target):
            partial = found.renumbered((0, 5, 4))

            def left(v: Vector, partial: Partial = partial) -> Vector:  # of a vector, for the wrist
                for joint in (4, 5):
                    v = self.axes[joint].vector(v, self.axes[joint].back(partial.values[joint]))
                return self.axes[0].vector(target.vector(v), self.axes[0].back(partial.values[0]))

            partials += three_turns(self.axes[1:4], 1, self.name, partial, left, free.end_effector)
        return partials


def three_turns(
    axes: Sequence[Axis], n: int, name: str, partial: Partial, seen: Any, free: Turn
) -> Iterator[Partial]:
    """Turns about a, b, c with R_a R_b R_c v = seen(v): c seen from a first, then a, then the rest.

    They are the joints from number n on, none of them parallel to the next.
    """
    a, b, c = axes
    m = seen(c.h)
    found = axis_to_angle(a.h, b.h, c.h, m, Turn(1.0, 0.0))
    flips, first = at_right_angles(a, b, c), None
    for turn_b, step in branches(n + 1, name, found, unit=""):
        if first and flips:
            turn_a, size, turn_c = first[0].half_on, first[1], first[2].half_on
        else:
            turn_a, size = point_to_point(a.h, b.vector(c.h, turn_b), m, free)
            v = across(c.h)
            rest = b.vector(a.vector(seen(v), turn_a.back), turn_b.back)
            turn_c, _ = point_to_point(c.h, v, rest, free)
            first = turn_a, size, turn_c
        part = partial.extended(n + 1, turn_b, step).extended(
            n, turn_a, SolutionStep(n, "", "", size)
        )
        yield part.extended(n + 2, turn_c, SolutionStep(n + 2, "", "", 1.0))


def at_right_angles(a: Axis, b: Axis, c: Axis) -> bool:
    """Return whether the second solution of b is the first one with a and c half a turn on."""
    return max(abs(dot(a.h, b.h)), abs(dot(b.h, c.h))) < RIGHT


def _aligned(
    partial: Partial, n: int, axes: Sequence[Axis], seen: Any, free: Turn
) -> list[Partial]:
    """Return one or two turns of the rotation v -> seen(v); n is the number of the first."""
    for joint, axis in enumerate(axes, start=n):
        following = axes[joint - n + 1 :]
        v = following[0].h if following else across(axis.h)
        w = seen(v)
        for done, before in enumerate(axes[: joint - n], start=n):
            w = before.vector(w, partial.values[done].back)
        turn, size = point_to_point(axis.h, v, w, free)
        partial = partial.extended(joint, turn, SolutionStep(joint, "", "", size))
    return [partial]


# -- axes that meet ------------------------------------------------------------------------------


def common_point(axes: Sequence[Axis]) -> Vector:
    """Return the point where lines meet; of a single one the point next to the origin.

    Raises:
        NoClosedForm: If they do not meet.
    """
    if len(axes) == 1:
        return axes[0].p
    normal = np.concatenate([np.eye(3) - np.outer(axis.h, axis.h) for axis in axes])
    right = np.concatenate([np.array(axis.p) for axis in axes])
    point, _, rank, _ = np.linalg.lstsq(normal, right, rcond=SAME)
    if rank < 3 or np.abs(normal @ point - right).max() > MEETING_M:
        raise NoClosedForm("axes of a wrist meet in one point")
    return tuple(float(x) for x in np.where(np.abs(point) < 1e-12, 0.0, point))


def across(h: Vector) -> Vector:
    """Return a unit vector across another one, with few components that are not zero."""
    e = np.eye(3)[int(np.argmin(np.abs(np.array(h))))]
    v = np.cross(h, e)
    return tuple(float(x) for x in v / np.linalg.norm(v))


def sine(a: Axis, b: Axis) -> float:
    """Return the sine of the angle between two axes."""
    return float(np.linalg.norm(np.cross(a.h, b.h)))
