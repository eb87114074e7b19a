"""Waypoints: joint positions at given times, with optional derivatives and effort.

Every motion, from a message, a file or a function, is checked here: it has one row
per point, one column per joint, finite numbers and increasing times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.errors import TrajectoryError, nearest
from robot_dynamics.foundation.arrays import Array, frozen
from robot_dynamics.foundation.numbers import counted
from robot_dynamics.foundation.units import NS_PER_S
from robot_dynamics.robot.kinematic_tree import Mimic

FIELDS = ("positions", "velocities", "accelerations", "effort")
"""Fields of a point, with the names of `trajectory_msgs/JointTrajectoryPoint`."""

LARGEST_RECEIVED = 1e12
"""Largest number of a received motion, and largest time, s; beyond, powers overflow."""

FOLLOWS = 2e-3
"""Difference of a joint from where its leader puts it that may be measured, rad or m."""

LEAST_STEP_S = 1e-15
"""Least time between two points, s; below, slopes overflow."""

END_VELOCITY_SHARE, LEAST_END_VELOCITY = 1e-3, 1e-4
"""Speed up to which a motion counts as ending at rest, as planners print round-off: a share of the
speed limit, and its least value, rad/s or m/s; without a limit, the share of 1 rad/s or m/s."""


class Point(NamedTuple):
    """One unchecked point as received; fields that are not given are empty.

    Attributes:
        time: Time from the start of the motion, s.
        positions: One per joint, rad or m.
        velocities: One per joint, rad/s or m/s, or empty.
        accelerations: One per joint, rad/s^2 or m/s^2, or empty.
        effort: One per joint, N m or N, or empty.
    """

    time: float
    positions: Sequence[float]
    velocities: Sequence[float] = ()
    accelerations: Sequence[float] = ()
    effort: Sequence[float] = ()


@dataclass(frozen=True, eq=False)
class Waypoints:
    """m points of a motion of n joints.

    A row of NaN in `velocities`, `accelerations` or `effort` means that this
    point does not give them; None means that no point does.

    Args:
        joint_names: Names of the joints, in the order of the columns.
        times: Time of each point from the start of the motion, shape (m,), s, increasing.
        positions: Shape (m, n), rad or m.
        velocities: Shape (m, n), rad/s or m/s, or None.
        accelerations: Shape (m, n), rad/s^2 or m/s^2, or None.
        effort: Shape (m, n), N m or N, or None.

    Raises:
        TrajectoryError: If names repeat, shapes differ, a number is not finite or times do not
            increase from zero or later.
    """

    joint_names: tuple[str, ...]
    times: Array
    positions: Array
    velocities: Array | None = None
    accelerations: Array | None = None
    effort: Array | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "joint_names", tuple(self.joint_names))
        _check_names(self.joint_names)
        times = np.atleast_1d(np.asarray(self.times, dtype=np.float64))
        _check_times(times)
        object.__setattr__(self, "times", frozen(times))
        for field in FIELDS:
            values = getattr(self, field)
            if values is not None:
                object.__setattr__(self, field, self._checked(field, values))

    def _checked(self, field: str, values: Array) -> Array | None:
        array = np.asarray(values, dtype=np.float64)
        expected = (len(self.times), len(self.joint_names))
        if array.shape != expected:
            raise TrajectoryError(
                f"trajectory: {field} has shape {array.shape} for {expected[0]} points of "
                f"{expected[1]} joints; give one row per point and one column per joint"
            )
        absent = np.array(np.isnan(array).all(axis=1))
        wrong = ~np.isfinite(array)
        if field != "positions":
            wrong &= ~absent[:, None]
        if wrong.any():
            point, joint = np.argwhere(wrong)[0]
            raise TrajectoryError(
                f"trajectory point {point}: {field} of joint '{self.joint_names[joint]}' is "
                f"{array[point, joint]}; every number must be finite"
            )
        if field != "positions" and absent.all():
            return None
        return frozen(array)

    @property
    def duration(self) -> float:
        """Time of the last point, s."""
        return float(self.times[-1])

    def ordered(self, names: Sequence[str]) -> Waypoints:
        """Return the same motion with its joints in another order.

        Args:
            names: Names of the same joints.

        Returns:
            Waypoints with reordered columns.
        """
        order = [self.joint_names.index(name) for name in names]
        fields = (getattr(self, field) for field in FIELDS)
        rows = (values if values is None else values[:, order] for values in fields)
        return Waypoints(tuple(names), self.times, *rows)  # type: ignore[arg-type]

    def delayed(self, delay: float) -> Waypoints:
        """Delay every point.

        Args:
            delay: Time, s; negative for earlier.

        Returns:
            Waypoints at later times.

        Raises:
            TrajectoryError: If the first point would be before time zero.
        """
        return replace(self, times=self.times + delay)

    def arriving_at_rest(self) -> Waypoints:
        """Set velocity and acceleration of the first point to zero if it gives no velocity.

        Returns:
            The same motion from rest.
        """
        moving = self.velocities is not None and not np.isnan(self.velocities[0]).any()
        if moving:
            return self
        absent = np.full_like(self.positions, np.nan)
        qd, qdd = (
            np.array(absent if x is None else x) for x in (self.velocities, self.accelerations)
        )
        qd[0] = qdd[0] = 0.0
        return replace(self, velocities=qd, accelerations=qdd)

    def without_overshoot(self) -> Waypoints:
        """Add velocities and accelerations that keep each joint between neighbouring points.

        It applies if only positions are given. The velocity of a point is the harmonic mean of the
        slopes on both sides, and zero where a joint reverses (Fritsch and Butland); accelerations
        are zero. The quintics between are monotone, because no velocity exceeds twice a slope.

        Returns:
            The same positions with velocities and accelerations.
        """
        if self.velocities is not None or self.accelerations is not None:
            return self
        slope = np.diff(self.positions, axis=0) / np.diff(self.times)[:, None]
        qd = np.zeros_like(self.positions)
        product = slope[:-1] * slope[1:]
        same = product > 0.0
        total = np.where(same, slope[:-1] + slope[1:], 1.0)
        qd[1:-1] = np.where(same, 2.0 * product / total, 0.0)
        return replace(self, velocities=qd, accelerations=np.zeros_like(qd))

    def slowed(self, factor: float) -> Waypoints:
        """Slow the motion down.

        Effort, which would change, is dropped.

        Args:
            factor: Ratio of the new duration to the old one.

        Returns:
            The same path at lower speed.
        """
        return Waypoints(
            self.joint_names,
            self.times * factor,
            self.positions,
            None if self.velocities is None else self.velocities / factor,
            None if self.accelerations is None else self.accelerations / factor**2,
        )


def read_points(
    joint_names: Sequence[str],
    points: Sequence[Point],
    known: Sequence[str],
    *,
    followers: Mapping[str, Mimic] | None = None,
    speeds: Sequence[float] | Array | None = None,
    allow_partial: bool = True,
    allow_end_velocity: bool = False,
) -> Waypoints:
    """Check a received motion and convert it to waypoints.

    The checks have the order of joint_trajectory_controller, so that the same fault
    is named first. Lengths, however, come before the velocity at the end, because
    entries of a field of another length have no known joint. Further checks are NaN in
    any field and the length of `effort`.

    Args:
        joint_names: Names in the order of the entries of every point.
        points: The unchecked motion.
        known: Names of all joints of the robot.
        followers: Couplings of joints that mimic others, by name. They may be named, too, with
            positions that fit those of their leaders.
        speeds: Speed limits of `known`, shape (n,), rad/s or m/s; infinite where unknown.
        allow_partial: Accept a motion of some of the joints.
        allow_end_velocity: Accept a motion that does not end at rest.

    Returns:
        Waypoints of the independent joints, in the order of `joint_names`.

    Raises:
        TrajectoryError: One line that names joint, point and field, and the remedy.
    """
    if any(name in (followers or {}) for name in joint_names):
        joint_names, points = _without_followers(joint_names, points, followers or {})
    names, n = tuple(joint_names), len(joint_names)
    if n > len(known) or (n < len(known) and n > 0 and not allow_partial):
        partial = "" if n > len(known) else "; give all of them, or set allow_partial_joints_goal"
        raise TrajectoryError(
            f"trajectory: {counted(n, 'joint')} ({_list(names)}) for the {len(known)} of the robot "
            f"({_list(known)}){partial or '; name each joint once'}"
        )
    if n == 0:
        raise TrajectoryError("trajectory: joint_names is empty; name the joint of every column")
    _check_names(names)
    if not points:
        raise TrajectoryError(
            "trajectory: no points; to stop, send one point at the present position"
        )
    _check_known(names, known)
    for k, point in enumerate(points):
        _check_lengths(k, point, n)
    if not allow_end_velocity:
        limit = dict(zip(known, [np.inf] * len(known) if speeds is None else speeds, strict=True))
        slow = [_end_velocity(limit[name]) for name in names]
        points = [*points[:-1], _at_rest(names, len(points) - 1, points[-1], slow)]
    times = np.array([point.time for point in points], dtype=np.float64)
    _check_times(times)
    return Waypoints(
        names,
        times,
        *(_rows(field, [getattr(point, field) for point in points], n) for field in FIELDS),  # type: ignore[arg-type]
    )


def waypoints_from_msg(msg: Any, known: Sequence[str], **options: Any) -> Waypoints:
    """Return the checked waypoints of a trajectory_msgs/JointTrajectory, of ROS 2 or of a bag.

    Args:
        msg: The message.
        known: Names of all joints of the robot.
        **options: Those of `read_points`.

    Raises:
        TrajectoryError: See `read_points`.
    """
    points = []
    for point in msg.points:
        time = point.time_from_start
        seconds = (time.sec * NS_PER_S + time.nanosec) / NS_PER_S
        points.append(Point(seconds, *(getattr(point, field) for field in FIELDS)))
    return read_points(msg.joint_names, points, known, **options)


def _without_followers(
    names: Sequence[str], points: Sequence[Point], followers: Mapping[str, Mimic]
) -> tuple[list[str], list[Point]]:
    """Return a motion without joints that follow others, once their positions have been checked."""
    for k, point in enumerate(points):
        _check_lengths(k, point, len(names))
    for name in followers.keys() & set(names):
        one = followers[name]
        mimics = f"joint '{name}' follows '{one.joint}' (times {one.multiplier:g}"
        mimics += f", plus {one.offset:g})" if one.offset else ")"
        if one.joint not in names:
            raise TrajectoryError(f"trajectory: {mimics}; name '{one.joint}' in its place")
        for k, point in enumerate(points):
            at = dict(zip(names, point.positions, strict=True))
            own, due = at[name], one.multiplier * at[one.joint] + one.offset
            if abs(own - due) > FOLLOWS:
                raise TrajectoryError(
                    f"trajectory point {k}: {mimics}, but is to be at {own:g} instead of {due:g}; "
                    "leave it out"
                )
    kept = [i for i, name in enumerate(names) if name not in followers]

    def without(row: Sequence[float]) -> Sequence[float]:
        return [row[i] for i in kept] if len(row) else row

    return [names[i] for i in kept], [Point(p.time, *map(without, p[1:])) for p in points]


def _check_lengths(k: int, point: Point, n: int) -> None:
    for field in FIELDS:
        count = len(getattr(point, field))
        if count == n or (count == 0 and field != "positions"):
            continue
        remedy = ", positions are required" if field == "positions" else " or leave the field empty"
        raise TrajectoryError(
            f"trajectory point {k}: {field} has {counted(count, 'entry')} for "
            f"{counted(n, 'joint')}; give one per joint{remedy}"
        )


def _rows(field: str, rows: list[Sequence[float]], n: int) -> Array | None:
    """Stack one field of all points; points without it become rows of NaN."""
    if not any(len(row) for row in rows):
        return None
    absent = [np.nan] * n
    for k, row in enumerate(rows):  # a row of NaN means absent, so a given row must not be NaN
        if len(row) and not np.isfinite(row).any():
            raise TrajectoryError(
                f"trajectory point {k}: {field} are all {row[0]}; every number must be finite"
            )
        if any(LARGEST_RECEIVED < abs(value) < np.inf for value in row):
            raise TrajectoryError(
                f"trajectory point {k}: {field} exceed {LARGEST_RECEIVED:g}; every number must be "
                "smaller"
            )
    return np.array([row if len(row) else absent for row in rows], dtype=np.float64)


def _check_names(names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise TrajectoryError(f"trajectory: joint '{name}' stands twice; name each joint once")
        seen.add(name)


def _check_known(names: Sequence[str], known: Sequence[str]) -> None:
    for name in names:
        if name not in known:
            close = nearest(name, known)
            hint = f"; did you mean '{close}'?" if close else ""
            raise TrajectoryError(
                f"trajectory: no joint '{name}' (trajectory: {_list(names)}; "
                f"robot: {_list(known)}){hint}"
            )


def _check_times(times: Array) -> None:
    if times.ndim != 1 or len(times) == 0:
        raise TrajectoryError("trajectory: no points; give at least one")
    for k, time in enumerate(times):
        if not np.isfinite(time) or time < 0.0:
            raise TrajectoryError(
                f"trajectory point {k}: time is {time:g} s; give finite times from 0 s on"
            )
        if time > LARGEST_RECEIVED or (k and 0.0 < time - times[k - 1] < LEAST_STEP_S):
            raise TrajectoryError(
                f"trajectory point {k}: time is {time:.17g} s; give times up to "
                f"{LARGEST_RECEIVED:g} s, at least {LEAST_STEP_S:g} s apart"
            )
        if k and time <= times[k - 1]:
            raise TrajectoryError(
                f"trajectory point {k}: time {time:g} s is not after the {times[k - 1]:g} s of "
                f"point {k - 1}; times must increase"
            )


def _end_velocity(limit: float) -> float:
    """Return the speed up to which a joint counts as at rest, by its speed limit."""
    return max(END_VELOCITY_SHARE * (limit if np.isfinite(limit) else 1.0), LEAST_END_VELOCITY)


def _at_rest(names: Sequence[str], last: int, point: Point, slow: Sequence[float]) -> Point:
    """Return the last point without velocity; refuse one that moves faster than `slow`."""
    pairs = list(zip(point.velocities, slow, strict=False))  # there may be none
    for name, (velocity, tolerance) in zip(names, pairs, strict=False):
        if abs(velocity) > tolerance:
            raise TrajectoryError(
                f"trajectory point {last}: joint '{name}' still moves at {velocity:g} at the end; "
                "end at rest, or set allow_nonzero_velocity_at_trajectory_end"
            )
    rest = [0.0 if abs(v) <= tolerance else v for v, tolerance in pairs]
    return point._replace(velocities=rest)  # what is no number is refused later


def _list(names: Sequence[str]) -> str:
    shown = ", ".join(names[:12])
    return shown + (f", ... {len(names)} in all" if len(names) > 12 else "")
