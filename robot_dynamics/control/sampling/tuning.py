"""Tuning: gains that fit the desired and the measured sampling of the states."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from robot_dynamics.control.gains import (
    DEFAULT_BANDWIDTH,
    DEFAULT_DAMPING_RATIO,
    Gains,
    ideal_gains,
)
from robot_dynamics.control.limits import default_tracking_errors
from robot_dynamics.control.sampled_loop import (
    DEFAULT_PERIOD_S,
    Sampling,
    largest_frequency,
)
from robot_dynamics.control.sampling.resonance import fitted, lowered_joints
from robot_dynamics.control.stability import fitting_damping, largest_ratio
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.trajectory.motions import sample_poses

if TYPE_CHECKING:
    from robot_dynamics.control.model import Model
    from robot_dynamics.dynamics.dynamics import Dynamics

WINDOW_S = 0.2
"""Time over which states are counted, s."""

WINDOWS = 5
"""Number of windows of which the median is used."""

FEWEST_STATES = 8
"""Fewest states for a measurement."""

LONGEST_AGE_S = 0.5
"""Age of a state above which its stamp comes from another clock, s."""

EQUAL = 0.01
"""Relative difference up to which gains count as equal."""


class SamplingMeter:
    """Measures the sampling of states. Reads no clock.

    Args:
        fastest: Shortest period at which states are answered, s.

    Attributes:
        measured: The last measurement; None before the first one.
    """

    def __init__(self, fastest: float) -> None:
        self._fastest = fastest
        self.forget()

    def forget(self) -> None:
        """Forget all measurements."""
        self.measured: Sampling | None = None
        self._windows: deque[tuple[float, float]] = deque(maxlen=WINDOWS)
        self._began: float | None = None
        self._count, self._age = 0, 0.0

    def feed(self, now: float, age: float, states: int = 1) -> None:
        """Note the arrival of states.

        Args:
            now: Time of the last measurement, or of its arrival, s; starts anew if it goes back.
            age: Age on arrival by its stamp, s.
            states: Number of states since the last call.
        """
        if self._began is None or now < self._began:
            self._began, self._count, self._age = now, 0, 0.0
            return
        self._count += states
        self._age += states * age if 0.0 < age < LONGEST_AGE_S else 0.0
        passed = now - self._began
        if passed >= WINDOW_S and self._count >= FEWEST_STATES:
            self._windows.append((passed / self._count, self._age / self._count))
            # The median ignores a stall of a busy machine
            period, age = np.median(self._windows, axis=0).tolist()
            self.measured = Sampling.of(max(period, self._fastest), age)
            self._began, self._count, self._age = now, 0, 0.0


class Tuner:
    """Fits the gains of an arm to its sampling.

    Args:
        dynamics: Equations of the arm without loads, which only make it heavier.
    """

    def __init__(self, dynamics: Dynamics) -> None:
        poses = sample_poses(dynamics.robot)
        self._inverses = np.linalg.inv(dynamics.mass_matrix(poses))
        self._weight = dynamics.gravity(poses)
        self._falling = np.einsum("kij,kj->ki", self._inverses, self._weight)
        self._allowed = default_tracking_errors(dynamics.robot)

    def gains(self, wanted: Gains, sampling: Sampling) -> Gains:
        """Return the desired gains, reduced as far as the stability limit requires.

        kd keeps every mode within its stability limit, kp/kd is at most `largest_ratio`.
        """
        ratio = np.divide(wanted.kp, wanted.kd, out=np.zeros_like(wanted.kp), where=wanted.kd > 0.0)
        ratio = np.minimum(ratio, largest_ratio(*sampling))
        kd = fitting_damping(wanted.kd, float(ratio.max()), self._inverses, *sampling)
        kp = np.where(wanted.kd > 0.0, kd * ratio, wanted.kp)
        return replace(
            wanted, kp=kp, kd=kd, ki=wanted.ki * _share(kp, wanted.kp) * _share(kd, wanted.kd)
        )

    def model(self, base: Model, wanted: Gains, bandwidth: float, sampling: Sampling) -> Model:
        """Return the model with feedback that fits.

        Where feedback joint by joint is less than `wanted`, the mode feedforward uses the mass
        matrix if wrong masses move the arm less then. Gains of elastic joints are those with which
        their springs are stable in the sampled loop; see `resonance.fitted`.
        """
        if base.elasticity is not None:
            return self._elastic(base, wanted, bandwidth, sampling)
        gains = self.gains(wanted, sampling)
        kept = bool((_alike(gains.kd, wanted.kd) & _alike(gains.kp, wanted.kp)).all())
        bandwidth = largest_frequency(base.damping_ratio, sampling, bandwidth)
        return replace(
            base,
            gains=wanted if kept else gains,
            bandwidth=bandwidth,
            inertia_weighted=not kept and self._is_stiffer_by_matrix(gains, bandwidth),
            fastest=largest_frequency(base.damping_ratio, sampling),
            delay=sampling.delay,
        )

    def _elastic(self, base: Model, wanted: Gains, bandwidth: float, sampling: Sampling) -> Model:
        """Return the model of an arm with elastic joints with feedback that fits."""
        kp = np.minimum(wanted.kp, wanted.kd * largest_ratio(*sampling))
        fastest = largest_frequency(base.damping_ratio, sampling)
        model = replace(
            base,
            gains=replace(wanted, kp=kp),
            bandwidth=min(bandwidth, fastest),
            fastest=fastest,
            delay=sampling.delay,
        )
        return fitted(model, self._inverses, sampling)

    def lowered_joints(self, model: Model, wanted: Gains) -> str:
        """Return the elastic joints whose gains are lower than wanted; see `resonance`."""
        return "" if model.elasticity is None else lowered_joints(model, wanted, self._inverses)

    def _is_stiffer_by_matrix(self, gains: Gains, bandwidth: float) -> bool:
        """Return whether wrong masses move the arm less under feedback by the mass matrix."""
        by_joint = np.divide(self._weight, gains.kp * self._allowed)
        by_matrix = self._falling / (bandwidth**2 * self._allowed)
        return bool(np.linalg.norm(by_matrix) <= np.linalg.norm(by_joint))


def gains_for(
    dynamics: Dynamics,
    *,
    bandwidth: float = DEFAULT_BANDWIDTH,
    damping_ratio: float = DEFAULT_DAMPING_RATIO,
    period: float = DEFAULT_PERIOD_S,
    delay: float | None = None,
) -> Gains:
    """Return gains with which any robot works untuned in a sampled loop.

    These are the `ideal_gains`, reduced to the stability limit: joints whose axes nearly coincide
    feel little inertia when they move against each other. See docs/gains.md.

    Args:
        dynamics: Equations of the robot.
        bandwidth: Natural frequency w, rad/s.
        damping_ratio: z.
        period: Time from a state to the next, s.
        delay: Time from a state to when the effort that answers it acts, s; by default a period,
            and a millisecond on the way.

    Returns:
        Gains of all joints, without an integral part.

    Raises:
        SingularMassMatrixError: If a joint moves no inertia.

    Examples:
        >>> from robot_dynamics import Dynamics, read_urdf
        >>> from robot_dynamics.control import gains_for
        >>> from robot_dynamics.robot import find_robot
        >>> gains = gains_for(Dynamics(read_urdf(find_robot("planar_2r"))))
        >>> gains.kp.round(1)  # N m/rad
        array([8840., 1080.])
    """
    sampling = Sampling.of(period) if delay is None else Sampling(period, delay)
    ideal = ideal_gains(dynamics, bandwidth, damping_ratio)
    return Tuner(dynamics).gains(ideal, sampling)


def _share(part: Array, whole: Array) -> Array:
    return np.divide(part, whole, out=np.ones_like(whole), where=whole > 0.0)


def _alike(a: Array, b: Array) -> Array:
    return np.abs(a - b) <= EQUAL * b
