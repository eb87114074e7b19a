"""What a closed form of a structure is, and by how much its solutions miss a pose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from robot_dynamics.kinematics.inverse.axis_chain import Axis, Displacement
from robot_dynamics.kinematics.inverse.equations.partial_solutions import (
    Partial,
)
from robot_dynamics.kinematics.inverse.equations.subproblems import Turn, Vector, dot, minus

Frees = tuple[Turn, Turn]
"""Turns of joints that may be anywhere: of the arm, and of the hand."""


class Equations(Protocol):
    """The closed form of one structure."""

    quartic: bool
    """Whether more than square roots are taken."""

    def solve(self, target: Displacement, free: Frees, given: Any = None) -> list[Partial]:
        """All motions of the joints, counted from 0, whose product is the displacement.

        Args:
            target: The displacement.
            free: Members of families.
            given: Motion of the joint, or turn of the arm, that is given beside the pose.
        """

    def missed(self, way: Partial, target: Displacement) -> Any:
        """Sum of squares by which motions miss the displacement; as of `missed_by`."""


Missed = Callable[[Partial, Displacement], Any]


def missed_by(
    axes: Sequence[Axis], between: tuple[int, int], directions: Sequence[Vector]
) -> Missed:
    """What says by how much motions miss a displacement.

    The sum of squares of the distance of one point, and of two directions at right angles, where
    they are and where they should be. Both are seen from among the joints: those from one number
    to the other against what the joints before and after leave of the target. That is what the
    solution was found with, and so most of it is computed already.

    Args:
        axes: All joints.
        between: Numbers of the first of them and behind the last.
        directions: Unit vectors at right angles.
    """
    start, end = between

    def missed(way: Partial, target: Displacement) -> Any:
        values = [way.values[k] for k in range(len(axes))]

        def left(v: Vector) -> Vector:  # of a direction of the target
            for k in range(end, len(axes)):
                v = axes[k].vector(v, axes[k].back(values[k]))
            v = target.vector(v)
            for k in range(start):
                v = axes[k].vector(v, axes[k].back(values[k]))
            return v

        there, here = target.b, target.a
        for k in range(start):
            there = axes[k].point(there, axes[k].back(values[k]))
        for k in reversed(range(start, len(axes))):
            here = axes[k].point(here, values[k])
        misses = [minus(here, there)]
        misses += [
            minus(_carried(axes[start:end], values[start:end], v), left(v)) for v in directions
        ]
        return sum((dot(miss, miss) for miss in misses), 0.0)

    return missed


def _carried(axes: Sequence[Axis], values: Sequence[Any], v: Vector) -> Vector:
    """A direction after the motions of joints; turns about parallel axes are made as one."""
    k = len(axes)
    while k:
        k -= 1
        axis, value = axes[k], values[k]
        while k and axis.rotates and axes[k - 1].rotates and axes[k - 1].h == axis.h:
            k -= 1
            value = values[k].then(value)
        v = axis.vector(v, value)
    return v
