"""Residuals of a model on the efforts of a running robot, both through the same low-pass."""

from __future__ import annotations

from math import exp, pi
from typing import NamedTuple

import numpy as np

from robot_dynamics.control.model import Model
from robot_dynamics.foundation.arrays import Array

SETTLED = 7.0
"""Time constants after which less than 1 % of the initial state of two stages is left."""

LONGEST_GAP = 2.0
"""Longest gap between states, in time constants; after a longer one the filter restarts."""


class FilteredMotion:
    """Two low-passes in a row, the same for positions, velocities, accelerations and efforts.

    Accelerations are slopes of the velocities, in the middle between two states; all other values
    are taken there too. All values have the same delay, so that lag alone makes no residual.

    Args:
        cutoff: Of each low-pass, Hz.
        continuous: Which joints turn without end, shape (n,): their positions may wrap.

    Attributes:
        time_constant: Of each low-pass, s.
        longest_gap: Time without a state after which it restarts, s.
        time: Of the last state, s.
        q: Positions, shape (n,), rad or m.
        qd: Velocities, shape (n,).
        qdd: Accelerations, shape (n,).
        tau: Measured efforts, shape (n,), N m or N.
        direction: Presliding direction, shape (n,), -1 to 1; None where it is not fed.
    """

    def __init__(self, cutoff: float, continuous: Array) -> None:
        self.time_constant = 1.0 / (2.0 * pi * cutoff)
        self.longest_gap = LONGEST_GAP * self.time_constant
        self._turn = np.where(continuous, 2.0 * pi, 0.0)
        self._last: Array | None = None
        self.time = self._since = 0.0
        self.q, self.qd, self.qdd, self.tau = np.zeros((4, len(self._turn)))
        self.direction: Array | None = None

    @property
    def settled(self) -> bool:
        """True if the initial transient of the filter has decayed."""
        return self.time - self._since > SETTLED * self.time_constant

    def feed(
        self, time: float, q: Array, qd: Array, tau: Array, direction: Array | None = None
    ) -> None:
        """Add a state; one that is slightly older than the last is dropped.

        Args:
            time: s.
            q: Positions, shape (n,).
            qd: Velocities, shape (n,).
            tau: Measured efforts, shape (n,).
            direction: Presliding direction, shape (n,); by default none.
        """
        values = np.array([q, qd, tau, np.zeros_like(q) if direction is None else direction])
        jump = abs(time - self.time)  # backwards, too: the clock was set
        if self._last is None or not jump <= self.longest_gap:
            self._begin(time, values)
        elif time > self.time:
            self._advance(time, values, self._last)
        self.direction = None if direction is None else self._stages[1, -1]

    def _begin(self, time: float, values: Array) -> None:
        q, qd, tau, direction = self._last = values
        self.time = self._since = time
        self._stages = np.array([[q, qd, np.zeros_like(qd), tau, direction]] * 2)
        self.q, self.qd, self.qdd, self.tau = self._stages[1, :-1]

    def _advance(self, time: float, values: Array, last: Array) -> None:
        dt = time - self.time
        values[0] -= self._turn * np.round((values[0] - last[0]) / (2.0 * pi))
        q, qd, tau, direction = 0.5 * (values + last)
        share = 1.0 - exp(-dt / self.time_constant)
        signal = np.array([q, qd, (values[1] - last[1]) / dt, tau, direction])
        first = self._stages[0] + share * (signal - self._stages[0])
        second = self._stages[1] + share * (first - self._stages[1])
        self._last, self._stages, self.time = values, np.array([first, second]), time
        self.q, self.qd, self.qdd, self.tau = second[:-1]


class Unexplained(NamedTuple):
    """Efforts that a model does not explain, shape (n,) each, N m or N.

    Args:
        effort: Measured less model effort, friction included.
        stuck: Largest part of it that dry friction may hold while the joint rests.
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
    effort = motion.tau - body - model.friction_effort(motion.qd, body, motion.direction)
    if model.friction is None:
        return Unexplained(effort, np.zeros_like(effort))
    return Unexplained(effort, model.friction.stuck(motion.qd, body, model.friction_width))


class Residuals:
    """Root mean square of the residuals over an exponential window, against the effort limits.

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
        """Add residuals, shape (n,), of the last dt, s."""
        self.last = residual
        self._mean_square += (1.0 - exp(-dt / self.window)) * (residual**2 - self._mean_square)
        self._over = np.where(self.shares > self.share, self._over + dt, 0.0)

    @property
    def rms(self) -> Array:
        """Root mean square of the residuals, shape (n,), N m or N."""
        return np.sqrt(self._mean_square)

    @property
    def shares(self) -> Array:
        """RMS against the effort limits, shape (n,); zero where there is none."""
        return self.rms / self._limit

    @property
    def misfits(self) -> Array:
        """Joints that the model has not fitted for longer than the patience, shape (n,), bool."""
        return (self._over > 0.0) & (self._over >= self.patience)
