"""Closed form of an arm of seven joints built like a human one, with the arm angle given.

Three axes meet in the shoulder, three in the wrist, and the elbow stands between. With the end
effector held the elbow goes round the line from shoulder to wrist. The arm angle says where it is,
counted about that line from the plane that holds the first axis, on the side to which that points.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from robot_dynamics.kinematics.inverse.axis_chain import Axis, Displacement
from robot_dynamics.kinematics.inverse.equations.partial_solutions import (
    SAME,
    Frees,
    NoClosedForm,
    Partial,
    branches,
    missed_by,
)
from robot_dynamics.kinematics.inverse.equations.positioning import nearest
from robot_dynamics.kinematics.inverse.equations.spherical_wrist import (
    across,
    at_right_angles,
    common_point,
    sine,
    three_turns,
)
from robot_dynamics.kinematics.inverse.subproblems import (
    TINY,
    Turn,
    Vector,
    circle_and_line,
    cross,
    dot,
    minus,
    plus,
    times,
)

ARM_ANGLE = "arm angle"
"""Name of the arm angle, in place of that of a redundant joint."""


class ArmAngleEquations:
    """Seven revolute axes: three through the shoulder, the elbow, three through the wrist."""

    quartic = False

    def __init__(self, axes: Sequence[Axis]) -> None:
        if len(axes) != 7 or not all(axis.rotates for axis in axes):
            raise NoClosedForm("an arm angle needs seven revolute joints")
        self.shoulder, self.elbow, self.wrist = axes[:3], axes[3], axes[4:]
        for three in (self.shoulder, self.wrist):
            if any(sine(a, b) < SAME for a, b in itertools.pairwise(three)):
                raise NoClosedForm("neighbouring axes of a shoulder or wrist are not parallel")
        self.s, self.w = common_point(self.shoulder), common_point(self.wrist)
        self.e = minus(nearest(self.elbow, self.shoulder[2]), self.s)
        reaches = at_right_angles(*self.shoulder) and at_right_angles(*self.wrist)
        self.decisive = frozenset(() if reaches else range(7))
        last = axes[-1].h
        self.missed = missed_by(axes, (4, 7), (last, across(last)))

    def solve(self, target: Displacement, free: Frees, given: Any = None) -> list[Partial]:
        """Return all motions of the joints; `given` is the turn by the arm angle."""
        line = minus(target.point(self.w), self.s)
        u, v, h = minus(self.w, self.elbow.p), minus(self.s, self.elbow.p), self.elbow.h
        # the distance from shoulder to wrist is that of u, turned, from v
        along, squares = dot(h, u) * dot(h, v), dot(u, u) + dot(v, v)
        k = 1.0 / np.sqrt(max(dot(u, u), dot(v, v)))
        found = circle_and_line(
            k * (dot(u, v) - along),
            k * dot(v, cross(h, u)),
            0.5 * k * (squares - dot(line, line)) - k * along,
            free.arm,
            free.touching,
        )
        reach = (squares - 2.0 * along, -2.0 / k)
        there = self._triad(line, self._raised(line, given))
        return [
            solution
            for turn, step in branches(3, "elbow", found, reach)
            for solution in self._turns(Partial({3: turn}, (step,)), target, there, free)
        ]

    def angle(self, motions: Sequence[Turn]) -> Any:
        """Return the arm angle of the motions of all joints, rad."""
        elbow, wrist = plus(self.e, self.s), self.w
        for k in (3, 2, 1, 0):
            wrist = (*self.shoulder, self.elbow)[k].point(wrist, motions[k])
            elbow = self.shoulder[k].point(elbow, motions[k]) if k < 3 else elbow
        line = minus(wrist, self.s)
        side, out = self._raised(line, Turn(1.0, 0.0)), minus(elbow, self.s)
        return np.arctan2(dot(cross(_unit(line), side), out), dot(side, out))

    def _raised(self, line: Vector, angle: Turn) -> Vector:
        """Return the direction of the elbow from the line: the first axis, turned about it."""
        axis, unit = self.shoulder[0].h, _unit(line)
        side = plus(minus(axis, times(dot(axis, unit), unit)), times(TINY, across(axis)))
        return plus(times(angle.c, side), times(angle.s, cross(unit, side)))

    @staticmethod
    def _triad(line: Vector, aside: Vector) -> tuple[Vector, Vector, Vector]:
        """Return unit vectors along a line, beside it, and across both."""
        first = _unit(line)
        second = _unit(minus(aside, times(dot(first, aside), first)))
        return first, second, cross(first, second)

    def _turns(
        self, partial: Partial, target: Displacement, there: Sequence[Vector], free: Frees
    ) -> list[Partial]:
        """Place elbow and wrist by the shoulder, then turn the end effector by the wrist."""
        turn = partial.values[3]
        line = minus(self.elbow.point(self.w, turn), self.s)
        # where the arm is straight no elbow is aside
        here = self._triad(line, plus(self.e, times(TINY, cross(line, self.elbow.h))))

        def placed(v: Vector) -> Vector:  # by the shoulder
            return _moved(v, here, there)

        def left(v: Vector) -> Vector:  # of a vector of the target, for the wrist
            return self.elbow.vector(_moved(target.vector(v), there, here), turn.back)

        return [
            solution
            for part in three_turns(self.shoulder, 0, "shoulder", partial, placed, free.arm)
            for solution in three_turns(self.wrist, 4, "wrist", part, left, free.end_effector)
        ]


def _moved(v: Vector, here: Sequence[Vector], there: Sequence[Vector]) -> Vector:
    """Return the vector with the components in the second triad that v has in the first."""
    parts = [times(dot(a, v), b) for a, b in zip(here, there, strict=True)]
    return plus(parts[0], plus(parts[1], parts[2]))


def _unit(v: Vector) -> Vector:
    return times(1.0 / np.sqrt(dot(v, v) + TINY * TINY), v)
