"""Sensors: what a robot reports of itself, late, noisy and with gaps."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from robot_dynamics.control.laws import Measured
from robot_dynamics.errors import ArgumentError
from robot_dynamics.robot.robot import Array


@dataclass(frozen=True)
class Imperfections:
    """How measured states differ from true ones.

    Args:
        position_noise: Standard deviation, rad or m, one number or one per joint.
        velocity_noise: Standard deviation, rad/s or m/s, one number or one per joint.
        delay: Age of a state when it is reported, in whole reports.
        loss: Part of the reports that never come, from 0 to below 1.
        seed: The same seed gives the same noise and the same losses.

    Raises:
        ArgumentError: If a number is out of range.
    """

    position_noise: float | Array = 0.0
    velocity_noise: float | Array = 0.0
    delay: int = 0
    loss: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("position_noise", "velocity_noise"):
            values = np.asarray(getattr(self, name), dtype=float)
            if not np.all(np.isfinite(values) & (values >= 0.0)):
                raise ArgumentError(f"{name} is {values}; give a finite number, zero or more")
        if self.delay < 0:
            raise ArgumentError(f"delay is {self.delay} reports; give zero or more")
        if not 0.0 <= self.loss < 1.0:
            raise ArgumentError(f"loss is {self.loss}; give a part from 0 to below 1")


class Sensor:
    """Reports joint states with imperfections.

    Args:
        imperfections: By default none.
    """

    def __init__(self, imperfections: Imperfections | None = None) -> None:
        self.imperfections = imperfections or Imperfections()
        self._random = np.random.default_rng(self.imperfections.seed)
        self._noisy = bool(
            np.any(self.imperfections.position_noise) or np.any(self.imperfections.velocity_noise)
        )
        self._waiting: deque[Measured] = deque(maxlen=self.imperfections.delay + 1)

    def report(self, q: Array, qd: Array) -> Measured | None:
        """Report the true state q, qd, shape (n,) each; None when a report is lost.

        Reports before the delay has passed once tell the oldest state there is.
        """
        how, n = self.imperfections, len(q)
        if self._noisy:
            q = q + how.position_noise * self._random.standard_normal(n)
            qd = qd + how.velocity_noise * self._random.standard_normal(n)
        self._waiting.append(Measured(q, qd))
        if how.loss and self._random.random() < how.loss:
            return None
        return self._waiting[0]
