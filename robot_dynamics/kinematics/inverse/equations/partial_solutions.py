"""Partial solutions: motions of some joints, their equations, and how far they miss a pose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from robot_dynamics.kinematics.inverse.axis_chain import Axis, Displacement
from robot_dynamics.kinematics.inverse.subproblems import (
    Crossing,
    Turn,
    Vector,
    dot,
    minus,
)

SAME = 1e-8
"""Ratio below which a coefficient counts as zero; what that leaves is polished away."""


class NoClosedForm(Exception):
    """Joints without a closed form."""


class SolutionStep(NamedTuple):
    """One equation on the way to a solution.

    Attributes:
        joint: Joint that it gives, counted in the chain it was solved in.
        name: "shoulder", "elbow" or "wrist" where there are two solutions, else "".
        sign: "+" or "-", or "".
        size: Radius of the circle, or lever of the joint: where it vanishes the joint is free.
        d: Where the line lies that must cross the circle; 0 where nothing can be missed.
        reach: For a sphere about a joint: the squared distance in the middle and half the change
            of it with `d`.
        unit: Of `size` and `d`.
        surface: Whether it is to meet the surface that two other joints sweep, as a slide that has
            two solutions is: `size` and `d` are no lengths.
    """

    joint: int
    name: str
    sign: str
    size: Any
    d: Any = 0.0
    reach: tuple[float, float] | None = None
    unit: str = " m"
    surface: bool = False


class Partial(NamedTuple):
    """Motions of some joints by number, and the steps that led to them."""

    values: dict[int, Any]
    steps: tuple[SolutionStep, ...]

    def extended(self, joint: int, value: Any, step: SolutionStep) -> Partial:
        """Add one more joint."""
        return Partial({**self.values, joint: value}, (*self.steps, step))

    def renumbered(self, numbers: Sequence[int]) -> Partial:
        """Give every joint another number."""
        values = {numbers[k]: x for k, x in self.values.items()}
        return Partial(values, tuple(s._replace(joint=numbers[s.joint]) for s in self.steps))

    def around(self, joint: int, value: Any) -> Partial:
        """Insert a joint; the numbers of the joints from there on grow by one."""
        partial = self.renumbered([k + (k >= joint) for k in range(len(self.values))])
        return Partial({**partial.values, joint: value}, partial.steps)


def branches(
    joint: int, name: str, found: Crossing, reach: Any = None, unit: str = " m"
) -> list[tuple[Any, SolutionStep]]:
    """Return the solutions of one equation, each with its step."""
    if len(found.solutions) == 1:
        return [(found.solutions[0], SolutionStep(joint, "", "", found.size, found.d))]
    slides = not isinstance(found.solutions[0], Turn)
    return [
        (value, SolutionStep(joint, name, sign, found.size, found.d, reach, unit, slides))
        for sign, value in zip("+-", found.solutions, strict=True)
    ]


# -- equations of a structure --------------------------------------------------------------------


class Frees(NamedTuple):
    """Values that equations take where their data leave them open.

    Attributes:
        arm: Turn of a joint of the arm that may be anywhere.
        end_effector: Turn of a joint of the end effector that may be anywhere.
        touching: See `circle_and_line`.
    """

    arm: Turn
    end_effector: Turn
    touching: float = 0.0


class StructureEquations(Protocol):
    """The closed form of one structure."""

    quartic: bool
    """True if the closed form takes more than square roots."""

    decisive: frozenset[int]
    """Joints that, where they are free, may let others reach the pose only from some angles; and
    whose angle in `free` the closed form takes as it is."""

    def solve(self, target: Displacement, free: Frees, given: Any = None) -> list[Partial]:
        """Return all motions of the joints, counted from 0, whose product is the displacement.

        Args:
            target: The displacement.
            free: The free angles.
            given: Motion of the joint, or turn of the arm, that is given beside the pose.
        """

    def missed(self, partial: Partial, target: Displacement) -> Any:
        """Return the sum of squares by which motions miss the displacement; see `missed_by`."""


Missed = Callable[[Partial, Displacement], Any]


def missed_by(
    axes: Sequence[Axis], between: tuple[int, int], directions: Sequence[Vector]
) -> Missed:
    """Return the function that measures by how much motions miss a displacement.

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

    def missed(partial: Partial, target: Displacement) -> Any:
        values = [partial.values[k] for k in range(len(axes))]

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
    """Return a direction after the motions of joints; turns about parallel axes are joined."""
    k = len(axes)
    while k:
        k -= 1
        axis, value = axes[k], values[k]
        while k and axis.rotates and axes[k - 1].rotates and axes[k - 1].h == axis.h:
            k -= 1
            value = values[k].then(value)
        v = axis.vector(v, value)
    return v
