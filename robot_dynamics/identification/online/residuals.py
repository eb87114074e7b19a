"""Residuals of a model on the efforts of a running robot."""

from __future__ import annotations

from math import exp
from typing import NamedTuple

import numpy as np

from robot_dynamics.control.model import Model
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.identification.online.filtered_motion import FilteredMotion


class Unexplained(NamedTuple):
    """Efforts beside those of a model, shape (n,) each, N m or N.

    Args:
        effort: Measured less model effort, friction included.
        stuck: By how much that may be dry friction of a joint that rests and could be held by it.
    """

    effort: Array
    stuck: Array

    @property
    def residual(self) -> Array:
        """Residual that friction at rest cannot explain, shape (n,)."""
        return np.sign(self.effort) * np.maximum(np.abs(self.effort) - self.stuck, 0.0)


def unexplained(model: Model, motion: FilteredMotion) -> Unexplained:
    """Compare a model with the efforts that were measured."""
    body = model.inverse(motion.q, motion.qd, motion.qdd)
    effort = motion.tau - body - model.friction_effort(motion.qd, body)
    if model.friction is None:
        return Unexplained(effort, np.zeros_like(effort))
    return Unexplained(effort, model.friction.stuck(motion.qd, body, model.friction_width))


class Residuals:
    """Root mean square of the residuals over the last while, against the effort limits.

    The past counts less and less, over an exponential window.

    Args:
        limit: Effort limits, shape (n,), N m or N; infinite for a joint that is not judged.
        window: Time constant of the window, s.
        share: RMS of a joint that fits, of its effort limit.
        patience: Time for which it must exceed that to count as not fitting, s.
    """

    def __init__(self, limit: Array, window: float, share: float, patience: float) -> None:
        self._limit = limit
        self.window, self.share, self.patience = window, share, patience
        self.last = np.zeros(len(limit))
        self._mean_square = np.zeros(len(limit))
        self._over = np.zeros(len(limit))

    def update(self, residual: Array, dt: float) -> None:
        """Take in residuals, shape (n,), that have held for the last dt, s."""
        self.last = residual
        self._mean_square += (1.0 - exp(-dt / self.window)) * (residual**2 - self._mean_square)
        self._over = np.where(self.shares > self.share, self._over + dt, 0.0)

    @property
    def rms(self) -> Array:
        """Shape (n,), N m or N."""
        return np.sqrt(self._mean_square)

    @property
    def shares(self) -> Array:
        """RMS against the effort limits, shape (n,); zero where there is none."""
        return self.rms / self._limit

    @property
    def misfits(self) -> Array:
        """Which joints the model has not fitted for a while, shape (n,), bool."""
        return (self._over > 0.0) & (self._over >= self.patience)
