"""Weighted least squares on all joints at once, iterated against outliers.

The unknowns are base parameters, rotor inertias and friction of all drives, a column each.
Each joint is weighted by the size of its own residuals, those of samples in which it stands apart
from the others: friction at rest may be anything up to its limit, and such samples are ignored
then. Outliers have less weight (Huber). Parameters that a motion does not excite keep their prior
values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from robot_dynamics.foundation.arrays import Array

HUBER = 2.0
"""Standard deviations beyond which the influence of a residual is constant."""

FEWEST = 30
"""Fewest moving samples from which a standard deviation is estimated."""

INDEPENDENT = 1e-10
"""Smallest relative eigenvalue of the scaled normal equations that counts as excited."""


@dataclass(frozen=True, eq=False)
class Problem:
    """tau = X z + noise.

    Args:
        X: Shape (N, n, c).
        tau: Efforts, shape (N, n).
        prior: Values where data say nothing, shape (c,).
        usable: Whether a sample of a joint counts, shape (N, n).
        moving: Whether friction at rest has no part in it, shape (N, n).
        shift: By how much all of tau may be off together, shape (N, n), if at all.
    """

    X: Array
    tau: Array
    prior: Array
    usable: Array
    moving: Array
    shift: Array | None = None


@dataclass(frozen=True, eq=False)
class Estimate:
    """Result of the least squares.

    Args:
        z: Values, shape (c,).
        covariance: Of z, shape (c, c), zero where data say nothing.
        undetermined: Where data say nothing, shape (c,).
        sigma: Standard deviation of a sample of each joint, shape (n,).
        weight: Of every sample, shape (N, n): from 0 to 1.
        independent: Correlation time of each joint, samples, shape (n,).
        residual: tau - X z, shape (N, n).
    """

    z: Array
    covariance: Array
    undetermined: Array
    sigma: Array
    weight: Array
    independent: Array
    residual: Array

    @property
    def deviation(self) -> Array:
        """Standard deviations, shape (c,); infinite where data say nothing."""
        variance = np.maximum(np.diag(self.covariance), 0.0)
        return np.where(self.undetermined, np.inf, np.sqrt(variance))

    @property
    def sample_weight(self) -> Array:
        """Inverse variance of every sample, correlation in time counted, shape (N, n)."""
        return self.weight / (self.sigma**2 * self.independent)


def estimate(problem: Problem, iterations: int = 6) -> Estimate:
    """Solve a problem.

    Args:
        problem: With N n rows.
        iterations: Of weights.
    """
    n = problem.tau.shape[1]
    size = np.sqrt(np.mean(problem.tau**2, axis=0)) + 1e-9
    sigma = 0.1 * size
    weight = problem.usable.astype(float)
    for _ in range(iterations):
        z = solved(*normal(problem, weight / sigma**2), problem.prior)
        residual = problem.tau - problem.X @ z
        deviation = np.maximum(_deviations(problem, residual), 1e-6 * size)
        sigma = deviation.min(axis=0)
        far = np.abs(residual) / (HUBER * deviation)
        weight = problem.usable * (sigma / deviation) ** 2 / np.maximum(1.0, far)
    times = np.array([correlation_time(weight[:, j] * residual[:, j]) for j in range(n)])
    found = _covariance(problem, weight / sigma**2, residual, times)
    return Estimate(z, *found, sigma, weight, times, residual)


def normal(
    problem: Problem, weight: Array, rows: Array | slice = slice(None)
) -> tuple[Array, Array]:
    """Normal matrix (c, c) and right-hand side (c,) of some samples."""
    c = problem.X.shape[2]
    root = np.sqrt(weight[rows])
    A = (problem.X[rows] * root[:, :, None]).reshape(-1, c)
    return A.T @ A, A.T @ (problem.tau[rows] * root).reshape(-1)


def solved(gram: Array, right: Array, prior: Array) -> Array:
    """Solve gram z = right for z, at the prior in directions that gram does not determine."""
    scale, values, vectors = _eigen(gram)
    seen = values > INDEPENDENT * values[-1]
    V = vectors[:, seen]
    change = V @ ((V.T @ ((right - gram @ prior) / scale)) / values[seen])
    return np.asarray(prior + change / scale)


def held_out(problem: Problem, fit: Estimate, blocks: Sequence[Array]) -> Array:
    """Return residuals of every block by a model fitted without it, shape (N, n)."""
    weight = fit.weight / fit.sigma**2
    parts = [normal(problem, weight, rows) for rows in blocks]
    gram, right = (np.sum([part[i] for part in parts], axis=0) for i in (0, 1))
    residual = fit.residual.copy()
    for rows, (G, r) in zip(blocks, parts, strict=True):
        z = solved(gram - G, right - r, problem.prior)
        residual[rows] = problem.tau[rows] - problem.X[rows] @ z
    return residual


def correlation_time(residual: Array) -> float:
    """Return the correlation time in samples: 1 + 2 sum of autocorrelations, at least 1."""
    x = residual - residual.mean()
    N = len(x)
    spectrum = np.abs(np.fft.rfft(x, 2 * N)) ** 2
    rho = np.fft.irfft(spectrum)[: N // 2]
    if rho[0] <= 0.0:
        return 1.0
    rho = rho / rho[0]
    end = int(np.argmax(rho < 0.05)) or len(rho)
    return float(max(1.0, 1.0 + 2.0 * rho[1:end].sum()))


def _deviations(problem: Problem, residual: Array) -> Array:
    """Return the standard deviation of every sample, (N, n), at rest at least that of motion."""
    deviation = np.empty_like(residual)
    for j, left in enumerate(residual.T):
        moving, usable = problem.moving[:, j], problem.usable[:, j]
        stands, known = usable & ~moving, usable & moving
        least = _robust_deviation(left[known if known.sum() >= FEWEST else usable])
        deviation[:, j] = np.where(moving, least, max(least, _robust_deviation(left[stands])))
    return deviation


def _robust_deviation(residual: Array) -> float:
    """Return the median absolute deviation, scaled, or a third of the plain one if larger."""
    if not len(residual):
        return 1.0
    middle = 1.4826 * float(np.median(np.abs(residual)))
    return max(middle, float(residual.std()) / 3.0)


def _covariance(
    problem: Problem, weight: Array, residual: Array, times: Array
) -> tuple[Array, Array]:
    """Return the covariance and what data say nothing of.

    It is the sandwich estimator ([White1980]), and the effect of a shift.
    """
    gram, _ = normal(problem, weight)
    meat, _ = normal(problem, (weight * residual) ** 2 * times)
    scale, values, vectors = _eigen(gram)
    seen = values > INDEPENDENT * values[-1]
    inverse = (vectors[:, seen] / values[seen]) @ vectors[:, seen].T
    covariance = inverse @ (meat / np.outer(scale, scale)) @ inverse / np.outer(scale, scale)
    if problem.shift is not None:
        _, right = normal(replace(problem, tau=problem.shift), weight)
        shift = inverse @ (right / scale) / scale
        covariance = covariance + np.outer(shift, shift)
    return covariance, undetermined(gram)


def undetermined(gram: Array) -> Array:
    """Return which unknowns a normal matrix does not determine, shape (c,)."""
    _, values, vectors = _eigen(gram)
    return np.asarray((vectors[:, values <= INDEPENDENT * values[-1]] ** 2).sum(axis=1) > 1e-3)


def _eigen(gram: Array) -> tuple[Array, Array, Array]:
    scale = np.sqrt(np.diag(gram))
    scale = np.where(scale > 1e-9 * scale.max(initial=1e-300), scale, np.inf)
    values, vectors = np.linalg.eigh(gram / np.outer(scale, scale))
    return scale, values, vectors
