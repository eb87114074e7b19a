"""Lines in space, such as joint axes, and their common normals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.arrays import Array

PARALLEL = 1e-9
"""Sine of an angle, or distance in m, below which lines count as parallel or coincident.

URDFs round right angles: with 10 digits, axes meant to be parallel differ by some 1e-10 rad.
"""

NEARLY_PARALLEL = 1e-3
"""Sine of an angle below which lines that are not parallel meet too far away for an origin.

Moments about a far origin are differences of large numbers.
"""


@dataclass(frozen=True, eq=False)
class Line:
    """A line through `point`, shape (3,), along the unit vector `direction`, shape (3,)."""

    point: Array
    direction: Array

    def nearest(self, p: Array) -> Array:
        """Point of the line nearest to p, shape (3,)."""
        return self.point + self.direction * (self.direction @ (p - self.point))

    def is_parallel_to(self, other: Line) -> bool:
        """Whether the directions are parallel or opposite."""
        return float(np.linalg.norm(np.cross(self.direction, other.direction))) < PARALLEL

    def coincides_with(self, other: Line) -> bool:
        """Whether both are one line."""
        away = other.point - self.nearest(other.point)
        return self.is_parallel_to(other) and float(np.linalg.norm(away)) < PARALLEL


@dataclass(frozen=True, eq=False)
class CommonNormal:
    """Common normal of the z axis of a link and another line.

    Args:
        foot: Where it meets the axis of the link, m along it; None for (nearly) parallel lines.
        direction: Unit vector towards the other line, shape (3,); None for coincident lines.
    """

    foot: float | None
    direction: Array | None


def common_normal(z: Array, line: Line) -> CommonNormal:
    """Common normal from the line through the origin along the unit vector z to another line."""
    n = np.cross(z, line.direction)
    sine = np.linalg.norm(n)
    if sine < PARALLEL:
        across = perpendicular(line.point, z)
        distance = np.linalg.norm(across)
        return CommonNormal(None, across / distance if distance > PARALLEL else None)
    n = n / sine
    if sine < NEARLY_PARALLEL:
        return CommonNormal(None, n)
    # foot z + distance n = point + t direction
    foot, _, distance = np.linalg.solve(np.column_stack([z, -line.direction, n]), line.point)
    return CommonNormal(float(foot), -n if distance < -PARALLEL else n)


def perpendicular(v: Array, z: Array) -> Array:
    """Part of a vector across the unit vector z, shape (3,)."""
    return v - z * (z @ v)
