"""Solutions of inverse kinematics for a pose, or for many, and why there are none."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.foundation.arrays import Array
from robot_dynamics.kinematics.inverse.equations.partial_solutions import Partial, SolutionStep

REACHED = 1e-9
"""Residual up to which a solution reproduces its pose."""

FREE = 1e-14
"""Product of distances from an axis, m^2 or without unit, below which its joint may turn freely: a
double root is known to half of all digits."""


class _Fields(NamedTuple):
    q: Array
    branch: tuple[str, ...]
    residual: Array
    within_limits: Array
    valid: Array
    why: Any
    motion: Any
    pose: bytes | None = None


class InverseSolutions(_Fields):
    """Joint positions that bring a frame to a pose; for N poses every array has a leading N.

    Flags of one pose may be shared with other results, and cannot be written to then.

    Attributes:
        q: Shape (s, n), rad or m, one row per solution. For N poses shape (N, s, n), one row per
            branch, NaN where the branch does not reach the pose.
        branch: Name of every row.
        residual: Distance from the pose, shape (s,): root of the squares by which the position (m)
            and two directions of the end effector at right angles are missed. With a selection, by
            which its directions are: the position along them, m, one free axis, or the angle about
            one selected axis, rad. NaN where q is.
        within_limits: Whether all joints are within their limits, shape (s,).
        valid: Whether the row reproduces the pose to 1e-9, shape (s,).
        why: `reason`, or a function of `pose` that finds it when it is read.
        motion: `self_motion`, or a function of `pose` that finds it when it is read.
        pose: Rotation, position and redundant position of a single special pose, as bytes.
    """

    __slots__ = ()

    @property
    def reason(self) -> Any:
        """Why there is no solution, None where there is one; shape () or (N,), text."""
        return self.why(self.pose) if callable(self.why) else self.why

    @property
    def self_motion(self) -> Array:
        """At a degenerate pose, which joint may move, how far, others following; None elsewhere.

        The row is one point of that self-motion, which the argument `free` selects.
        """
        found: Array = self.motion(self.pose) if callable(self.motion) else self.motion
        return found

    def __repr__(self) -> str:
        names = (*self._fields[:5], "reason", "self_motion")
        return f"InverseSolutions({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return InverseSolutions, (*self[:5], self.reason, self.self_motion)

    def one(self) -> InverseSolutions:
        """Return the solutions of the only pose of N = 1."""
        rows = self.valid[0].nonzero()[0]
        return InverseSolutions(
            self.q[0, rows],
            tuple([self.branch[k] for k in rows.tolist()]),
            self.residual[0, rows],
            self.within_limits[0, rows],
            self.valid[0, rows],
            lambda _: self.reason[0],
            functools.cache(lambda _: self.self_motion[0, rows]),
        )


def reason_of(partials: list[Partial], residual: Array, names: tuple[str, ...]) -> str:
    """Explain by how much the nearest of the ways misses its pose."""
    missed = [step for partial in partials for step in _first_missed(partial)]
    if not missed:
        return (
            f"{len(names)} joints do not reach every pose: the nearest solution misses it by "
            f"{np.nanmin(residual):.3g}; leave directions free by a "
            "selection, such as x,y,z (--selection x,y,z)"
        )
    step = min(missed, key=_miss)
    joint = names[step.joint]
    if step.surface:
        return (
            f"out of reach for '{joint}': its path misses the surface that two other joints "
            f"sweep; the nearest solution misses the pose by {np.nanmin(residual):.3g} m"
        )
    if step.reach is not None:
        middle, half = step.reach
        actual = np.sqrt(middle + half * step.d)
        limit = np.sqrt(max(middle + half * np.copysign(step.size, step.d), 0.0))
        side = "outside" if actual > limit else "inside"
        return (
            f"out of reach for '{joint}': {actual:.6g} m away, {side} the sphere of radius "
            f"{limit:.6g} m, which is missed by {abs(actual - limit):.3g} m"
        )
    return (
        f"out of reach for '{joint}': its circle of radius {step.size:.6g}{step.unit} is missed "
        f"by {_miss(step):.3g}{step.unit}"
    )


def _first_missed(partial: Partial) -> list[SolutionStep]:
    return [step for step in partial.steps if _miss(step) > REACHED][:1]


def _miss(step: SolutionStep) -> float:
    return float(np.abs(step.d) - step.size) if step.name else 0.0


def lever_of(step: SolutionStep) -> Any:
    """Return the product of two distances from the axis of a joint, which is free where it is 0."""
    return step.size * step.size + step.d * step.d if step.name else step.size
