"""How the moving joints of a tree follow its independent ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics.arrays import Array, Value


@dataclass(frozen=True, eq=False)
class Coupling(Value):
    """How the m moving joints of a tree follow its n independent ones.

    Every moving joint is an independent joint itself or follows one (mimic):
    position = multiplier * q[leader] + offset. In matrix form positions = E q + e0,
    and by virtual work efforts reduce to E^T tau and mass matrices to E^T M E.

    Args:
        leader: Index into q for every moving joint, shape (m,).
        multiplier: 1 for an independent joint, shape (m,).
        offset: 0 for an independent joint, shape (m,), rad or m.
        dof: Number n of independent joints.
    """

    leader: Array
    multiplier: Array
    offset: Array
    dof: int

    @property
    def matrix(self) -> Array:
        """E, shape (m, n)."""
        E = np.zeros((len(self.leader), self.dof))
        E[np.arange(len(self.leader)), self.leader] = self.multiplier
        return E

    def positions(self, q: Array) -> Array:
        """Positions of all moving joints, shape (m,), from the independent ones, shape (n,)."""
        return self.rates(q) + self.offset

    def rates(self, qd: Array) -> Array:
        """Velocities or accelerations of all moving joints, from the independent ones."""
        return self.multiplier * np.asarray(qd)[self.leader]

    def efforts(self, tau: Array) -> Array:
        """E^T tau: efforts of the independent joints, which carry those of their followers."""
        return self.columns(tau)

    def columns(self, A: Array) -> Array:
        """E^T A: sum the rows of A that belong to each independent joint, shape (n, ...)."""
        total: Any = np.zeros((self.dof, *A.shape[1:]), dtype=A.dtype)
        for row, (i, factor) in enumerate(zip(self.leader, self.multiplier, strict=True)):
            total[i] = total[i] + factor * A[row]
        return np.asarray(total)

    def square(self, A: Array) -> Array:
        """E^T A E, shape (n, n)."""
        return self.columns(self.columns(A).T).T
