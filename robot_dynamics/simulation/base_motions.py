"""Motions of a base in time: a sine along or about one axis, or poses from a file."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.lazy import imported
from robot_dynamics.foundation.user_files import number, read_csv
from robot_dynamics.kinematics.selection import DIRECTIONS
from robot_dynamics.robot.base_motion import BaseMotion

BaseMotions = Callable[[float], BaseMotion]
"""Motion of the root link at a time, s."""

POSE_COLUMNS = ("t", "x", "y", "z", "qx", "qy", "qz", "qw")
"""Columns of a file of poses: s, m, and a unit quaternion."""

UNIT = 0.01
"""Largest error of the length of a quaternion, which files round."""


def sine(axis: str, amplitude: float, frequency: float) -> BaseMotions:
    """A sine of an amplitude in m or rad and a frequency in Hz, from the middle at time zero."""
    unit, omega = np.eye(3)["xyz".index(axis[-1])], 2.0 * np.pi * frequency

    def motion(t: float) -> BaseMotion:
        s, c = np.sin(omega * t), np.cos(omega * t)
        x, v, a = amplitude * s, amplitude * omega * c * unit, -amplitude * omega**2 * s * unit
        if len(axis) == 1:
            still = np.zeros(3)
            return BaseMotion((0.0, 0.0, 0.0, 1.0), np.append(v, still), np.append(a, still))
        orientation = np.append(np.sin(x / 2.0) * unit, np.cos(x / 2.0))
        return BaseMotion(orientation, np.append(np.zeros(3), v), np.append(np.zeros(3), a))

    return motion


def from_poses(t: Array, position: Array, orientation: Array) -> BaseMotions:
    """Splines through poses; outside their times the base stands where they start and end.

    Args:
        t: Times, shape (N,), s, increasing.
        position: Origin of the root link in the world, shape (N, 3), m.
        orientation: Unit quaternions x, y, z, w, shape (N, 4).
    """
    transform = imported("scipy.spatial.transform")
    path = imported("scipy.interpolate").CubicSpline(t, position)
    turns = transform.RotationSpline(t, transform.Rotation.from_quat(orientation))

    def motion(at: float) -> BaseMotion:
        inside = t[0] <= at <= t[-1]
        at = float(np.clip(at, t[0], t[-1]))
        R = turns(at)
        if not inside:
            return BaseMotion(R.as_quat())
        w, wd = turns(at, 1), turns(at, 2)  # both in axes of the root link
        v, a = R.inv().apply(path(at, 1)), R.inv().apply(path(at, 2))
        return BaseMotion(R.as_quat(), np.append(v, w), np.append(a - np.cross(w, v), wd))

    return motion


def read_base_motion(text: str) -> BaseMotions:
    """Read "sine", "sine:AXIS:AMPLITUDE:HZ", or the path of a CSV with t, x, y, z, qx, qy, qz, qw.

    Raises:
        ArgumentError: If it is none of them.
    """
    if text.partition(":")[0] == "sine":
        words = [*text.split(":")[1:], *("y", "0.05", "1.0")[text.count(":") :]]
        try:
            axis, amplitude, frequency = words[0], float(words[1]), float(words[2])
            if len(words) == 3 and axis in DIRECTIONS and np.isfinite([amplitude, frequency]).all():
                return sine(axis, amplitude, frequency)
        except (ValueError, IndexError):
            pass
        raise ArgumentError(
            f"base motion '{text}': give sine:AXIS:AMPLITUDE:HZ, such as sine:y:0.05:1, with an "
            f"axis of {', '.join(DIRECTIONS)}"
        )
    table = read_csv(text, ArgumentError)
    if table.header != list(POSE_COLUMNS) or len(table.rows) < 2:
        raise ArgumentError(
            f"base motion {text}: needs the columns {', '.join(POSE_COLUMNS)} and two or more rows"
        )
    rows = np.array(
        [[number(f"{text}: {row.name}", cell, ArgumentError) for cell in row.cells]
         for row in table.rows]
    )  # fmt: skip
    good = np.isfinite(rows).all(axis=1) & np.append(True, np.diff(rows[:, 0]) > 0.0)
    good &= np.abs(np.linalg.norm(rows[:, 4:], axis=1) - 1.0) <= UNIT
    if not good.all():
        raise ArgumentError(
            f"base motion {text}: {table.rows[int(np.argmin(good))].name}: give finite numbers, "
            "increasing times and quaternions of length 1"
        )
    return from_poses(rows[:, 0], rows[:, 1:4], rows[:, 4:])
