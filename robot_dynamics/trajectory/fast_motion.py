"""The fastest motion along a path within velocity and torque limits.

Along a given path q(s) the efforts are linear in s'' and in x = s'^2:

    tau = a(s) s'' + b(s) x + c(s),    a = M q_s,    b = M q_ss + h(q, q_s),    c = gravity

with h the Coriolis and centrifugal effort. One backward and one forward pass over a grid of s find
the fastest speed (reachability analysis, by the package toppra). The coefficients of all grid
points come from three batches of inverse dynamics.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics.errors import ArgumentError, TrajectoryError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.lazy import needed
from robot_dynamics.robot.robot import Robot
from robot_dynamics.trajectory.interpolation import interpolate
from robot_dynamics.trajectory.motion_limits import slowed_to_fit, violations
from robot_dynamics.trajectory.trajectory import State, Trajectory
from robot_dynamics.trajectory.waypoints import Waypoints

Inverse = Callable[[Array, Array, Array], Array]
"""Efforts, shape (N, n), of q, qd, qdd, shape (N, n) each: `Dynamics.inverse`."""

KNOTS = 80
"""Points of the path that a spline passes through."""

FINE = 1e-3
"""Relative accuracy of the duration by uniform scaling."""


@dataclass(frozen=True, eq=False)
class FastMotion:
    """A motion along a path in minimum time.

    Args:
        waypoints: Waypoints of the motion, with velocities.
        trajectory: Motion through them; it keeps all limits.
        uniform: Duration if the given motion is only scaled in time until a limit is reached, s.
    """

    waypoints: Waypoints
    trajectory: Trajectory
    uniform: float

    @property
    def duration(self) -> float:
        """Duration of the motion, s."""
        return self.trajectory.duration

    @property
    def saved(self) -> float:
        """Saved part of the duration by uniform scaling."""
        return 1.0 - self.duration / self.uniform


def minimum_time(
    robot: Robot,
    inverse: Inverse,
    motion: Trajectory,
    *,
    share: float = 0.98,
    grid: int = 400,
) -> FastMotion:
    """Follow the path of a motion as fast as velocity and torque limits allow, from rest to rest.

    Args:
        robot: Robot with limits of velocity and effort; unknown ones are infinite.
        inverse: Efforts of a motion, for a batch: `Dynamics(robot).inverse`.
        motion: Motion along the path; its timing is ignored.
        share: Part of the limits to use; the rest is a margin between grid points.
        grid: Number of points of the path at which the limits are kept: waypoints of the result.

    Returns:
        The motion, and the duration of uniform scaling beside it.

    Raises:
        MissingPackageError: If toppra is not installed.
        ArgumentError: If the share is out of range, or the robot has no limit.
        TrajectoryError: If the motion stands still, or gravity alone exceeds the effort limits.
    """
    if not 0.0 < share <= 1.0:
        raise ArgumentError(f"share is {share}; give a part of the limits, above 0 and up to 1")
    limits = robot.limits
    known = (_strongest(robot), limits.velocity, limits.acceleration)
    if not np.isfinite(known).any():
        raise ArgumentError(
            f"robot '{robot.name}' has no limit of velocity, acceleration or effort"
        )
    path = _path(motion)
    first, last = (float(end) for end in path.path_interval)
    s = np.linspace(first, last, grid)
    rate = _along(path, s, inverse, robot, share)
    # s'' is constant between grid points: waypoints elsewhere would miss its steps
    t = np.concatenate([[0.0], np.cumsum(2.0 * np.diff(s) / (rate[1:] + rate[:-1]))])
    points = Waypoints(motion.joint_names, t, path(s), path(s, 1) * rate[:, None])

    def check(one: Trajectory) -> Any:
        return violations(one, robot, lambda state: inverse(*map(np.ascontiguousarray, state)))

    trajectory, factor = slowed_to_fit(points, interpolate, check)
    points = points.slowed(factor) if factor > 1.0 else points
    return FastMotion(points, trajectory, _uniform(motion, robot, inverse))


def _strongest(robot: Robot) -> Array:
    """Return the effort limits, infinite where unknown, shape (n,)."""
    return np.where(robot.limits.effort > 0.0, robot.limits.effort, np.inf)


def _path(motion: Trajectory) -> Any:
    """Return the path as a spline over its length, with equal weight for every joint."""
    toppra = needed("toppra", "minimum time", "study")
    q = motion.sample(np.linspace(motion.start, motion.end, 40 * KNOTS)).q
    length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(q, axis=0), axis=1))])
    if length[-1] == 0.0:
        raise TrajectoryError("trajectory: the motion stands still; there is no path to follow")
    s = np.linspace(0.0, length[-1], KNOTS)
    at = np.unique(np.searchsorted(length, s).clip(0, len(q) - 1))
    return toppra.SplineInterpolator(length[at], q[at])


def _along(path: Any, s: Array, inverse: Inverse, robot: Robot, share: float) -> Array:
    """Compute the largest rates s' within a share of the limits at points s, shape (N,)."""
    toppra = needed("toppra", "minimum time", "study")
    limits, of = robot.limits, toppra.constraint
    constraints = [_torque_constraint(inverse, share * _strongest(robot))]
    for kind, bound in (
        (of.JointVelocityConstraint, share * limits.velocity),
        (of.JointAccelerationConstraint, share * limits.acceleration),
    ):
        if np.isfinite(bound).any():
            bound = np.where(np.isfinite(bound), bound, 1e6)  # noqa: PLW2901
            constraints.append(kind(np.stack([-bound, bound], 1)))
    solver = toppra.algorithm.TOPPRA(constraints, path, gridpoints=s, solver_wrapper="seidel")
    rates = solver.compute_parameterization(0.0, 0.0)[1]
    if rates is None or not np.isfinite(rates).all():
        raise TrajectoryError(
            "trajectory: no speed keeps the torque limits along the path; gravity alone may be "
            "more than a joint can hold"
        )
    return np.maximum(rates, 0.0)


def _torque_constraint(inverse: Inverse, strongest: Array) -> Any:
    constraint = needed("toppra", "minimum time", "study").constraint
    bounded = np.flatnonzero(np.isfinite(strongest))

    class TorqueLimits(constraint.LinearConstraint):  # type: ignore[misc,name-defined]
        """-limit <= a s'' + b x + c <= limit at every grid point."""

        def __init__(self) -> None:
            super().__init__()
            self.identical = True
            self.set_discretization_type(constraint.DiscretizationType.Collocation)

        def compute_constraint_params(self, path: Any, points: Array) -> tuple[Any, ...]:
            q, q_s, q_ss = (np.ascontiguousarray(path(points, order)) for order in range(3))
            none = np.zeros_like(q)
            c = inverse(q, none, none)
            a, b = inverse(q, none, q_s) - c, inverse(q, q_s, q_ss) - c
            signs = np.concatenate([np.eye(len(bounded)), -np.eye(len(bounded))])
            parts = (np.ascontiguousarray(x[:, bounded]) for x in (a, b, c))
            return (*parts, signs, np.tile(strongest[bounded], 2), None, None)

    return TorqueLimits()


def _uniform(motion: Trajectory, robot: Robot, inverse: Inverse) -> float:
    """Compute the duration of the motion scaled in time until a limit is reached, s."""
    t = np.linspace(motion.start, motion.end, 1000)
    q, qd, qdd = (np.ascontiguousarray(x) for x in motion.sample(t))
    limits = robot.limits

    def fits(factor: float) -> bool:
        state = State(q, qd / factor, qdd / factor**2)
        tau = inverse(*state)
        pairs = (
            (state.qd, limits.velocity),
            (state.qdd, limits.acceleration),
            (tau, _strongest(robot)),
        )
        return all(bool((np.abs(value) <= most).all()) for value, most in pairs)

    low, high = 1e-3, 1e3
    if not fits(high):
        return float(np.inf)
    while high / low > 1.0 + FINE:
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high * (motion.end - motion.start)
