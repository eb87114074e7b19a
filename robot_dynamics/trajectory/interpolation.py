"""Interpolation: from waypoints to a trajectory.

As in joint_trajectory_controller, the fields given at both ends of a segment
determine its polynomial: positions, velocities and accelerations a quintic, positions
and velocities a cubic. For positions alone, that controller uses straight lines, whose
accelerations no motor can follow. Here such runs of points become a spline of least
squared jerk, smooth to the fourth derivative and at rest at its ends.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from robot_dynamics.errors import TrajectoryError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.units import FULL_TURN
from robot_dynamics.trajectory.trajectory import MOMENT_S, ORDER, State, Trajectory
from robot_dynamics.trajectory.waypoints import Waypoints


def interpolate(
    waypoints: Waypoints,
    *,
    start: State | None = None,
    joint_names: Sequence[str] | None = None,
    continuous: Sequence[bool] | Array | None = None,
    smoothness: int = 2,
) -> Trajectory:
    """Interpolate the motion through the waypoints.

    Args:
        waypoints: m points of some or all joints.
        start: State of all of `joint_names` at time zero, shape (n,) each. The motion goes from
            there to a later first point without a jump in position, velocity or acceleration;
            joints without waypoints stay there.
        joint_names: Joints of the result, in order; by default those of the waypoints.
        continuous: Which of `joint_names` are continuous, shape (n,); their waypoints are shifted
            by multiples of 2 pi to begin nearest to `start`.
        smoothness: Number of derivatives that are continuous from rest to rest. With 4, as the
            motors of elastic joints need it, the motion is the spline of degree five through the
            positions of all points; jerk and snap are zero at both ends, and of the derivatives
            of points only those of the first and the last one count.

    Returns:
        The trajectory; its times are those of the waypoints.

    Raises:
        TrajectoryError: If a waypoint joint is not in `joint_names`, joints without waypoints
            have no start, or there is no such smoothness.

    Examples:
        >>> from robot_dynamics.trajectory import interpolate, polynomial_345
        >>> points = polynomial_345(("shoulder", "elbow"), [0.0, 0.0], [1.0, -0.5], 2.0)
        >>> motion = interpolate(points)
        >>> q, qd, qdd = motion.sample(1.0)
        >>> q.round(3), qd.round(3)
        (array([ 0.5 , -0.25]), array([ 0.938, -0.469]))
    """
    if smoothness not in (2, 4):
        raise TrajectoryError(f"smoothness is {smoothness}; give 2 or 4")
    names = waypoints.joint_names if joint_names is None else tuple(joint_names)
    column = {name: i for i, name in enumerate(names)}
    unknown = [name for name in waypoints.joint_names if name not in column]
    if unknown:
        raise TrajectoryError(
            f"trajectory: no joint '{unknown[0]}' among {', '.join(names)}; use those names"
        )
    missing = [name for name in names if name not in waypoints.joint_names]
    if missing and start is None:
        raise TrajectoryError(
            f"trajectory: joint '{missing[0]}' has no waypoints and no state to stay at; "
            "give the start state"
        )
    given = np.array([column[name] for name in waypoints.joint_names])
    begin = None if start is None else State(*(np.asarray(x, dtype=float)[given] for x in start))
    turning = (
        np.zeros(len(given), dtype=bool) if continuous is None else np.array(continuous)[given]
    )

    breaks, c = _through(waypoints, begin, turning, smoothness)
    coefficients = np.zeros((len(c), len(names), ORDER))
    if start is not None:
        coefficients[:, :, 0] = start.q
    coefficients[:, given] = c
    return Trajectory(names, breaks, coefficients, smoothness)


def quintic(duration: Array, first: State, last: State) -> Array:
    """Compute the coefficients of the quintic from one state to another, of numbers or symbols.

    Args:
        duration: Time between them, shape (...,) or scalar, s.
        first: State at time zero, shape (..., n) each.
        last: State at `duration`, shape (..., n) each.

    Returns:
        Coefficients of ascending powers of time, shape (..., n, 6).
    """
    T = np.asarray(duration)[..., None]
    q, v, a = first.q, first.qd * T, first.qdd * T**2  # in units of the duration
    D = last.q - q - v - a / 2.0  # contribution of the upper three terms
    V = last.qd * T - v - a
    A = last.qdd * T**2 - a
    scaled = (
        q,
        v,
        a / 2.0,
        10.0 * D - 4.0 * V + A / 2.0,
        -15.0 * D + 7.0 * V - A,
        6.0 * D - 3.0 * V + A / 2.0,
    )
    return np.stack([x / T**p for p, x in enumerate(scaled)], axis=-1)


def _through(
    waypoints: Waypoints, start: State | None, continuous: Array, smoothness: int
) -> tuple[Array, Array]:
    """Return breaks and coefficients of the motion of the joints of the waypoints."""
    t, q = waypoints.times, waypoints.positions
    absent = np.full_like(q, np.nan)
    qd = absent if waypoints.velocities is None else waypoints.velocities
    qdd = absent if waypoints.accelerations is None else waypoints.accelerations
    if start is not None:
        turns = np.round((start.q - q[0]) / FULL_TURN)  # begin nearest to the start
        q = q + np.where(continuous, turns, 0.0) * FULL_TURN
        if t[0] > MOMENT_S:
            t = np.concatenate(([0.0], t))
            q, qd, qdd = (np.vstack((x, y)) for x, y in zip(start, (q, qd, qdd), strict=True))
    if len(t) == 1:  # a single point at its own time: hold there
        hold = Trajectory.hold(waypoints.joint_names, q[0])
        return np.array([t[0], t[0] + MOMENT_S]), hold.coefficients
    if smoothness == 4:
        return _smooth(t, q, *(np.nan_to_num(x[[0, -1]]) for x in (qd, qdd)))
    from_start = start is not None and len(t) > len(waypoints.times)
    return t, _segments(t, q, qd, qdd, smooth_first=from_start)


def _segments(t: Array, q: Array, qd: Array, qdd: Array, *, smooth_first: bool) -> Array:
    """Compute coefficients of all segments, shape (m - 1, n, 6), by the fields at both ends.

    Every segment is the quintic through the states at its ends. The kinds differ only in the
    source of velocity and acceleration; a cubic is the quintic with the cubic's accelerations.
    """
    has_velocity = np.array(~np.isnan(qd).any(axis=1))
    has_acceleration = has_velocity & ~np.isnan(qdd).any(axis=1)
    both = has_velocity[:-1] & has_velocity[1:]
    if smooth_first:
        # A cubic would make a step in acceleration at the present state
        both[0] = both[0] and bool(has_acceleration[1])
    by_acceleration = both & has_acceleration[:-1] & has_acceleration[1:]
    cubic = both & ~by_acceleration

    first, last = (
        State(q[:-1], qd[:-1].copy(), qdd[:-1].copy()),
        State(q[1:], qd[1:].copy(), qdd[1:].copy()),
    )
    h = np.diff(t)[:, None]
    slope = np.diff(q, axis=0) / h
    first.qdd[cubic] = ((6.0 * slope - 4.0 * first.qd - 2.0 * last.qd) / h)[cubic]
    last.qdd[cubic] = ((-6.0 * slope + 2.0 * first.qd + 4.0 * last.qd) / h)[cubic]

    for i, j in runs(~both):  # points i to j have positions only between them
        v = [qd[i] if has_velocity[i] else 0.0, qd[j] if has_velocity[j] else 0.0]
        a = [
            qdd[i] if has_acceleration[i] else last.qdd[i - 1] if i > 0 else 0.0,
            qdd[j] if has_acceleration[j] else first.qdd[j] if j < len(h) else 0.0,
        ]
        state = _least_jerk(t[i : j + 1], q[i : j + 1], v, a)
        for end, rows in ((first, slice(0, -1)), (last, slice(1, None))):
            end.qd[i:j], end.qdd[i:j] = state.qd[rows], state.qdd[rows]
    return quintic(h[:, 0], first, last)


def _smooth(t: Array, q: Array, v: Array, a: Array) -> tuple[Array, Array]:
    """Return breaks and coefficients of the quintic spline without jerk and snap at its ends.

    Two knots in the first and in the last segment, besides the points, make these conditions
    possible; all derivatives up to the fourth are continuous.

    Args:
        t: Times of the points, shape (m,), s.
        q: Positions, shape (m, n).
        v: Velocities at both ends, shape (2, n).
        a: Accelerations at both ends, shape (2, n).
    """
    from scipy.interpolate import make_interp_spline  # noqa: PLC0415  # as below

    scale = t[-1] - t[0]
    s = (t - t[0]) / scale
    thirds = np.array([1.0, 2.0]) / 3.0
    inner = [s[0] + thirds * (s[1] - s[0]), s[-2] + thirds * (s[-1] - s[-2])]
    if len(s) == 2:
        inner = [np.array([1.0, 2.0, 3.0, 4.0]) / 5.0]
    knots = np.concatenate([np.full(ORDER, 0.0), *inner, s[1:-1], np.full(ORDER, 1.0)])
    none = np.zeros_like(q[0])
    ends = [[(1, v[e] * scale), (2, a[e] * scale**2), (3, none), (4, none)] for e in (0, 1)]
    spline = make_interp_spline(s, q, k=5, t=np.sort(knots), bc_type=(ends[0], ends[1]))
    begins = spline.t[ORDER - 1 : -ORDER]
    c = [spline(begins, p) / (math.factorial(p) * scale**p) for p in range(ORDER)]
    return np.append(t[0] + scale * begins, t[-1]), np.stack(c, axis=-1)


def runs(marked: Array) -> list[tuple[int, int]]:
    """Return first and one past the last index of every run of True."""
    steps = np.diff(np.concatenate(([0], marked.astype(int), [0])))
    starts, ends = np.flatnonzero(steps == 1), np.flatnonzero(steps == -1)
    return [(int(i), int(j)) for i, j in zip(starts, ends, strict=True)]


def _least_jerk(t: Array, q: Array, v: list[Array | float], a: list[Array | float]) -> State:
    """Return the state at all points of the spline of least squared jerk, shape (m, n) each.

    It is the piecewise quintic with continuous derivatives up to the fourth, and with
    velocities v and accelerations a at the two ends.
    """
    # Imported late: it takes as long as all other imports of a node, and few motions need it
    from scipy.interpolate import make_interp_spline  # noqa: PLC0415

    scale = t[-1] - t[0]  # time in units of the duration, for good conditioning
    s = (t - t[0]) / scale
    ends = [
        [
            (1, np.broadcast_to(v[e], q[0].shape) * scale),
            (2, np.broadcast_to(a[e], q[0].shape) * scale**2),
        ]
        for e in (0, 1)
    ]
    spline = make_interp_spline(s, q, k=5, bc_type=(ends[0], ends[1]))
    return State(q, spline(s, 1) / scale, spline(s, 2) / scale**2)
