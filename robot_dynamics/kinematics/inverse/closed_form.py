"""Closed-form inverse kinematics of a chain, for the structures that its axes can have.

    wrist       the last k <= 3 axes meet in one point: up to three joints bring the point to its
                place (`positioning`), then the k turn the end effector
    inner wrist three axes inside, 2 to 4 or 3 to 5 of six, meet in one point
    parallel    three axes are parallel: the joints around them first, then a triangle in a plane

Each also from end effector to root: a shoulder whose axes meet is the wrist of the reversed chain.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics.kinematics.inverse.axis_chain import Axis, AxisChain, Displacement
from robot_dynamics.kinematics.inverse.equations.arm_angle import ArmAngleEquations
from robot_dynamics.kinematics.inverse.equations.parallel_axes import ParallelEquations
from robot_dynamics.kinematics.inverse.equations.partial_solutions import (
    Frees,
    NoClosedForm,
    Partial,
    StructureEquations,
)
from robot_dynamics.kinematics.inverse.equations.spherical_wrist import (
    InnerWristEquations,
    WristEquations,
)
from robot_dynamics.kinematics.inverse.subproblems import times


class ReversedEquations:
    """Equations of a structure seen from the end effector, for the inverse displacement."""

    def __init__(self, equations: StructureEquations, n: int) -> None:
        self.equations, self.n, self.quartic = equations, n, equations.quartic
        self.decisive = frozenset(n - 1 - k for k in equations.decisive)

    def solve(self, target: Displacement, free: Frees, given: Any = None) -> list[Partial]:
        """Return all motions of the joints, counted from the root."""
        found = self.equations.solve(target.inverse, free, given)
        return [self._seen_from_root(partial) for partial in found]

    def missed(self, partial: Partial, target: Displacement) -> Any:
        """See `StructureEquations.missed`."""
        return self.equations.missed(self._seen_from_root(partial), target.inverse)

    def _seen_from_root(self, partial: Partial) -> Partial:
        """Count joints from the other end."""
        return partial.renumbered(range(self.n)[::-1])


@dataclass(frozen=True, eq=False)
class ClosedForm:
    """Closed form of a chain, with a description.

    Args:
        description: In words, with the joints.
        equations: The closed form.
        parameter: Whether its equations take what is given beside the pose.
    """

    description: str
    equations: StructureEquations
    parameter: bool = False


def find_structure(chain: AxisChain) -> ClosedForm | None:
    """Find the closed form of a chain from its axes; return None if there is none.

    Where several fit, one without a quartic comes first, and a wrist before parallel axes before a
    shoulder.
    """
    return _best([make(chain) for make in _CANDIDATES])


def find_structure_around(chain: AxisChain, given: int) -> ClosedForm | None:
    """Find the closed form of a chain with the motion of an inner joint given, or None."""
    return _best([_wrist(chain, 3, backwards=back, given=given) for back in (False, True)])


def arm_angle_structure(chain: AxisChain) -> ClosedForm | None:
    """Return the closed form of an arm with an arm angle; None for other arms."""
    try:
        equations = ArmAngleEquations(chain.axes)
    except NoClosedForm:
        return None
    words = "spherical shoulder and spherical wrist, with the arm angle given"
    return ClosedForm(words, equations, parameter=True)


def _best(found: Sequence[ClosedForm | None]) -> ClosedForm | None:
    known = [structure for structure in found if structure is not None]
    return min(known, key=lambda structure: structure.equations.quartic, default=None)


def _wrist(
    chain: AxisChain, k: int, *, backwards: bool, given: int | None = None
) -> ClosedForm | None:
    axes = _reversed(chain.axes) if backwards else chain.axes
    names = ("wrist", "elbow", "shoulder") if backwards else ("shoulder", "elbow", "wrist")
    # seen from the end effector the point that has to be placed is the root's, which the end
    # effector knows nothing of: any point of the root link will do
    w = tuple(map(float, np.zeros(3) if backwards else chain.tool.translation))
    held = len(chain) - 1 - given if backwards and given is not None else given
    try:
        equations: StructureEquations = WristEquations(axes, k, names, w, held)
    except NoClosedForm:
        return None
    joints = chain.names[:k] if backwards else chain.names[len(chain) - k :]
    meet = f"the axes of {', '.join(joints)} meet in one point"
    what = meet if k > 1 else f"up to three joints before {joints[0]}" if k else "positions only"
    kind = ("spherical shoulder" if backwards else "spherical wrist") if k == 3 else "short arm"
    quartic = ", with a quartic" if equations.quartic else ""
    if backwards:
        equations = ReversedEquations(equations, len(chain))
    return ClosedForm(f"{kind}: {what}{quartic}", equations, parameter=given is not None)


def _parallel(chain: AxisChain, *, backwards: bool) -> ClosedForm | None:
    axes = _reversed(chain.axes) if backwards else chain.axes
    names = ("wrist", "elbow", "shoulder") if backwards else ("shoulder", "elbow", "wrist")
    try:
        equations = ParallelEquations(axes, names)
    except NoClosedForm:
        return None
    last = len(chain) - 1
    joints = [chain.names[last - k if backwards else k] for k in equations.turns]
    what = f"three parallel axes: {', '.join(joints[::-1] if backwards else joints)}"
    return ClosedForm(what, ReversedEquations(equations, len(chain)) if backwards else equations)


def _inner_wrist(chain: AxisChain, *, backwards: bool) -> ClosedForm | None:
    axes = _reversed(chain.axes) if backwards else chain.axes
    names = ("wrist", "elbow", "shoulder") if backwards else ("shoulder", "elbow", "wrist")
    try:
        equations: StructureEquations = InnerWristEquations(axes, names)
    except NoClosedForm:
        return None
    joints = ", ".join(chain.names[2:5] if backwards else chain.names[1:4])
    quartic = ", with a quartic" if equations.quartic else ""
    if backwards:
        equations = ReversedEquations(equations, len(chain))
    return ClosedForm(f"inner wrist: the axes of {joints} meet in one point{quartic}", equations)


_CANDIDATES: tuple[Callable[[AxisChain], ClosedForm | None], ...] = (
    functools.partial(_wrist, k=3, backwards=False),
    functools.partial(_parallel, backwards=False),
    functools.partial(_parallel, backwards=True),
    functools.partial(_wrist, k=3, backwards=True),
    functools.partial(_inner_wrist, backwards=False),
    functools.partial(_inner_wrist, backwards=True),
    *(
        functools.partial(_wrist, k=k, backwards=backwards)
        for k in (2, 1, 0)
        for backwards in (False, True)
    ),
)


def _reversed(axes: Sequence[Axis]) -> list[Axis]:
    """Return the axes of the inverse displacement: in reverse order and direction."""
    return [Axis(times(-1.0, axis.h), axis.p, axis.rotates) for axis in reversed(axes)]
