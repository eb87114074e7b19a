"""Waypoints with effort, for a controller that interpolates effort linearly.

joint_trajectory_controller interpolates effort always linearly, and from zero up
to its first point. This module therefore resamples the motion: it adds a first point
at the start, and as many points in between as the linear effort needs to stay
close to the true curve.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from robot_dynamics.errors import TrajectoryError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.trajectory.trajectory import State, Trajectory
from robot_dynamics.trajectory.waypoints import Waypoints

FINEST_S = 1e-3
"""Shortest time between two added points, s: the period of a fast controller.

It cannot follow a step in acceleration more closely.
"""

SHORTEST_PART = 4
"""Parts of a line, of which a split leaves at least one on either side."""

MOST = 1_000_000
"""Approximate largest number of samples; samples of a motion of hours are further apart."""

CONTINUOUS = 1e-6
"""Step in acceleration between pieces below which it is continuous, relative to the largest."""


def with_effort(
    trajectory: Trajectory,
    effort: Callable[[State], Array],
    *,
    tolerance: float | Array = 0.5,
) -> Waypoints:
    """Resample a motion to waypoints with effort that can be interpolated linearly.

    Args:
        trajectory: The motion.
        effort: Efforts of a state of shape (N, n), shape (N, n).
        tolerance: Largest deviation of the line from the true effort, N m or N, scalar or (n,).

    Returns:
        Waypoints from the start to the end of the motion, with velocities and effort. They have
        accelerations too, unless these have steps, which quintics cannot represent.

    Raises:
        TrajectoryError: If an effort is not finite.
    """
    breaks = trajectory.breaks[trajectory.breaks >= 0.0]  # for a motion at rest, only its end
    finest = max(FINEST_S, trajectory.end / MOST)
    steps = np.maximum(np.ceil(np.diff(breaks) / finest).astype(int), 1)
    fine = np.concatenate(
        [
            np.linspace(a, b, k, endpoint=False)
            for a, b, k in zip(breaks[:-1], breaks[1:], steps, strict=True)
        ]
        + [breaks[-1:]]
    )
    with np.errstate(over="ignore", invalid="ignore"):
        tau = effort(trajectory.sample(fine))
    if not np.isfinite(tau).all():
        k, i = np.argwhere(~np.isfinite(tau))[0]
        raise TrajectoryError(
            f"trajectory: joint '{trajectory.joint_names[i]}' has no finite effort at "
            f"{fine[k]:.3g} s; check the units of its motion"
        )
    kept = _corners(fine, tau, np.concatenate(([0], np.cumsum(steps))), tolerance)
    t = fine[kept]
    state = trajectory.sample(t)
    qdd = state.qdd if _acceleration_is_continuous(trajectory) else None
    return Waypoints(trajectory.joint_names, t, state.q, state.qd, qdd, tau[kept])


def _corners(t: Array, y: Array, first: Array, tolerance: float | Array) -> Array:
    """Return indices of samples between which straight lines stay within the tolerance.

    Lines are split at their largest deviation until it is within the tolerance (Douglas
    and Peucker), but not near an end, or the time would grow with the square of their length. The
    samples `first` are always included.
    """
    kept = set(first.tolist())
    todo = list(zip(first[:-1].tolist(), first[1:].tolist(), strict=True))
    while todo:
        i, j = todo.pop()
        if j - i < 2:
            continue
        u = ((t[i + 1 : j] - t[i]) / (t[j] - t[i]))[:, None]
        deviation = (np.abs(y[i + 1 : j] - (y[i] + u * (y[j] - y[i]))) / tolerance).max(axis=1)
        k = int(np.argmax(deviation))
        if deviation[k] > 1.0:
            near = (j - i) // SHORTEST_PART
            k = min(max(k + i + 1, i + near), j - near)
            kept.add(k)
            todo += [(i, k), (k, j)]
    return np.array(sorted(kept))


def _acceleration_is_continuous(trajectory: Trajectory) -> bool:
    c, h = trajectory.coefficients, np.diff(trajectory.breaks)[:, None]
    before = 2.0 * c[..., 2] + h * (6.0 * c[..., 3] + h * (12.0 * c[..., 4] + h * 20.0 * c[..., 5]))
    step = np.abs(before[:-1] - 2.0 * c[1:, :, 2])
    return bool(step.max(initial=0.0) <= CONTINUOUS * (1.0 + np.abs(before).max()))
