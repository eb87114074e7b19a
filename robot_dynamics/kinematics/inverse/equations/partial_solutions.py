"""Motions of some joints on the way to all of them, and the equations that gave them."""

from __future__ import annotations

from typing import Any, NamedTuple

from robot_dynamics.kinematics.inverse.equations.subproblems import Crossing

SAME = 1e-8
"""Ratio below which a coefficient counts as zero; what that leaves is polished away."""


class NoClosedForm(Exception):
    """Joints that there is no closed form for."""


class Step(NamedTuple):
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
        surface: Whether it is to meet the surface that two other joints sweep: `d` is no length.
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
    steps: tuple[Step, ...]

    def extended(self, joint: int, value: Any, step: Step) -> Partial:
        """With one more joint."""
        return Partial({**self.values, joint: value}, (*self.steps, step))

    def around(self, joint: int, value: Any) -> Partial:
        """With a joint between, so that those from its number on count one more."""
        values = {k + (k >= joint): x for k, x in self.values.items()}
        steps = (step._replace(joint=step.joint + (step.joint >= joint)) for step in self.steps)
        return Partial({**values, joint: value}, tuple(steps))


def branches(
    joint: int, name: str, found: Crossing, reach: Any = None, unit: str = " m"
) -> list[tuple[Any, Step]]:
    """The solutions of one equation, each with its step."""
    if len(found.solutions) == 1:
        return [(found.solutions[0], Step(joint, "", "", found.size, found.d))]
    return [
        (value, Step(joint, name, sign, found.size, found.d, reach, unit))
        for sign, value in zip("+-", found.solutions, strict=True)
    ]
