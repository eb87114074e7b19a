"""Simulated sensors with delay, noise, resolution and lost reports."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from robot_dynamics.compiler.native.loop.normals import normals
from robot_dynamics.control.laws import Measured
from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import Array


class Reading(NamedTuple):
    """Joint positions, velocities and efforts at a time.

    Args:
        q: Shape (n,), rad or m.
        qd: Shape (n,), rad/s or m/s.
        tau: Shape (n,), N m or N.
        time: In a unit of the caller.
    """

    q: Array
    qd: Array
    tau: Array
    time: float = 0.0


@dataclass(frozen=True)
class Imperfections:
    """Differences between measured and true states.

    Args:
        position_noise: Standard deviation, rad or m, one number or one per joint.
        velocity_noise: Standard deviation, rad/s or m/s, one number or one per joint.
        effort_noise: Standard deviation, N m or N, one number or one per joint.
        delay: Age of a state when it is reported, in whole reports.
        position_resolution: Step of an encoder, rad or m, one number or one per joint; 0 for none.
        velocity_resolution: The same for velocities, rad/s or m/s.
        effort_resolution: The same for efforts, N m or N.
        time_jitter: Largest lateness of the time of a report, in the unit of that time; times
            still increase.
        loss: Share of reports that are lost, from 0 to below 1.
        seed: The same seed gives the same noise and the same losses.
        stream: Key of a counter-based noise stream (`normals`), as in compiled loops, which
            replaces the seed; it carries no noise of efforts.

    Raises:
        ArgumentError: If a number is out of range.
    """

    position_noise: float | Array = 0.0
    velocity_noise: float | Array = 0.0
    effort_noise: float | Array = 0.0
    delay: int = 0
    position_resolution: float | Array = 0.0
    velocity_resolution: float | Array = 0.0
    effort_resolution: float | Array = 0.0
    time_jitter: float = 0.0
    loss: float = 0.0
    seed: int = 0
    stream: int | None = None

    def __post_init__(self) -> None:
        noises = ("position_noise", "velocity_noise", "effort_noise")
        steps = ("position_resolution", "velocity_resolution", "effort_resolution")
        for name in (*noises, *steps, "time_jitter"):
            values = np.asarray(getattr(self, name), dtype=float)
            if not np.all(np.isfinite(values) & (values >= 0.0)):
                raise ArgumentError(f"{name} is {values}; give a finite number, zero or more")
        if self.delay < 0:
            raise ArgumentError(f"delay is {self.delay} reports; give zero or more")
        if not 0.0 <= self.loss < 1.0:
            raise ArgumentError(f"loss is {self.loss}; give a share from 0 to below 1")


class Sensor:
    """Reports joint states with imperfections.

    Args:
        imperfections: By default none.

    Attributes:
        exact: Whether every report is the true state without delay.
    """

    def __init__(self, imperfections: Imperfections | None = None) -> None:
        self.imperfections = imperfections or Imperfections()
        self._random = np.random.default_rng(self.imperfections.seed)
        how = self.imperfections
        self._noisy = any(
            np.any(noise) for noise in (how.position_noise, how.velocity_noise, how.effort_noise)
        )
        self._coarse = any(
            np.any(step)
            for step in (how.position_resolution, how.velocity_resolution, how.effort_resolution)
        )
        late = how.time_jitter or how.delay or how.loss
        self.exact = not (self._noisy or self._coarse or late)
        self._waiting: deque[Reading] = deque(maxlen=how.delay + 1)
        self._reports = 0
        self._times = -np.inf, -np.inf  # true and reported, of the last report

    def _late(self, time: float) -> float:
        """Return a time with jitter that still increases."""
        before, reported = self._times
        late = time + self._random.uniform(0.0, self.imperfections.time_jitter)
        if np.isfinite(reported):
            late = max(late, reported + 0.1 * (time - before))
        self._times = time, late
        return late

    def report(self, q: Array, qd: Array) -> Measured | None:
        """Report the true state.

        Until the delay has passed once, reports hold the oldest state available.

        Args:
            q: True positions, shape (n,), rad or m.
            qd: True velocities, shape (n,), rad/s or m/s.

        Returns:
            The measured state; None when a report is lost.
        """
        reading = self.read(Reading(q, qd, np.zeros(len(q))))
        return None if reading is None else Measured(reading.q, reading.qd)

    def read(self, true: Reading) -> Reading | None:
        """Report the true state with its effort and time; see `report`.

        Args:
            true: The true state.

        Returns:
            The measured state; None when a report is lost.
        """
        how, n = self.imperfections, len(true.q)
        if self._noisy and how.stream is None:
            normal = self._random.standard_normal
            true = Reading(
                true.q + how.position_noise * normal(n),
                true.qd + how.velocity_noise * normal(n),
                true.tau + how.effort_noise * normal(n),
                true.time,
            )
        if how.time_jitter:
            true = true._replace(time=self._late(true.time))
        self._waiting.append(true)
        if how.loss and self._random.random() < how.loss:
            return None
        seen = self._waiting[0]
        q, qd = seen.q, seen.qd
        if how.stream is not None:
            z = normals(how.stream, 2 * n * self._reports, 2 * n)
            q, qd = q + how.position_noise * z[:n], qd + how.velocity_noise * z[n:]
            self._reports += 1
        if not self._coarse and how.stream is None:
            return seen
        return seen._replace(
            q=_quantised(q, how.position_resolution),
            qd=_quantised(qd, how.velocity_resolution),
            tau=_quantised(seen.tau, how.effort_resolution),
        )


def _quantised(x: Array, resolution: float | Array) -> Array:
    """Round to multiples of the resolution, where it is not zero."""
    if not np.any(resolution):
        return x
    step = np.broadcast_to(resolution, x.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.floor(x * (1.0 / step) + 0.5)
    return np.where(step > 0.0, step * np.where(step > 0.0, steps, 0.0), x)
