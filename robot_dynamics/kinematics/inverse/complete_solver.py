"""All solutions of arms without a closed form here, by the optional package `ssik`."""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.errors import RobotError
from robot_dynamics.kinematics.inverse.axis_chain import AxisChain
from robot_dynamics.lazy import imported


class CompleteSolver:
    """Every solution for a pose of six or seven revolute joints; of seven, a sample of them.

    Args:
        chain: The joints.

    Raises:
        RobotError: If there are other joints, or `ssik` is not installed or does not take them.
    """

    def __init__(self, chain: AxisChain) -> None:
        if len(chain) not in (6, 7) or not all(chain.rotates):
            raise RobotError(
                f"solver 'ssik' takes six or seven revolute joints, not {len(chain)} of which "
                f"{sum(chain.rotates)} are revolute; take solver='numeric'"
            )
        try:
            ssik = imported("ssik")
        except ImportError:
            raise RobotError(
                "solver 'ssik' needs the package ssik; install it with 'pip install ssik'"
            ) from None
        self.chain = chain
        ends = [chain.p[:1], np.diff(chain.p, axis=0), chain.tool.translation - chain.p[-1:]]
        limits = np.column_stack([chain.lower, chain.upper])
        limits = np.where(np.isfinite(limits), limits, [-np.pi, np.pi])
        try:
            self._arm: Any = ssik.Manipulator.from_axes(chain.h, np.vstack(ends), limits=limits)
        except ValueError as error:
            raise RobotError(f"solver 'ssik' does not take this arm: {error}") from None

    def solve(self, R: Array, p: Array) -> Array:
        """Joint positions for N poses, shape (N, s, n), NaN where there are fewer solutions."""
        found = [self._one(*pose) for pose in zip(R, p, strict=True)]
        q = np.full((len(R), max(map(len, found), default=0), len(self.chain)), np.nan)
        for row, solutions in zip(q, found, strict=True):
            row[: len(solutions)] = solutions
        return q

    def _one(self, R: Array, p: Array) -> Array:
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = R @ self.chain.tool.rotation.T, p
        found = self._arm.solve(T, respect_limits="wrap", enumerate_windings=False)
        return np.array([solution.q for solution in found]).reshape(-1, len(self.chain))
