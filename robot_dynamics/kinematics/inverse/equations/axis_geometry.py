"""Relations between the axes of a chain: which meet, which are parallel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from robot_dynamics.kinematics.inverse.axis_chain import Axis
from robot_dynamics.kinematics.inverse.equations.partial_solutions import (
    SAME,
    NoClosedForm,
)
from robot_dynamics.kinematics.inverse.equations.subproblems import Vector

MEETING_M = 1e-7
"""Distance, m, below which axes count as meeting; what that leaves is polished away."""


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
    if rank < 3 or np.abs(normal @ point - right).max() > MEETING_M:
        raise NoClosedForm("axes of a wrist meet in one point")
    return tuple(float(x) for x in np.where(np.abs(point) < 1e-12, 0.0, point))


def across(h: Vector) -> Vector:
    """A unit vector across another one, of few numbers."""
    e = np.eye(3)[int(np.argmin(np.abs(np.array(h))))]
    v = np.cross(h, e)
    return tuple(float(x) for x in v / np.linalg.norm(v))


def parallel_runs(axes: Sequence[Axis]) -> Iterator[tuple[int, int]]:
    """Start and end of the longest runs of parallel axes, slides along them included."""
    start = 0
    while start < len(axes):
        end = start + 1
        while end < len(axes) and sine(axes[start], axes[end]) < SAME:
            end += 1
        yield start, end
        start = end


def sine(a: Axis, b: Axis) -> float:
    """Sine of the angle between two axes."""
    return float(np.linalg.norm(np.cross(a.h, b.h)))
