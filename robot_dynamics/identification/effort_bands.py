"""Bands around predicted efforts: half-widths by regime and speed that hold 95 % of the samples.

The half-width of a joint is the root of the sum of two squares: 1.96 deviations of the prediction
by the covariance of the parameters, and a level of the joint in its regime, which grows with its
speed while it moves. Levels are quantiles of residuals on held-out blocks (split conformal
prediction, [Lei2018]), so that they need no distribution. Neighbouring residuals are correlated:
the quantile is raised as for as many samples as are independent.

An excitation is fast. Where a joint moves slower than its training did, but for its reversals, it
has the widest of its levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.control.collision import REACH, ThresholdBands
from robot_dynamics.control.friction import Friction
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.lazy import imported
from robot_dynamics.identification.effort_model import EffortModel, regressor_at_drives
from robot_dynamics.identification.friction_terms import FrictionColumns
from robot_dynamics.identification.least_squares import correlation_time
from robot_dynamics.identification.regimes import AT_REST, MOVING, REGIMES
from robot_dynamics.recordings.signals import Signals

SHARE = 0.95
"""Share of the samples within a band."""

DEVIATIONS = 1.96
"""Standard deviations of a normal distribution that hold this share on both sides."""

SLOPES = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)
"""Growth of a level that is tried, from rest to the highest speed, relative to it at rest."""

WORTH = 0.02
"""Share of the loss that a growth with speed must save to be kept."""

MANY = 8
"""Independent samples from which the residuals have a quantile of their own; of fewer it follows
from their rms by Student's distribution."""

BORROWED = 2.0
"""Independent samples of motion for which its residuals count in another regime with few samples:
one reversal says little of the next."""

LASTING = 0.5
"""Time for which residuals beyond a band stay there, relative to the correlation time of all."""


@dataclass(frozen=True, eq=False)
class Levels:
    """Half-widths that the residuals need beside the parameters.

    Args:
        level: By regime, in the order of `REGIMES`, shape (3, n), N m or N.
        per_speed: Their growth while moving, shape (n,), N m s/rad or N s/m.
    """

    level: Array
    per_speed: Array

    def widths(self, regime: Array, speed: Array, slow: Array | float = 0.0) -> Array:
        """Return half-widths, shape (N, n), of regimes and speeds of this shape.

        Args:
            regime: See `regimes`.
            speed: Velocities or their magnitude.
            slow: Speed below which a joint counted as slow in the training, shape (n,); up to
                `REACH` times this speed, it hardly moved there.
        """
        level, v = np.take_along_axis(self.level, regime, axis=0), np.abs(speed)
        found = level + np.where(regime == MOVING, self.per_speed * v, 0.0)
        seldom = (regime == MOVING) & (v < REACH * slow)
        return np.asarray(np.where(seldom, np.maximum(found, self.level.max(axis=0)), found))


@dataclass(frozen=True, eq=False)
class EffortBands:
    """Half-widths of the 95 % bands of n joints.

    Args:
        filtered: Levels of efforts below the cutoff.
        recorded: Levels of efforts as recorded.
        slow: Speed below which a joint counts as reversing or at rest, shape (n,), rad/s or m/s.
        names: Of the parameters; see `names_of`.
        covariance: Of these, shape (c, c).
        cutoff: Of the filter, Hz.
    """

    filtered: Levels
    recorded: Levels
    slow: Array
    names: tuple[str, ...]
    covariance: Array
    cutoff: float

    @staticmethod
    def of_parameters(
        names: Sequence[str], covariance: Array, slow: Array, cutoff: float
    ) -> EffortBands:
        """Return the bands that the deviations of parameters alone make."""
        none = Levels(np.zeros((len(REGIMES), len(slow))), np.zeros(len(slow)))
        return EffortBands(none, none, slow, tuple(names), covariance, cutoff)

    def parameter_deviation(self, model: EffortModel, motion: Signals) -> Array:
        """Return deviations of predicted efforts by those of the parameters, shape (N, n)."""
        names, X = columns(model, motion)
        place = {name: i for i, name in enumerate(names)}
        known = [i for i, name in enumerate(self.names) if name in place]
        X = X[..., [place[self.names[i]] for i in known]]
        values, vectors = np.linalg.eigh(self.covariance[np.ix_(known, known)])
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        return np.asarray(np.sqrt(np.sum((X @ root) ** 2, axis=2)))

    def widths(self, parameter: Array, regime: Array, speed: Array) -> tuple[Array, Array]:
        """Return half-widths of efforts below the cutoff and as recorded, shape (N, n) each.

        Args:
            parameter: See `parameter_deviation`.
            regime: See `regimes`.
            speed: Velocities or their magnitude, shape (N, n).
        """
        low, all_of_it = (
            np.hypot(DEVIATIONS * parameter, levels.widths(regime, speed, self.slow))
            for levels in (self.filtered, self.recorded)
        )
        return low, all_of_it


def names_of(model: EffortModel, rotors: Sequence[int]) -> tuple[str, ...]:
    """Return names of the parameters of a model: base parameters, rotors, friction by drive.

    Args:
        model: The model.
        rotors: Drives whose rotor inertia is a parameter.
    """
    joints = model.dynamics.robot.joint_names
    return (
        *(b.name for b in model.dynamics.base_parameters),
        *(f"rotor.{joints[j]}" for j in rotors),
        *(f"{term}.{joint}" for joint, shape in zip(joints, model.shapes, strict=True)
          for term in shape.names),
    )  # fmt: skip


def columns(model: EffortModel, motion: Signals) -> tuple[tuple[str, ...], Array]:
    """Return names of all parameters, and joint efforts per unit of each, shape (N, n, c)."""
    n = len(model.drive)
    Y = regressor_at_drives(model.dynamics, motion, model.drive)
    qdd = motion.qdd @ model.drive.T
    load = np.abs(Y @ model.base + model.rotor * qdd)
    terms = FrictionColumns(motion, model.drive)
    own = [qdd[:, [j]] for j in range(n)]
    own += [terms.of(j, shape, load[:, j]) for j, shape in enumerate(model.shapes)]
    parts = [Y]
    for i, values in enumerate(own):
        part = np.zeros((len(values), n, values.shape[1]))
        part[:, i % n] = values
        parts.append(part)
    X = np.concatenate(parts, axis=2)
    return names_of(model, range(n)), np.asarray(np.einsum("nic,ij->njc", X, model.drive))


def calibrated(
    residual: Array, parameter: Array, regime: Array, speed: Array, friction: Friction
) -> Levels:
    """Return the levels that hold `SHARE` of held-out residuals.

    Args:
        residual: Measured less predicted efforts of held-out blocks, shape (N, n).
        parameter: Deviations of predictions by those of parameters, shape (N, n).
        regime: See `regimes`.
        speed: Velocities, shape (N, n).
        friction: Of the joints: where one was never at rest, dry friction may hold it.
    """
    n = residual.shape[1]
    level, per_speed, moving = np.full((len(REGIMES), n), np.nan), np.zeros(n), np.full(n, np.nan)
    left = np.sqrt(np.maximum(residual**2 - (DEVIATIONS * parameter) ** 2, 0.0))
    for j in range(n):
        for k in range(len(REGIMES)):
            own = regime[:, j] == k
            count = independent(residual[:, j], own)
            if k != MOVING:  # friction lasts through a stop, and is another one in the next
                count = min(count, float(np.sum(np.diff(own, prepend=False) & own)))
            if count < 1.0:
                continue
            v = np.abs(speed[own, j]) if k == MOVING else np.zeros(own.sum())
            level[k, j], slope = _quantile(left[own, j], v, count, moving[j])
            if k == MOVING:
                per_speed[j], moving[j] = slope, np.mean(left[own, j] ** 2)
    dry = friction.coulomb + np.maximum(friction.stiction, 0.0)
    known = np.nanmax(np.where(np.isnan(level), 0.0, level), axis=0)
    for k in range(len(REGIMES)):
        otherwise = known + dry if k == AT_REST else known
        level[k] = np.where(np.isnan(level[k]), otherwise, level[k])
    return Levels(level, per_speed)


def independent(residual: Array, where: Array) -> float:
    """Return how many of some residuals, shape (N,), are independent of each other."""
    return float(where.sum()) / correlation_time(np.where(where, residual, 0.0))


def _quantile(left: Array, speed: Array, count: float, moving: float) -> tuple[float, float]:
    """Return level and growth per speed that hold `SHARE` of residuals `left`, shape (N,).

    Args:
        left: Magnitudes.
        speed: Of the joint, shape (N,).
        count: Number of independent ones among them.
        moving: Mean square of those of motion; NaN where it is unknown.
    """
    fastest = float(speed.max())

    def of(slope: float) -> float:
        relative = left / (1.0 + slope * speed)
        if count >= MANY:
            return float(np.quantile(relative, min(1.0, SHARE * (1.0 + LASTING / count))))
        borrowed = 0.0 if np.isnan(moving) else BORROWED
        square = count * np.mean(relative**2) + borrowed * np.nan_to_num(moving)
        t = float(imported("scipy.stats").t.ppf(0.5 * (1.0 + SHARE), count + borrowed))
        return t * float(np.sqrt(square / (count + borrowed)))

    level = of(0.0)
    if count < MANY or fastest == 0.0:
        return level, 0.0
    found = [(of(slope), slope) for slope in np.array(SLOPES) / fastest]
    beyond = [left - level * (1.0 + slope * speed) for level, slope in found]
    # The loss that the quantile at every speed minimizes
    losses = [float(np.mean(np.maximum(SHARE * x, (SHARE - 1.0) * x))) for x in beyond]
    best = int(np.argmin(losses))
    if losses[best] >= (1.0 - WORTH) * losses[0]:
        best = 0
    return found[best][0], found[best][0] * float(found[best][1])


def threshold_bands(bands: EffortBands) -> ThresholdBands:
    """Return the bands of efforts as recorded for the detection of collisions."""
    moving, *slow = bands.recorded.level
    return ThresholdBands(moving, bands.recorded.per_speed, np.max(slow, axis=0), bands.slow)


def coverage(residual: Array, width: Array, where: Array) -> float:
    """Return the share of residuals within their half-widths; NaN without one."""
    return float(np.mean(np.abs(residual[where]) <= width[where])) if where.any() else np.nan
