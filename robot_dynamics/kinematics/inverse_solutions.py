"""What inverse kinematics finds for a pose, or for many."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.kinematics.axis_chain import AxisChain
from robot_dynamics.kinematics.positioning import Partial, Step

REACHED = 1e-9
"""Residual up to which a solution reproduces its pose."""

FREE = 1e-18
"""Product of distances from an axis, m^2 or without unit, below which its joint may turn freely."""


@dataclass(frozen=True, eq=False)
class InverseSolutions:
    """Joint positions that bring a frame to a pose; for N poses every array has a leading N.

    Attributes:
        q: Shape (s, n), rad or m, one row per solution. For N poses shape (N, s, n), one row per
            branch, NaN where the branch does not reach the pose.
        branch: Name of every row.
        residual: Distance from the pose, shape (s,): root of the squares of position (m) and of
            two columns of the rotation matrix. NaN where q is.
        within_limits: Whether all joints are within their limits, shape (s,).
        valid: Whether the row reproduces the pose to 1e-9, shape (s,).
        reason: Why there is no solution, None where there is one; shape () or (N,), text.
        family: At a degenerate pose, which joint may be anywhere in that row, others following; the
            row is one of the family, which the argument `free` goes through. None elsewhere.
    """

    q: Array
    branch: tuple[str, ...]
    residual: Array
    within_limits: Array
    valid: Array
    reason: Any
    family: Array

    def one(self) -> InverseSolutions:
        """The only pose of N = 1, its solutions alone."""
        rows = np.flatnonzero(self.valid[0])
        return InverseSolutions(
            q=self.q[0, rows],
            branch=tuple(self.branch[k] for k in rows),
            residual=self.residual[0, rows],
            within_limits=self.within_limits[0, rows],
            valid=self.valid[0, rows],
            reason=self.reason[0],
            family=self.family[0, rows],
        )


def within_limits(chain: AxisChain, q: Array) -> tuple[Array, Array]:
    """Positions with the turn that the limits allow, shape (..., n), and whether they are within.

    An angle stays where it is in (-pi, pi], if it is within its limits or no other turn is. The
    array itself is changed.
    """
    lower, upper = chain.lower - REACHED, chain.upper + REACHED
    inside = (lower <= q) & (q <= upper)
    if not inside.all():
        rows = np.nonzero(~inside & np.isfinite(lower) & chain.rotates)
        low, angle = lower[rows[-1]], q[rows]
        turned = angle + 2.0 * np.pi * np.ceil((low - angle) / (2.0 * np.pi))
        fits = turned <= upper[rows[-1]]
        q[rows] = np.where(fits, turned, angle)
        inside[rows] = fits
    return q, np.all(inside, axis=-1, keepdims=True)[..., 0]


def all_turns(chain: AxisChain, q: Array) -> Array:
    """Every position within the limits that differs from q by whole turns, shape (m, n).

    Joints without limits stay within one turn.
    """
    choices = []
    for k, x in enumerate(q):
        lower, upper = chain.lower[k] - REACHED, chain.upper[k] + REACHED
        if not (chain.rotates[k] and np.isfinite(lower) and np.isfinite(upper)):
            choices.append([x] if lower <= x <= upper else [])
            continue
        first = int(np.ceil((lower - x) / (2.0 * np.pi)))
        last = int(np.floor((upper - x) / (2.0 * np.pi)))
        choices.append([x + 2.0 * np.pi * turn for turn in range(first, last + 1)])
    return np.array(list(itertools.product(*choices))).reshape(-1, len(q))


def reason_of(ways: list[Partial], residual: Array, names: tuple[str, ...]) -> str:
    """Why none of the ways reaches its pose: what is missed by the one that comes nearest."""
    missed = [step for way in ways for step in _first_missed(way)]
    if not missed:
        return (
            f"{len(names)} joints do not reach every pose: the nearest solution misses it by "
            f"{np.nanmin(residual):.3g}"
        )
    step = min(missed, key=_miss)
    joint = names[step.joint]
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


def family_of(way: Partial, names: tuple[str, ...]) -> str | None:
    """Which joint is free in a solution at a degenerate pose."""
    free = [step for step in way.steps if _lever(step) < FREE]
    if not free:
        return None
    return f"joint '{names[free[0].joint]}' may be anywhere, and others follow"


def _first_missed(way: Partial) -> list[Step]:
    return [step for step in way.steps if _miss(step) > REACHED][:1]


def _miss(step: Step) -> float:
    return float(np.abs(step.d) - step.size) if step.name else 0.0


def _lever(step: Step) -> float:
    return float(step.size**2 if step.name else step.size)
