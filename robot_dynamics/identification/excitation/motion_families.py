"""Families of motions that start and end at rest: Fourier series, and runs from point to point.

A vector of unbounded numbers selects a motion; the family scales it into the bounds of positions,
velocities and accelerations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.lazy import imported
from robot_dynamics.robot.kinematic_tree import JointType
from robot_dynamics.robot.robot import Robot
from robot_dynamics.trajectory.motions import rest_to_rest
from robot_dynamics.trajectory.trajectory import State

FREE = np.pi
"""Half the range of a joint without limits that turns, rad; one that slides has a tenth, m."""

STOPPING_S = 0.5
"""Time from the highest velocity to rest where no acceleration is given, s."""

FASTEST = 2.0
"""Velocity of a joint whose URDF gives none, rad/s; one that slides has a tenth, m/s."""


@dataclass(frozen=True, eq=False)
class MotionBounds:
    """Bounds of a motion of n joints.

    Args:
        lower: Lowest positions, shape (n,), rad or m.
        upper: Highest positions, shape (n,), rad or m.
        velocity: Largest velocities, shape (n,), rad/s or m/s.
        acceleration: Largest accelerations, shape (n,), rad/s^2 or m/s^2.
    """

    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array

    @staticmethod
    def of(
        robot: Robot, *, share: float = 0.9, speed: float = 0.6, acceleration: Array | None = None
    ) -> MotionBounds:
        """Return the bounds of a robot.

        Args:
            robot: The robot.
            share: Of the range of positions.
            speed: Of the velocity limits.
            acceleration: Highest, shape (n,); by default velocities are reached in `STOPPING_S`.

        Returns:
            The bounds.

        Raises:
            ArgumentError: If a share is not between 0 and 1.
        """
        for name, value in (("share of the positions", share), ("share of the speed", speed)):
            if not 0.0 < value <= 1.0:
                raise ArgumentError(f"{name} is {value:g}; give more than 0 and at most 1")
        limits, joints = robot.limits, robot.independent_joints
        free = np.array([FREE if joint.type.rotates else 0.1 * FREE for joint in joints])
        fastest = np.array([FASTEST if joint.type.rotates else 0.1 * FASTEST for joint in joints])
        endless = np.array([joint.type is JointType.CONTINUOUS for joint in joints])
        lower = np.where(np.isfinite(limits.lower) & ~endless, limits.lower, -free)
        upper = np.where(np.isfinite(limits.upper) & ~endless, limits.upper, free)
        middle, half = 0.5 * (lower + upper), np.minimum(0.5 * share * (upper - lower), free)
        velocity = speed * np.where(np.isfinite(limits.velocity), limits.velocity, fastest)
        highest = velocity / STOPPING_S if acceleration is None else np.asarray(acceleration)
        return MotionBounds(middle - half, middle + half, velocity, highest)

    def about(self, pose: Array) -> MotionBounds:
        """Return the largest part of these bounds that is centred on a pose.

        Args:
            pose: Joint positions, shape (n,), rad or m.

        Returns:
            Narrower bounds of positions.

        Raises:
            ArgumentError: If the pose is at or beyond a bound.
        """
        half = np.minimum(pose - self.lower, self.upper - pose)
        if (half <= 0.0).any():
            raise ArgumentError(
                f"pose {np.round(pose, 3)} leaves nowhere to move: it is at or beyond the limits; "
                "give one inside"
            )
        return MotionBounds(pose - half, pose + half, self.velocity, self.acceleration)

    @property
    def middle(self) -> Array:
        """Centre of the positions, shape (n,)."""
        return 0.5 * (self.lower + self.upper)


class Family(Protocol):
    """Motions by vectors of `size` numbers."""

    size: int
    duration: float
    bounds: MotionBounds

    def states(self, x: Array, time: Array, scale: float = 1.0) -> State:
        """The motion x at times from 0 to `duration`, its amplitude scaled by 0 to 1."""


class FourierSeries:
    """q = q_0 + sum over k of a_k sin(k w t) + b_k cos(k w t), at rest and not accelerated at 0.

    What is periodic ends as it begins. Rest is linear in the coefficients: the sums of k a_k and
    of k^2 b_k are zero, so coefficients are taken from the null space.

    Args:
        bounds: Bounds of the motion.
        duration: Period, s.
        harmonics: Number of frequencies, 3 or more.
    """

    def __init__(self, bounds: MotionBounds, duration: float, harmonics: int) -> None:
        if harmonics < 3:
            raise ArgumentError(f"{harmonics} harmonics cannot start at rest; give 3 or more")
        self.bounds, self.duration = bounds, duration
        self.k = np.arange(1, harmonics + 1)
        null_space = imported("scipy.linalg").null_space
        self.a = null_space(self.k[None, :].astype(float))
        self.b = null_space(self.k[None, :].astype(float) ** 2)
        self.n, self.each = len(bounds.lower), self.a.shape[1] + self.b.shape[1]
        self.size = self.n * self.each
        self._fine = np.linspace(0.0, duration, 40 * harmonics, endpoint=False)

    def states(self, x: Array, time: Array, scale: float = 1.0) -> State:
        """See `Family.states`."""
        a, b = self._coefficients(x)
        bounds, series = self.bounds, self._series(a, b, self._fine)
        span = np.maximum(np.ptp(series.q, axis=0), 1e-12)
        fit = np.min(
            [
                (bounds.upper - bounds.lower) / span,
                bounds.velocity / np.maximum(np.abs(series.qd).max(axis=0), 1e-12),
                bounds.acceleration / np.maximum(np.abs(series.qdd).max(axis=0), 1e-12),
            ],
            axis=0,
        )
        fit = fit * scale
        middle = bounds.middle - 0.5 * fit * (series.q.max(axis=0) + series.q.min(axis=0))
        at = self._series(a, b, time)
        return State(middle + fit * at.q, fit * at.qd, fit * at.qdd)

    def _coefficients(self, x: Array) -> tuple[Array, Array]:
        x = x.reshape(self.each, self.n)
        m = self.a.shape[1]
        return self.a @ x[:m], self.b @ x[m:]

    def _series(self, a: Array, b: Array, time: Array) -> State:
        w = 2.0 * np.pi / self.duration * self.k
        S, C = np.sin(np.outer(time, w)), np.cos(np.outer(time, w))
        return State(S @ a + C @ b, (C * w) @ a - (S * w) @ b, -(S * w**2) @ a - (C * w**2) @ b)


class PointToPoint:
    """Runs between poses by the polynomial of least jerk, at rest at every pose.

    Args:
        bounds: Bounds of the motion.
        duration: Of all runs, s.
        runs: Number of runs.
    """

    def __init__(self, bounds: MotionBounds, duration: float, runs: int) -> None:
        if runs < 2:
            raise ArgumentError(f"{runs} runs do not come back; give 2 or more")
        self.bounds, self.duration, self.runs = bounds, duration, runs
        self.n = len(bounds.lower)
        self.size = self.n * (runs - 1)

    def states(self, x: Array, time: Array, scale: float = 1.0) -> State:
        """See `Family.states`."""
        bounds, each = self.bounds, self.duration / self.runs
        half = 0.5 * scale * (bounds.upper - bounds.lower)
        inner = bounds.middle + half * np.tanh(x.reshape(self.runs - 1, self.n))
        poses = np.vstack([bounds.middle, inner, bounds.middle])
        step = np.abs(np.diff(poses, axis=0)).max(axis=0)
        # Peaks of 10 s^3 - 15 s^4 + 6 s^5: 15/8 of the mean velocity, 10/sqrt(3) / T^2
        fit = np.minimum(
            bounds.velocity * each / (15.0 / 8.0), bounds.acceleration * each**2 / 5.7736
        )
        poses = bounds.middle + np.minimum(1.0, fit / np.maximum(step, 1e-12)) * (
            poses - bounds.middle
        )
        run = np.minimum((time / each).astype(int), self.runs - 1)
        s = (time / each - run)[:, None]
        first, change = poses[run], np.diff(poses, axis=0)[run]
        position, speed, rate = rest_to_rest(s)
        return State(first + change * position, change * speed / each, change * rate / each**2)


def family(kind: str, bounds: MotionBounds, duration: float) -> Family:
    """Return a family by name, with a size that suits the duration.

    Raises:
        ArgumentError: If there is no such family, or the duration is too short.
    """
    if not (np.isfinite(duration) and duration >= 5.0):
        raise ArgumentError(f"a duration of {duration:g} s is too short; give 5 s or more")
    if kind == "fourier":  # up to half a hertz, but few enough numbers to search
        return FourierSeries(bounds, duration, int(np.clip(round(0.5 * duration), 5, 15)))
    if kind == "points":
        return PointToPoint(bounds, duration, max(3, round(duration / 2.0)))
    raise ArgumentError(f"no motion '{kind}'; give fourier or points")


KINDS: Sequence[str] = ("fourier", "points")
