"""Friction that changes with temperature and from day to day, tracked while the robot works.

Dry and viscous friction of every joint are those of the model times two slow states. A Kalman
filter with a random walk follows them where a joint moves, by residuals that such friction and the
band of the model can explain: others come from contacts and loads. Inertias never change.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.control.friction import Friction
from robot_dynamics.control.model import Model
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.identification.online.payload_estimate import MODEL_ERROR
from robot_dynamics.identification.online.residuals import FilteredMotion

LEAST, MOST = 0.3, 3.0
"""Bounds of the states."""

UNSURE = 0.3
"""Standard deviation of the states at the start."""

DRIFT = 0.2
"""Standard deviation of their change in `DRIFT_S`."""

DRIFT_S = 600.0
"""Time in which a gear warms up, s."""

LASTING_S = 3.0
"""Correlation time of errors of the model and of the filter, s."""

SETTLED = 6.0
"""Time constants of the filter after which a reversal is forgotten."""

DEVIATIONS = 1.96
"""Standard deviations in the half-width of a band."""

CLEAR = 2.0
"""Standard deviations from which a change counts."""


class FrictionScale:
    """Dry and viscous friction of n joints over those of the model.

    Args:
        band: Half-width of the band of a moving joint, shape (n,), N m or N; where it is zero, that
            of a good model, by the effort limit.
        limit: Effort limits, shape (n,), N m or N.
        slow: Speed below which a joint turns back or rests, shape (n,), rad/s or m/s.

    Attributes:
        value: Shape (n, 2): dry, viscous.
    """

    def __init__(self, band: Array, limit: Array, slow: Array) -> None:
        n = len(band)
        known = np.where(np.isfinite(limit), limit, 1.0)
        self._band = np.where(band > 0.0, band, DEVIATIONS * MODEL_ERROR * known)
        self._slow = np.maximum(slow, 1e-3)
        self._moved = np.zeros(n)
        self._direction = np.zeros(n)
        self.value = np.ones((n, 2))
        self._covariance = np.tile(UNSURE**2 * np.eye(2), (n, 1, 1))

    @property
    def deviation(self) -> Array:
        """Standard deviations of the states, shape (n, 2)."""
        return np.asarray(np.sqrt(np.diagonal(self._covariance, axis1=1, axis2=2)))

    @property
    def changed(self) -> Array:
        """Return which states differ clearly from one, shape (n, 2)."""
        return np.asarray(np.abs(self.value - 1.0) > CLEAR * self.deviation)

    def update(self, model: Model, motion: FilteredMotion, dt: float) -> None:
        """Add a sample.

        Args:
            model: Model of the robot with the friction that was identified, and its load.
            motion: What was measured.
            dt: Time since the last sample, s.
        """
        friction = model.friction
        if friction is None:
            return
        body = model.inverse(motion.q, motion.qd, motion.qdd)
        viscous = friction.viscous * motion.qd
        dry = model.friction_effort(motion.qd, body, motion.direction) - viscous - friction.offset
        H = np.stack([dry, viscous], axis=1)
        rest = motion.tau - body - friction.offset
        direction = np.where(np.abs(motion.qd) > self._slow, np.sign(motion.qd), 0.0)
        same = (direction != 0.0) & (direction == self._direction)
        self._direction = direction
        self._moved = np.where(same, self._moved + dt, 0.0)
        size = np.abs(H).sum(axis=1)
        along = rest * np.sign(H.sum(axis=1))
        explained = (along > LEAST * size - self._band) & (along < MOST * size + self._band)
        settled = self._moved > SETTLED * motion.time_constant
        self._covariance += (DRIFT**2 * dt / DRIFT_S) * np.eye(2)
        noise = (self._band / DEVIATIONS) ** 2 * max(LASTING_S / dt, 1.0)
        for j in np.flatnonzero(settled & explained & (size > 0.0)):
            P, h = self._covariance[j], H[j]
            gain = P @ h / (h @ P @ h + noise[j])
            self.value[j] += gain * (rest[j] - h @ self.value[j])
            self._covariance[j] = P - np.outer(gain, h @ P)
        self.value = np.clip(self.value, LEAST, MOST)
        self._covariance = np.minimum(self._covariance, UNSURE**2)

    def on(self, friction: Friction) -> Friction:
        """Return friction with the present states."""
        return friction.scaled(*self.value.T)
