"""Inverse kinematics step by step: for arms without a closed form, and to polish one.

Damped Gauss-Newton (Levenberg-Marquardt with the damping of Sugihara, by the squared error), within
the joint limits, from several starts at once. Redundant arms are drawn to the middle of
their ranges in the null space of the task.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from robot_dynamics.arrays import Array, vector
from robot_dynamics.forking import imported
from robot_dynamics.kinematics.axis_chain import AxisChain

STARTS = 24
"""Searches side by side."""

STEPS = 30
"""Steps of a round of searches; most end after seven."""

CENTRED = 4
"""Steps that also draw to the middle of the ranges; later ones would keep it from converging."""

DAMPING = 0.05
"""Damping by squared error."""

ROUNDS = 20
"""Rounds of new starts before a search is given up."""

CONVERGED = 1e-10
"""Residual at which a search ends."""

POLISHED = (1e-11, 1e-4)
"""Residuals that a closed form leaves where axes meet or are parallel but for the digits of a URDF,
and near double roots."""

LOST = (1e-5, 1e-9)
"""Singular values, as parts of the largest, below which a direction is left alone: first where the
arm is singular, then where it is only nearly so."""


class NumericSolver:
    """The search for joint positions of a chain, for one pose."""

    def __init__(self, chain: AxisChain) -> None:
        self.chain = chain
        known = np.isfinite(chain.lower) & np.isfinite(chain.upper)
        self.lower = np.where(known, chain.lower, -np.pi)
        self.upper = np.where(known, chain.upper, np.pi)
        self.clip = np.where(known, chain.lower, -np.inf), np.where(known, chain.upper, np.inf)

    def solve(self, R: Array, p: Array, start: npt.ArrayLike | None = None) -> tuple[Array, float]:
        """Positions within the limits that come nearest to the pose, shape (n,), and residual."""
        n = len(self.chain)
        rng = imported("numpy.random").default_rng(0)
        best, least = np.zeros(n), np.inf
        for attempt in range(ROUNDS):
            q = rng.uniform(self.lower, self.upper, (STARTS, n))
            if attempt == 0:
                middle = 0.5 * (self.lower + self.upper)
                q[0] = middle if start is None else np.clip(vector("start", start, n), *self.clip)
            q, residual = self._descend(q, R, p)
            k = int(np.argmin(residual))
            if residual[k] < least:
                best, least = q[k], float(residual[k])
            if least <= CONVERGED:
                break
        return best, least

    def _descend(self, q: Array, R: Array, p: Array) -> tuple[Array, Array]:
        n = q.shape[1]
        middle, (low, high) = 0.5 * (self.lower + self.upper), self.clip
        for step in range(STEPS):
            error, J, residual = _error(self.chain, q, R, p)
            if residual.min() <= CONVERGED:
                break
            damping = DAMPING * (error**2).sum(axis=1) + 1e-12
            pull = np.einsum("nji,nj->ni", J, error)
            stopped = ((q <= low) & (pull < 0.0)) | ((q >= high) & (pull > 0.0))
            pull, J = np.where(stopped, 0.0, pull), np.where(stopped[:, None], 0.0, J)
            A = J.transpose(0, 2, 1) @ J + damping[:, None, None] * np.eye(n)
            if n > 6 and step < CENTRED:  # J^T J leaves the null space to the damping alone
                pull = pull + 0.2 * damping[:, None] * (middle - q)
            q = np.clip(q + np.linalg.solve(A, pull[..., None])[..., 0], low, high)
        return q, _error(self.chain, q, R, p)[2]


def polished(
    chain: AxisChain, q: Array, residual: Array, R: Array, p: Array
) -> tuple[Array, Array]:
    """Solutions of closed form, shape (N, s, n), brought to the last digits where they lack some.

    Returns:
        Positions and residuals.
    """
    for lost in LOST:
        rows = np.nonzero((residual > POLISHED[0]) & (residual < POLISHED[1]))
        if not rows[0].size:
            break
        at, R_at, p_at = q[rows], R[rows[0]], p[rows[0]]
        for _ in range(4):
            error, J, left = _error(chain, at, R_at, p_at)
            if left.max() < 0.1 * POLISHED[0]:
                break
            at = at + np.einsum("nij,nj->ni", np.linalg.pinv(J, rcond=lost), error)
        after = _error(chain, at, R_at, p_at)[2]
        better = after < residual[rows]
        q[rows] = np.where(better[:, None], at, q[rows])
        residual[rows] = np.where(better, after, residual[rows])
    return q, residual


def _error(chain: AxisChain, q: Array, R: Array, p: Array) -> tuple[Array, Array, Array]:
    """Displacement to the pose (N, 6), position over rotation vector, Jacobian, and residual."""
    R_q, p_q, J = chain.pose_and_jacobian(q)
    error = np.concatenate([p - p_q, _rotation_vector(R @ R_q.transpose(0, 2, 1))], axis=1)
    columns = (R_q - R)[:, :, :2]
    residual = np.sqrt(((p - p_q) ** 2).sum(axis=1) + (columns**2).sum(axis=(1, 2)))
    return error, J, residual


def _rotation_vector(R: Array) -> Array:
    """Axis times angle, shape (N, 3), rad; zero for half a turn, from which others start."""
    sine_axis = 0.5 * np.stack(
        [R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]], axis=1
    )
    sine = np.linalg.norm(sine_axis, axis=1)
    angle = np.arctan2(sine, 0.5 * (np.trace(R, axis1=1, axis2=2) - 1.0))
    return sine_axis * (angle / np.where(sine > 0.0, sine, 1.0))[:, None]
