"""The physically consistent inertias nearest to the data.

An inertia is physically consistent if and only if its 4x4 pseudo-inertia is positive definite
([Wensing2018]). With
J = L S L^T and L L^T the pseudo-inertia of the URDF, S is the identity for what the URDF
says, S > 0 is the condition, and |S - 1|_F is the distance of the bodies, measured where the
URDF is ([Lee2020], the constant pullback of the Riemannian metric). Least squares over all
S with the squared distance as prior is a convex programme: where the data are silent the
URDF speaks, and the mass matrix is positive definite at every pose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics.errors import RecordingError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.lazy import needed
from robot_dynamics.identification.link_inertias import (
    LinkInertias,
    parameters_of,
)
from robot_dynamics.spatial import pseudo_inertia

PRIOR = 0.5
"""Standard deviation of the prior: bodies of a URDF are right to within a half."""

LEAST = 1e-3
"""Smallest eigenvalue of S: how far a body may shrink towards a point or a sheet."""

UNCHANGED = 1e-6
"""Relative change of a body that is the solver's and not the data's."""

_PAIRS = [(a, b) for a in range(4) for b in range(a + 1)]


@dataclass(frozen=True, eq=False)
class Quadratic:
    """Data term |R z - d|^2 of z = (base values, other columns), in standard deviations.

    Args:
        R: Shape (r, c).
        d: Shape (r,).
    """

    R: Array
    d: Array

    @staticmethod
    def of(gram: Array, right: Array) -> Quadratic:
        """From normal equations."""
        scale = np.sqrt(np.maximum(np.diag(gram), 1e-30))
        values, V = np.linalg.eigh(gram / np.outer(scale, scale))
        kept = values > 1e-13 * values[-1]
        root = np.sqrt(values[kept])
        return Quadratic((V[:, kept] * root).T * scale, (V[:, kept] / root).T @ (right / scale))


def consistent(
    data: Quadratic, links: LinkInertias, constraints: list[tuple[Array, float]]
) -> tuple[Array, Array]:
    """Parameters of all links that data and prior agree on, and the other columns.

    Args:
        data: Data term of base values and of the other columns.
        links: The links.
        constraints: Rows a and numbers b with a . (other columns) >= b.

    Returns:
        pi, shape (10 l,), and the other columns, shape (c - p,).

    Raises:
        MissingPackageError: If cvxpy is not installed.
        RecordingError: If the solver finds nothing.
    """
    cp = needed("cvxpy", "physical consistency", "identification")
    p = len(links.base)
    bodies = links.starting_bodies()
    maps = [_map(pseudo_inertia(body)) for body in bodies]
    A = data.R[:, :p] @ np.hstack(
        [links.K[:, 10 * i : 10 * i + 10] @ T for i, T in enumerate(maps)]
    )
    S = [cp.Variable((4, 4), PSD=True) for _ in bodies]
    others = cp.Variable(data.R.shape[1] - p)
    size = np.sqrt((data.R[:, p:] ** 2).sum(axis=0))
    size = np.where(size > 0.0, size, 1.0)  # columns of one size keep the solver accurate
    entries = cp.hstack([s[a, b] for s in S for a, b in _PAIRS])
    fit = A @ entries + (data.R[:, p:] / size) @ others - data.d
    distance = sum(cp.sum_squares(s - np.eye(4)) for s in S)
    limits = [s - LEAST * np.eye(4) >> 0 for s in S]
    limits += [(a / size) @ others >= b for a, b in constraints]
    problem = cp.Problem(cp.Minimize(cp.sum_squares(fit) + distance / PRIOR**2), limits)
    _solve(cp, problem)
    values = np.array([[s.value[a, b] for a, b in _PAIRS] for s in S])
    pi = np.concatenate([T @ v for T, v in zip(maps, values, strict=True)])
    pi = _kept(links.parameters.reshape(-1, 10), pi.reshape(-1, 10)).reshape(-1)
    return pi, np.asarray(others.value) / size


def _kept(before: Array, after: Array) -> Array:
    """Bodies that only the solver's round-off has changed stay what they were."""
    size = np.abs(before).max(axis=1, keepdims=True)
    same = np.all(np.abs(after - before) < UNCHANGED * size, axis=1)
    return np.where(same[:, None], before, after)


def _map(J0: Array) -> Array:
    """Ten parameters by the ten entries of S on and below its diagonal, shape (10, 10)."""
    L = np.linalg.cholesky(J0)
    columns = []
    for a, b in _PAIRS:
        S = np.zeros((4, 4))
        S[a, b] = S[b, a] = 1.0
        columns.append(parameters_of(L @ S @ L.T))
    return np.column_stack(columns)


def _solve(cp: Any, problem: Any) -> None:
    try:
        problem.solve(solver=cp.CLARABEL)
    except cp.SolverError as error:
        raise RecordingError(f"physical consistency: the solver gave up ({error})") from None
    if problem.status not in ("optimal", "optimal_inaccurate"):
        raise RecordingError(
            f"physical consistency: the solver says {problem.status}; record a motion that shows "
            "more, or fit without it"
        )
