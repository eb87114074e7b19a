"""Search for the motion of a family that is most informative about an arm's parameters.

The measure is the information matrix of least squares: columns of base parameters and friction,
rows weighted by the effort limits. An evolution strategy improves its determinant (D-optimality)
or its condition number: it mutates the best motion and adapts the step by the one-fifth rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from robot_dynamics.control.friction import Friction
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.errors import ArgumentError, RobotError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.lazy import imported
from robot_dynamics.identification.excitation.motion_families import (
    Family,
    MotionBounds,
    family,
)
from robot_dynamics.identification.excitation.surroundings import Surroundings
from robot_dynamics.robot.robot import Robot
from robot_dynamics.trajectory.motion_limits import EFFORT_SHARE, SCALES, usable_effort
from robot_dynamics.trajectory.trajectory import State
from robot_dynamics.trajectory.waypoints import Waypoints

CRITERIA = ("determinant", "condition")

STATES = 160
"""State of a motion that are evaluated."""

REVERSAL = 1e-9
"""Speed up to which Coulomb friction of an effort that is looked at is not whole, rad/s or m/s."""

POSES = 1000
"""Poses to try if the arm cannot stand in the middle of its bounds."""

FIRST = 0.2
"""Share of the trials drawn at random before the best of them is improved."""

CROSSING = 0.05
"""Share of a joint's speed within which Coulomb friction changes its sign."""


@dataclass(frozen=True, eq=False)
class Excitation:
    """A motion for identification.

    Args:
        motion: Waypoints, at rest at both ends.
        condition: Condition number of the weighted columns, each scaled to length one.
        first_condition: Of the first motion that was tried.
        gain: Standard deviations of the parameters by the first motion, over those by this one
            (geometric mean); infinite if the first was not possible.
        trials: Motions that were tried.
        stopped: Whether it was stopped before all trials.
    """

    motion: Waypoints
    condition: float
    first_condition: float
    gain: float
    trials: int
    stopped: bool


Progress = Callable[[int, float], None]
"""Receives the number of trials so far and the condition number of the best."""


def excite(
    robot: Robot,
    duration: float = 20.0,
    *,
    kind: str = "fourier",
    criterion: str = "determinant",
    trials: int = 2000,
    seed: int = 0,
    bounds: MotionBounds | None = None,
    box: npt.ArrayLike | None = None,
    clearance: float = 0.0,
    shapes: Mapping[str, Array] | None = None,
    rate: float = 100.0,
    progress: Progress | None = None,
) -> Excitation:
    """Design a motion; Ctrl-C returns the best so far.

    Args:
        robot: Its limits are kept; its inertias and friction decide which efforts a motion takes.
        duration: s.
        kind: "fourier" or "points".
        criterion: "determinant" (D-optimality) or "condition".
        trials: Motions to try.
        seed: The same seed gives the same motion.
        bounds: Bounds of the motion, by default `MotionBounds.of(robot)`; if the arm cannot stand
            in their middle, the part about another pose is used.
        box: Where all links must stay: lowest and highest corner, shape (2, 3), m, in axes of
            the root link.
        clearance: Least distance of links that are no neighbours, m: of the hulls of `shapes`,
            or of lines along links.
        shapes: Points of every link that has a mesh, shape (v, 3), m, in its frame.
        rate: Waypoints per second.
        progress: Called from time to time.

    Returns:
        The motion, and its condition number.

    Raises:
        ArgumentError: If an argument is out of range.
        RobotError: If the arm collides with itself at rest, or is too weak to move.
    """
    if criterion not in CRITERIA:
        raise ArgumentError(f"no criterion '{criterion}'; give {' or '.join(CRITERIA)}")
    if trials < 1:
        raise ArgumentError(f"{trials} trials are none; give 1 or more")
    random = imported("numpy.random").default_rng(seed)
    surroundings = Surroundings.of(robot, box, clearance, shapes)
    dynamics = Dynamics(robot)
    bounds = _standing(dynamics, bounds or MotionBounds.of(robot), surroundings, random)
    search = _Search(dynamics, family(kind, bounds, duration), criterion, surroundings)
    best, done, stopped = search.run(trials, random, progress)
    if not best.scale:
        raise RobotError(
            f"none of {done} motions is within efforts, box and clearance; look at effort limits, "
            "damping and friction of the URDF, or give another box or clearance"
        )
    time = np.linspace(0.0, duration, round(duration * rate) + 1)
    states = search.family.states(best.x, time, best.scale)
    motion = Waypoints(robot.joint_names, time, states.q, states.qd, states.qdd)
    gain = search.first.deviation / best.deviation
    return Excitation(motion, best.condition, search.first.condition, gain, done, stopped)


def _movable_effort(robot: Robot) -> Array:
    """Return the usable efforts less Coulomb friction, shape (n,), N m or N.

    Raises:
        RobotError: If nothing is left for a joint.
    """
    coulomb, limit = Friction.of(robot).coulomb, usable_effort(robot)
    stuck = np.flatnonzero(coulomb >= limit)
    if len(stuck):
        j = stuck[0]
        raise RobotError(
            f"joint '{robot.joint_names[j]}': friction of {coulomb[j]:.4g} N m or N holds it "
            f"against {100 * EFFORT_SHARE:.0f} % of its effort limit of "
            f"{robot.limits.effort[j]:.4g}; correct one of them in the URDF, or fix the joint there"
        )
    return limit - coulomb


def _standing(
    dynamics: Dynamics,
    bounds: MotionBounds,
    surroundings: Surroundings,
    random: np.random.Generator,
) -> MotionBounds:
    """Return the bounds, or their largest part about a pose where the arm can stand."""
    limit = _movable_effort(dynamics.robot)

    def free(pose: Array) -> bool:
        moved = bool((np.abs(dynamics.gravity(pose)) <= limit).all())
        return moved and surroundings.violation(pose[None]) <= 0.0

    if free(bounds.middle):
        return bounds
    poses = random.uniform(bounds.lower, bounds.upper, (POSES, len(bounds.lower)))
    candidates = [bounds.about(pose) for pose in poses if free(pose)]
    if not candidates:
        raise RobotError(
            f"none of {POSES} poses of the arm is within efforts, box and clearance; give another "
            "box or clearance, or other limits"
        )
    return max(candidates, key=lambda part: float(np.prod(part.upper - part.lower)))


@dataclass(frozen=True, eq=False)
class _Trial:
    x: Array
    scale: float
    merit: float
    condition: float
    deviation: float


class _Search:
    """Trials of motions of one robot."""

    def __init__(
        self, dynamics: Dynamics, family: Family, criterion: str, surroundings: Surroundings
    ) -> None:
        self.dynamics, self.family, self.criterion = dynamics, family, criterion
        self.surroundings = surroundings
        self.limit = usable_effort(dynamics.robot)
        self.friction = Friction.of(dynamics.robot)
        self.base = np.array([b.value for b in self.dynamics.base_parameters])
        self.time = np.linspace(0.0, family.duration, STATES, endpoint=False)

    def run(
        self, trials: int, random: np.random.Generator, progress: Progress | None
    ) -> tuple[_Trial, int, bool]:
        """Return the best trial, the number of trials, and whether the search was stopped."""
        self.first = best = self._try(random.normal(size=self.family.size))
        step, done = 0.3, 1
        try:
            for done in range(2, trials + 1):
                if done < FIRST * trials:
                    new = self._try(random.normal(size=self.family.size), best.merit)
                    best = max(best, new, key=lambda trial: trial.merit)
                else:
                    change = random.normal(size=self.family.size)
                    change *= random.random(self.family.size) < 0.3
                    new = self._try(best.x + step * change, best.merit)
                    better = new.merit > best.merit
                    best = new if better else best
                    step = min(max(step * (1.5 if better else 0.92), 1e-3), 1.0)
                if progress is not None and done % 20 == 0:
                    progress(done, best.condition)
        except KeyboardInterrupt:
            return best, done, True
        return best, done, False

    def _try(self, x: Array, least: float = -np.inf) -> _Trial:
        """Shrink the motion x until it is within efforts and surroundings.

        A motion with a merit up to `least` is discarded before its surroundings are checked.
        """
        for scale in SCALES:
            states = self.family.states(x, self.time, scale)
            Y = self.dynamics.regressor(*states)
            effort = Y @ self.base + self.friction.smooth(states.qd, REVERSAL)
            if (np.abs(effort) > self.limit).any():
                continue
            merit, condition, deviation = self._shown(Y, states)
            if merit <= least or self.surroundings.violation(states.q) <= 0.0:
                return _Trial(x, scale, merit, condition, deviation)
        return _Trial(x, 0.0, -np.inf, np.inf, np.inf)

    def _shown(self, Y: Array, states: State) -> tuple[float, float, float]:
        """Return merit and condition number of a motion, and the mean deviation by it."""
        n = Y.shape[1]
        speed = self.family.bounds.velocity
        tau = np.sqrt(np.mean((Y @ self.base) ** 2, axis=0))
        weight = 1.0 / np.where(np.isfinite(self.limit), self.limit, np.maximum(tau, 1e-3))
        A = np.concatenate([Y, self._friction(states, speed)], axis=2) * weight[:, None]
        A = A.reshape(-1, Y.shape[2] + 2 * n)
        length = np.linalg.norm(A, axis=0)
        if not length.all():
            return -np.inf, np.inf, np.inf
        values = np.linalg.eigvalsh((A / length).T @ (A / length))
        condition = float(np.sqrt(values[-1] / max(values[0], 1e-30)))
        information = np.log(np.maximum(values, 1e-30)).sum() + 2.0 * np.log(length).sum()
        merit = -condition if self.criterion == "condition" else float(information)
        return merit, condition, float(np.exp(-0.5 * information / len(length)))

    def _friction(self, states: State, speed: Array) -> Array:
        N, n = states.qd.shape
        columns = np.zeros((N, n, 2 * n))
        at = np.arange(n)
        columns[:, at, at] = states.qd
        columns[:, at, n + at] = np.tanh(states.qd / (CROSSING * speed))
        return columns
