"""The load at a frame, by recursive least squares while the robot works.

Efforts are linear in mass and first moments of a load. Its second moments, which slow motion
hardly shows, are left out. Old samples fade, and as they do a weak prior of no load comes back,
so that an arm at rest does not forget into nothing (stabilised forgetting).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp
from typing import NamedTuple

import numpy as np

from robot_dynamics.control.model import Model
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.identification.online.residuals import FilteredMotion, unexplained
from robot_dynamics.spatial import Inertia

MODEL_ERROR = 0.003
"""Least standard deviation of a good model, as a part of the effort limit."""

PRIOR = np.array([30.0, 10.0, 10.0, 10.0])
"""Standard deviations of mass, kg, and first moments, kg m, of an unknown load."""

CLEAR = 3.0
"""Standard deviations at which a mass is significantly above zero."""

NEXT_TO_NONE_KG = 0.2
"""A mass that is certainly smaller than this counts as known, kg."""

UNITS = [Inertia(u[0], u[1:], np.zeros((3, 3))) for u in np.vstack([np.zeros(4), np.eye(4)])]
"""No load, a unit of mass, and a unit of each first moment."""


class Gathered(NamedTuple):
    """Normal equations of the samples so far, each weighted by its age.

    Args:
        A: Information on mass and first moments, shape (4, 4).
        b: A mu = b.
        square: Of the weighted efforts.
        samples: Number of independent efforts.
    """

    A: Array
    b: Array
    square: float
    samples: float


@dataclass(frozen=True, eq=False)
class EstimatedLoad:
    """A load as far as motion and gravity have shown it.

    Args:
        frame: Link or frame that carries it.
        mass: kg, not negative.
        com: Mass centre in `frame`, shape (3,), m; zero while the mass is not significant.
        deviation: Standard deviation of the mass, kg.
        com_deviation: Of the mass centre, shape (3,), m; infinite without a mass.
    """

    frame: str
    mass: float
    com: Array
    deviation: float
    com_deviation: Array

    @property
    def known(self) -> bool:
        """True if the mass is significant, or certainly close to zero."""
        return bool(CLEAR * self.deviation < max(self.mass, NEXT_TO_NONE_KG))

    def __str__(self) -> str:
        com = (
            f"{x:.3f} +- {s:.2g}"
            for x, s in zip(self.com.round(3) + 0.0, self.com_deviation, strict=True)
        )
        mass = f"{self.mass:.3f} +- {self.deviation:.2g} kg"
        return f"{mass} at ({', '.join(com)}) m of {self.frame}"


class PayloadEstimate:
    """Recursive estimate of a load.

    Args:
        frame: Link or frame that carries it.
        limit: Effort limits, shape (n,): how a joint's error counts against another's.
        memory: Time constant after which samples fade, s.
    """

    def __init__(self, frame: str, limit: Array, memory: float) -> None:
        known = limit[np.isfinite(limit)]
        size = np.where(np.isfinite(limit), limit, known.max() if len(known) else 1.0)
        self.frame, self.memory = frame, memory
        self._deviation = MODEL_ERROR * size
        self._prior = np.diag(PRIOR**-2.0)
        self._gathered = Gathered(self._prior, np.zeros(4), 0.0, 0.0)

    def update(self, model: Model, motion: FilteredMotion, dt: float) -> None:
        """Add a sample.

        Args:
            model: Model of the robot; its present load is removed first.
            motion: What was measured.
            dt: Time since the last sample, s.
        """
        bare = self.bare(model)
        y, stuck = unexplained(bare, motion)
        weight = 1.0 / np.hypot(self._deviation, stuck)
        X = weight[:, None] * load_columns(bare, motion)
        y = weight * y
        keep = exp(-dt / self.memory)
        # Samples within a time constant of the filter say the same thing
        new = min(dt / (2.0 * motion.time_constant), 1.0)
        old = self._gathered
        self._gathered = Gathered(
            keep * old.A + (1.0 - keep) * self._prior + new * X.T @ X,
            keep * old.b + new * X.T @ y,
            keep * old.square + new * float(y @ y),
            keep * old.samples + new * len(y),
        )

    def bare(self, model: Model) -> Model:
        """Return the model without load."""
        return replace(model, payload=Inertia.zero(), frame=self.frame, wrench=None)

    @property
    def value(self) -> EstimatedLoad:
        """Estimate from the samples so far."""
        A, b, square, samples = self._gathered
        mu = np.linalg.solve(A, b)
        misfit = max(float(square - b @ mu) / max(samples - len(b), 1.0), 1.0)
        deviation = np.sqrt(misfit * np.diag(np.linalg.inv(A)))
        mass = max(float(mu[0]), 0.0)
        if mass <= CLEAR * deviation[0]:
            com, com_deviation = np.zeros(3), np.full(3, np.inf)
        else:
            com, com_deviation = mu[1:] / mass, deviation[1:] / mass
        return EstimatedLoad(self.frame, mass, com, float(deviation[0]), com_deviation)


def load_columns(model: Model, motion: FilteredMotion) -> Array:
    """Return efforts per mass and first moments of a load at `model.frame`, shape (n, 4)."""
    state = motion.q, motion.qd, motion.qdd
    none, *loaded = (replace(model, payload=unit, wrench=None).inverse(*state) for unit in UNITS)
    return np.column_stack(loaded) - none[:, None]
