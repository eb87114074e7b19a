"""Predefined motions: those of the papers, and some for any robot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.robot import Robot
from robot_dynamics.trajectory.waypoints import Waypoints

UNLIMITED_HALF_RANGE = {"rotates": 1.0, "slides": 0.1}
"""Half the range of a motion at a joint without limits: rad, and m."""


def cycloidal(
    joint_names: Sequence[str],
    first: npt.ArrayLike,
    last: npt.ArrayLike,
    duration: float,
    *,
    rate: float = 100.0,
) -> Waypoints:
    """Move from one pose to another by a cycloid, at rest and without acceleration at both ends.

    The joint motion of the worked examples of [Angeles1989], section 7.1:
    q = q_0 + A (t - sin(B t) / B), with B = 2 pi / T and A = (q_T - q_0) / T.

    Args:
        joint_names: n names.
        first: Pose at time zero, shape (n,), rad or m.
        last: Pose at the end, shape (n,), rad or m.
        duration: T, s.
        rate: Waypoints per second.

    Returns:
        Waypoints with velocities and accelerations, round(duration rate) + 1 of them.

    Raises:
        ArgumentError: If the duration is not positive.

    Examples:
        >>> from robot_dynamics.trajectory import cycloidal
        >>> motion = cycloidal(("shoulder", "elbow"), [0.0, 0.0], [1.0, -0.5], 2.0)
        >>> motion.positions[100].round(3)  # half-way
        array([ 0.5 , -0.25])
    """
    q0, q1 = np.asarray(first, dtype=float), np.asarray(last, dtype=float)
    t = _grid(duration, rate)[:, None]
    A, B = (q1 - q0) / duration, 2.0 * np.pi / duration
    return Waypoints(
        tuple(joint_names),
        t[:, 0],
        q0 + A * (t - np.sin(B * t) / B),
        A * (1.0 - np.cos(B * t)),
        A * B * np.sin(B * t),
    )


def polynomial_345(
    joint_names: Sequence[str], first: npt.ArrayLike, last: npt.ArrayLike, duration: float
) -> Waypoints:
    """Move from one pose to another by 10 s^3 - 15 s^4 + 6 s^5, the polynomial of least jerk.

    Two points suffice: `interpolate` returns exactly this polynomial between them.

    Args:
        joint_names: n names.
        first: Pose at time zero, shape (n,), rad or m.
        last: Pose at the end, shape (n,), rad or m.
        duration: Time from one to the other, s.

    Returns:
        Two waypoints, at rest.
    """
    q = np.array([first, last], dtype=float)
    return Waypoints(
        tuple(joint_names), np.array([0.0, duration]), q, np.zeros_like(q), np.zeros_like(q)
    )


SPLINE_KNOTS = (1.0 / 3.0, 2.0 / 3.0)
"""Knots of `normal_spline`: the fewest that there can be, equally spaced."""


def rest_to_rest(u: Any) -> tuple[Any, Any, Any]:
    """Return the motion from rest at 0 to rest at 1 with the least jerk, and its two derivatives.

    Args:
        u: Time as a part of the duration, 0 to 1, numbers or symbols.
    """
    v = 1.0 - u
    return u**3 * (10.0 - 15.0 * u + 6.0 * u**2), 30.0 * (u * v) ** 2, 60.0 * u * v * (v - u)


def normal_spline(
    u: npt.ArrayLike, knots: tuple[float, float] = SPLINE_KNOTS
) -> tuple[Array, Array, Array]:
    """Grow from 0 to 1 by a cubic spline at rest and without acceleration at both ends.

    [Angeles1989], section 7.2, has a normal spline "with zero initial and final velocities and
    accelerations". A natural cubic spline has no acceleration at its ends and a complete one a
    given velocity; to have both it needs two knots inside, which determine it: acceleration runs
    along straight lines through 0, 6/k_2, -6/(1 - k_1) and 0.

    Args:
        u: Parts of the duration, any shape, from 0 to 1.
        knots: k_1 and k_2, parts of the duration.

    Returns:
        The growth and its first two derivatives with respect to u.

    Raises:
        ArgumentError: If there are not two knots that increase between 0 and 1.
    """
    if len(knots) != 2 or not 0.0 < knots[0] < knots[1] < 1.0:
        raise ArgumentError(f"knots are {knots}; give two that increase between 0 and 1")
    (k_1, k_2), x = knots, np.asarray(u, dtype=np.float64)
    a_1, a_2 = 6.0 / k_2, -6.0 / (1.0 - k_1)
    jerk = np.array([a_1 / k_1, (a_2 - a_1) / (k_2 - k_1), -a_2 / (1.0 - k_2)])
    since = np.maximum(x[..., None] - np.array([0.0, k_1, k_2]), 0.0)
    change = np.diff(jerk, prepend=0.0)  # at each knot
    s, sd, sdd = (since**k @ change for k in (3, 2, 1))
    return s / 6.0, sd / 2.0, sdd


class AngleProfile(NamedTuple):
    """An angle over time and its first two derivatives: rad, rad/s, rad/s^2."""

    angle: Array
    rate: Array
    acceleration: Array


def circle_law(
    t: npt.ArrayLike,
    durations: tuple[float, float, float] = (3.0, 3.0, 3.0),
    turn: float = 2 * np.pi,
) -> AngleProfile:
    """Compute the angle psi(t) of a motion on a circle: a cam law with cycloidal start and stop.

    [Gupta1986], eqs. (32) to (34): half a cycloid, constant speed, half a
    cycloid, with continuous acceleration. The point rests before the start and
    after the end.

    Args:
        t: Times, any shape, s.
        durations: T_1, T_2, T_3 of the three segments, s.
        turn: Total angle, rad.

    Returns:
        Angle, rate and acceleration, shape of t each.
    """
    T1, T2, T3 = durations
    time: Array = np.clip(np.asarray(t, dtype=float), 0.0, T1 + T2 + T3)
    speed = 2.0 * turn / (T1 + 2.0 * T2 + T3)  # of the middle segment; the others average half

    def half_cycloid(u: Array, T: float) -> AngleProfile:
        k = np.pi / T
        return AngleProfile(
            speed / 2.0 * (u - np.sin(k * u) / k),
            speed / 2.0 * (1.0 - np.cos(k * u)),
            speed / 2.0 * k * np.sin(k * u),
        )

    start, stop = half_cycloid(time, T1), half_cycloid(T1 + T2 + T3 - time, T3)
    segments = [time < T1, time <= T1 + T2]
    still, steady = np.zeros_like(time), np.full_like(time, speed)
    return AngleProfile(
        np.select(segments, [start.angle, speed * (time - T1 / 2.0)], turn - stop.angle),
        np.select(segments, [start.rate, steady], stop.rate),
        np.select(segments, [start.acceleration, still], -stop.acceleration),
    )


def excitation(
    robot: Robot,
    duration: float = 10.0,
    *,
    share: float = 0.5,
    speed_share: float = 0.5,
    centre: npt.ArrayLike | None = None,
    rate: float = 100.0,
) -> Waypoints:
    """Oscillate all joints at once, each at its own frequency, within the limits of any robot.

    q_i = c_i + A_i sin^2(pi t / T) sin(2 pi k_i t / T) starts and ends at c, at
    rest and without acceleration, and is deterministic. The limits are those of
    each joint alone; collisions are not considered.

    Args:
        robot: Any robot with n joints.
        duration: T, s.
        share: Part of the position range to use, in (0, 1].
        speed_share: Part of the velocity limit to use, in (0, 1].
        centre: Pose c of the oscillation, shape (n,), rad or m; by default `middle_pose`.
        rate: Waypoints per second.

    Returns:
        Waypoints with velocities and accelerations.

    Raises:
        ArgumentError: If a share is out of range, or `centre` is outside the limits.
    """
    for name, value in (("share", share), ("speed_share", speed_share)):
        if not 0.0 < value <= 1.0:
            raise ArgumentError(f"{name} is {value}; give a part of the range, above 0 and up to 1")
    c = middle_pose(robot) if centre is None else np.asarray(centre, dtype=float)
    half = _half_ranges(robot, c)
    cycles = 1.0 + np.arange(robot.dof) % 3  # three frequencies keep neighbours apart
    t = _grid(duration, rate)[:, None]
    k = np.pi / duration
    e, ed, edd = np.sin(k * t) ** 2, k * np.sin(2.0 * k * t), 2.0 * k**2 * np.cos(2.0 * k * t)
    w = 2.0 * np.pi * cycles / duration
    s, sd, sdd = np.sin(w * t), w * np.cos(w * t), -(w**2) * np.sin(w * t)
    shape, shape_d, shape_dd = e * s, ed * s + e * sd, edd * s + 2.0 * ed * sd + e * sdd
    amplitude = np.min(
        [
            share * half / np.abs(shape).max(axis=0),
            speed_share * robot.limits.velocity / np.abs(shape_d).max(axis=0),
            speed_share * robot.limits.acceleration / np.abs(shape_dd).max(axis=0),
        ],
        axis=0,
    )
    return Waypoints(
        robot.joint_names,
        t[:, 0],
        c + amplitude * shape,
        amplitude * shape_d,
        amplitude * shape_dd,
    )


def random_poses(
    robot: Robot,
    points: int = 6,
    *,
    seed: int,
    share: float = 0.5,
    speed_share: float = 0.5,
) -> Waypoints:
    """Pass through random poses and return to the start.

    Waypoints have positions only; `interpolate` makes a spline of them. The time
    between two poses keeps the peak velocity of a move from rest to rest within
    the velocity share.

    Args:
        robot: Any robot with n joints.
        points: Number of random poses.
        seed: The same seed gives the same poses.
        share: Part of the position range to use, in (0, 1].
        speed_share: Part of the velocity limit to use, in (0, 1].

    Returns:
        Waypoints of positions, from the middle of the ranges back to it.
    """
    c = middle_pose(robot)
    random = np.random.default_rng(seed)
    q = c + share * _half_ranges(robot, c) * random.uniform(-1.0, 1.0, (points, robot.dof))
    q = np.vstack((c, q, c))
    speed = np.where(np.isfinite(robot.limits.velocity), robot.limits.velocity, 1.0) * speed_share
    displacement = np.abs(np.diff(q, axis=0))
    # 15/8 is the peak of the 3-4-5 polynomial's speed over its mean; 10/3 sqrt(3) that of its
    # acceleration, for a way and a duration of 1
    needed = 1.875 * np.max(displacement / speed, axis=1)
    by_acceleration = np.max(
        np.sqrt(10.0 / np.sqrt(3.0) * displacement / (speed_share * robot.limits.acceleration)),
        axis=1,
    )
    needed = np.max([needed, by_acceleration, np.full(points + 1, 0.1)], axis=0)
    times = np.concatenate(([0.0], np.cumsum(needed)))
    return Waypoints(robot.joint_names, times, q)


def middle_pose(robot: Robot) -> Array:
    """Return the middle of each joint's range, shape (n,); of an open range the point nearest 0."""
    lower, upper = robot.limits.lower, robot.limits.upper
    bounded = np.isfinite(lower) & np.isfinite(upper)
    with np.errstate(invalid="ignore"):
        return np.where(bounded, (lower + upper) / 2.0, np.clip(0.0, lower, upper))


def sample_poses(robot: Robot, count: int = 200) -> Array:
    """Return uniformly distributed poses within the joint ranges, with a fixed seed, (count, n)."""
    c = middle_pose(robot)
    uniform = np.random.default_rng(0).uniform(-1.0, 1.0, (count, robot.dof))
    return c + uniform * _half_ranges(robot, c)


def _half_ranges(robot: Robot, centre: Array) -> Array:
    """Return the largest symmetric range of each joint about `centre`, shape (n,)."""
    half = np.minimum(robot.limits.upper - centre, centre - robot.limits.lower)
    if np.any(half < 0.0):
        name = robot.joint_names[int(np.argmin(half))]
        raise ArgumentError(f"centre: joint '{name}' is outside its limits; choose a pose within")
    free = [
        UNLIMITED_HALF_RANGE["rotates" if joint.type.rotates else "slides"]
        for joint in robot.independent_joints
    ]
    return np.where(np.isfinite(half), half, free)


def _grid(duration: float, rate: float) -> Array:
    if not (np.isfinite(duration) and duration > 0.0):
        raise ArgumentError(f"duration is {duration} s; give a positive time")
    return np.linspace(0.0, duration, max(2, round(duration * rate) + 1))
