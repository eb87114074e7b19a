"""Motions of a base in time: a sine along or about one axis, or poses from a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.lazy import imported
from robot_dynamics.foundation.user_files import number, read_csv
from robot_dynamics.kinematics.selection import DIRECTIONS
from robot_dynamics.robot.base_motion import BaseMotion
from robot_dynamics.robot.robot import Robot

BaseMotions = Callable[[float], BaseMotion]
"""Motion of the root link at a time, s."""

POSE_COLUMNS = ("t", "x", "y", "z", "qx", "qy", "qz", "qw")
"""Columns of a file of poses: s, m, and a unit quaternion."""

UNIT = 0.01
"""Largest error of the length of a quaternion, which files round."""


@dataclass(frozen=True)
class Sine:
    """A sine along or about an axis of the root link, from the middle at time zero.

    Args:
        axis: One of `DIRECTIONS`.
        amplitude: m or rad.
        frequency: Hz.
    """

    axis: str
    amplitude: float
    frequency: float

    def _parts(self, t: float) -> tuple[Array, Array, Array]:
        """Position, velocity and acceleration along or about the axis, shape (3,) each."""
        unit, omega = np.eye(3)["xyz".index(self.axis[-1])], 2.0 * np.pi * self.frequency
        x = self.amplitude * np.sin(omega * t)
        return x * unit, self.amplitude * omega * np.cos(omega * t) * unit, -(omega**2) * x * unit

    def __call__(self, t: float) -> BaseMotion:
        """Motion at a time."""
        (_, v, a), still = self._parts(t), np.zeros(3)
        if len(self.axis) == 1:
            return BaseMotion(self.pose(t)[1], np.append(v, still), np.append(a, still))
        return BaseMotion(self.pose(t)[1], np.append(still, v), np.append(still, a))

    def pose(self, t: float) -> tuple[Array, Array]:
        """Position and unit quaternion x, y, z, w of the root link at a time."""
        x, still = self._parts(t)[0], np.zeros(3)
        if len(self.axis) == 1:
            return x, np.append(still, 1.0)
        half = x / 2.0
        return still, np.append(np.sin(half), np.prod(np.cos(half)))


@dataclass(frozen=True, eq=False)
class Poses:
    """Splines through poses; outside their times the base stands where they start and end.

    Args:
        t: Times, shape (N,), s, increasing.
        position: Origin of the root link in the world, shape (N, 3), m.
        orientation: Unit quaternions x, y, z, w, shape (N, 4).
    """

    t: Array
    position: Array
    orientation: Array

    @cached_property
    def _splines(self) -> tuple[Any, Any]:
        transform = imported("scipy.spatial.transform")
        path = imported("scipy.interpolate").CubicSpline(self.t, self.position)
        turns = transform.RotationSpline(self.t, transform.Rotation.from_quat(self.orientation))
        return path, turns

    def _inside(self, t: float) -> float:
        return float(np.clip(t, self.t[0], self.t[-1]))

    def __call__(self, t: float) -> BaseMotion:
        """Motion at a time."""
        (path, turns), at = self._splines, self._inside(t)
        R = turns(at)
        if at != t:
            return BaseMotion(R.as_quat())
        w, wd = turns(at, 1), turns(at, 2)  # both in axes of the root link
        v, a = R.inv().apply(path(at, 1)), R.inv().apply(path(at, 2))
        return BaseMotion(R.as_quat(), np.append(v, w), np.append(a - np.cross(w, v), wd))

    def pose(self, t: float) -> tuple[Array, Array]:
        """Position and unit quaternion x, y, z, w of the root link at a time."""
        (path, turns), at = self._splines, self._inside(t)
        return path(at), turns(at).as_quat()


def in_steps(motion: BaseMotions, robot: Robot, t: Array, step: float) -> Array:
    """Numbers of a base at the beginning, the middle and the end of steps, shape (N, 45).

    Args:
        motion: Motion of the base.
        robot: Robot on the base.
        t: Times at which the steps begin, shape (N,), s.
        step: Time of one step, s.
    """
    return np.array(
        [[motion(x + h * step).numbers(robot) for h in (0.0, 0.5, 1.0)] for x in t]
    ).reshape(len(t), -1)


def read_base_motion(text: str) -> Sine | Poses:
    """Read "sine", "sine:AXIS:AMPLITUDE:HZ", or the path of a CSV with t, x, y, z, qx, qy, qz, qw.

    Raises:
        ArgumentError: If it is none of them.
    """
    if text.partition(":")[0] == "sine":
        words = [*text.split(":")[1:], *("y", "0.05", "1.0")[text.count(":") :]]
        try:
            axis, amplitude, frequency = words[0], float(words[1]), float(words[2])
            if len(words) == 3 and axis in DIRECTIONS and np.isfinite([amplitude, frequency]).all():
                return Sine(axis, amplitude, frequency)
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
    return Poses(rows[:, 0], rows[:, 1:4], rows[:, 4:])
