"""Arms with a closed form next to one that has none, because a calibration has moved its axes.

Axes of a wrist that pass each other meet in the nearest arm, and those that are parallel but for a
small angle become parallel. Each branch of its closed form is near to a solution of the arm itself,
to which Newton's steps lead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from robot_dynamics.foundation.arrays import Array, frozen
from robot_dynamics.foundation.lazy import imported
from robot_dynamics.kinematics.inverse.axis_chain import AxisChain
from robot_dynamics.kinematics.inverse.closed_form import ClosedForm, find_structure
from robot_dynamics.kinematics.inverse.closed_form_kernel import ClosedFormKernel
from robot_dynamics.kinematics.inverse.numeric_inverse import NumericSolver
from robot_dynamics.spatial import rotation_from_rpy

NEAR_M = 5e-3
"""Distance from a common point up to which axes nearly meet, m."""

NEAR_RAD = 2e-2
"""Angle up to which axes are nearly parallel, rad."""

TRIALS, AWAY = 16, 0.02
"""Poses around one that loses a branch, and how far they are away, m and rad."""

MISSED = 0.1
"""Residual of a branch up to which the other arm may nearly reach the pose."""

SAME = 1e-6
"""Difference of positions, rad or m, up to which two solutions are one."""


class NearbyArm:
    """Solutions of an arm next to the branches of another one.

    Where a branch is lost, because a singularity or the edge of the workspace is near, the closed
    form is started from poses around.

    Args:
        closed: The closed form of the other arm.
        numeric: Newton's steps of the arm.
    """

    def __init__(self, closed: ClosedFormKernel, numeric: NumericSolver) -> None:
        self.closed, self.numeric = closed, numeric

    def __call__(self, R: Array, p: Array) -> tuple[Array, Array]:
        """Return solutions of N poses, (N, s, n), and residuals (N, s), NaN where there is none."""
        branches = self.closed(R, p)
        found = np.full(branches.q.shape, np.nan), np.full(branches.residual.shape, np.nan)
        rng = imported("numpy.random").default_rng(0)
        self._add(found, slice(None), branches.q, R, p)
        near = branches.residual < MISSED
        for _ in range(TRIALS):
            rows = np.flatnonzero((near & np.isnan(found[1])).any(axis=1))
            if not rows.size:
                break
            turn, shift = rotation_from_rpy(rng.normal(0.0, AWAY, 3)), rng.normal(0.0, AWAY, 3)
            around = self.closed(R[rows] @ turn, p[rows] + shift)
            self._add(found, rows, around.q, R[rows], p[rows])
        return found

    def _add(
        self, found: tuple[Array, Array], rows: Any, starts: Array, R: Array, p: Array
    ) -> None:
        """Add the solutions that starts lead to, where they are new, in rows of `found`."""
        q, residual = (array[rows] for array in found)
        more, residuals = self.numeric.continued(starts, R, p)
        for k in range(more.shape[1]):
            away = q - more[:, k : k + 1]
            away = np.abs(np.where(self.numeric.chain.rotates, np.sin(0.5 * away), away))
            free = np.isnan(residual)
            new = ~(away.max(axis=2) < SAME).any(axis=1) & np.isfinite(residuals[:, k])
            new = np.flatnonzero(new & free.any(axis=1))
            place = np.where(free[new, k], k, free[new].argmax(axis=1))
            q[new, place], residual[new, place] = more[new, k], residuals[new, k]
        found[0][rows], found[1][rows] = q, residual


def nearby_closed_form(chain: AxisChain) -> tuple[AxisChain, ClosedForm] | None:
    """Return the nearest arm of a kind with a closed form, and that; or None."""
    for arm in _nearby_arms(chain):
        structure = find_structure(arm)
        if structure is not None:
            return arm, structure
    return None


def _nearby_arms(chain: AxisChain) -> Iterator[AxisChain]:
    n = len(chain)
    triples = [range(k, k + 3) for k in range(n - 2) if all(chain.rotates[k : k + 3])]
    for joints in reversed(triples):
        arm = _meeting(chain, joints)
        if arm is not None:
            yield arm
    for joints in triples:
        arm = _parallel(chain, joints)
        for others in (range(joints[-1] + 1, n), range(joints[0])):
            if arm is not None and len(others) == 2:
                arm = _meeting(arm, others)
        if arm is not None:
            yield arm


def _meeting(chain: AxisChain, joints: Sequence[int]) -> AxisChain | None:
    """Move axes to the point that they nearly meet in; None if they do not, or are parallel."""
    across = np.array([np.eye(3) - np.outer(h, h) for h in chain.h[joints]])
    feet = np.einsum("kij,kj->ki", across, chain.p[joints])
    point, _, rank, _ = np.linalg.lstsq(across.reshape(-1, 3), feet.ravel(), rcond=NEAR_RAD)
    if rank < 3 or np.linalg.norm(across @ point - feet, axis=1).max() > NEAR_M:
        return None
    p = chain.p.copy()
    p[joints] = across @ point  # nearest to the origin
    return replace(chain, p=frozen(p))


def _parallel(chain: AxisChain, joints: Sequence[int]) -> AxisChain | None:
    """Turn axes that are nearly parallel to their mean direction; None if they are not."""
    h = chain.h.copy()
    signs = np.sign(h[joints] @ h[joints[1]])
    mean = signs @ h[joints]
    mean /= np.linalg.norm(mean)
    if np.linalg.norm(np.cross(h[joints], mean), axis=1).max() > NEAR_RAD:
        return None
    h[joints] = np.outer(signs, mean)
    p = chain.p - h * np.sum(h * chain.p, axis=1, keepdims=True)
    return replace(chain, h=frozen(h), p=frozen(p))
