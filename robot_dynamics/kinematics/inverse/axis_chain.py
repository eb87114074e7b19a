"""A serial chain as the axes of its joints in the zero reference position, seen from the root.

As [Gupta1986] describes an arm: no frames but those of root and end effector, so that inverse
kinematics sees which axes meet and which are parallel. Motions are written on any scalar, as in
`subproblems`.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.compiler.graph.piecewise import minimum, select
from robot_dynamics.errors import RobotError
from robot_dynamics.foundation.arrays import Array, frozen
from robot_dynamics.foundation.units import FULL_TURN
from robot_dynamics.kinematics.inverse.subproblems import (
    Turn,
    Vector,
    dot,
    minus,
    plus,
    times,
    turned,
)
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.spatial import Pose

ROUND_OFF = 1e-11
"""Components of axes and points this small are what is left of zero in a product of rotations."""


class Axis(NamedTuple):
    """The line of a joint: direction h, unit vector (3,), through the point p (3,), m."""

    h: Vector
    p: Vector
    rotates: bool

    def vector(self, v: Vector, value: Any) -> Vector:
        """Return a vector after the motion of the joint, a `Turn` or a displacement."""
        return turned(self.h, value, v) if self.rotates else v

    def point(self, x: Vector, value: Any) -> Vector:
        """Return a point after the motion of the joint."""
        if not self.rotates:
            return plus(x, times(value, self.h))
        return plus(self.p, turned(self.h, value, minus(x, self.p)))

    def back(self, value: Any) -> Any:
        """Return the inverse motion."""
        return value.back if self.rotates else -value


class Displacement(NamedTuple):
    """Displacement of a body by the whole chain: x to R (x - a) + b, with the rows of R."""

    rows: Sequence[Vector]
    a: Vector
    b: Vector

    def vector(self, v: Vector) -> Vector:
        """Return R v."""
        return tuple(dot(row, v) for row in self.rows)

    def point(self, x: Vector) -> Vector:
        """Return R (x - a) + b."""
        return plus(self.vector(minus(x, self.a)), self.b)

    def after(self, axis: Axis, motion: Any) -> Displacement:
        """Return what remains of it behind a first joint that has moved."""
        back = axis.back(motion)
        columns = [axis.vector(column, back) for column in zip(*self.rows, strict=True)]
        return Displacement(list(zip(*columns, strict=True)), self.a, axis.point(self.b, back))

    def before(self, axis: Axis, motion: Any) -> Displacement:
        """Return what remains of it in front of a last joint that has moved."""
        rows = [axis.vector(row, motion) for row in self.rows]
        return Displacement(rows, axis.point(self.a, motion), self.b)

    @property
    def inverse(self) -> Displacement:
        """Inverse displacement."""
        return Displacement(list(zip(*self.rows, strict=True)), self.b, self.a)


@dataclass(frozen=True, eq=False)
class AxisChain:
    """Joints from the root to a frame.

    Args:
        names: Of the n joints.
        rotates: Which of them are revolute.
        h: Directions of the axes at zero, shape (n, 3).
        p: A point of every axis at zero, shape (n, 3), m.
        tool: Pose of the frame in the root link at zero.
        lower: Lower limits of the joints, shape (n,).
        upper: Upper limits, shape (n,).
    """

    names: tuple[str, ...]
    rotates: tuple[bool, ...]
    h: Array
    p: Array
    tool: Pose
    lower: Array
    upper: Array

    @staticmethod
    def of(robot: Robot, frame: str) -> AxisChain:
        """Return the chain from the root of a robot to a frame.

        Raises:
            UnknownNameError: If there is no such frame.
            RobotError: If no joint moves it, or one that follows another joint does.
        """
        tree = merge_fixed(robot)
        place = tree.frame(frame)
        joints = [tree.joints[k] for k in tree.path_to(place.link)]
        if not joints:
            raise RobotError(f"no joint of robot '{robot.name}' moves frame '{frame}'")
        for joint in joints:
            if joint.mimic is not None:
                raise RobotError(
                    f"joint '{joint.name}' moves frame '{frame}' and follows joint "
                    f"'{joint.mimic.joint}'; inverse kinematics takes independent joints only, "
                    "lock one of them with with_locked"
                )
        X, axes = Pose.identity(), []
        for joint in joints:
            X = X @ joint.origin
            axes.append((_clean(X.rotation @ joint.axis), X.translation))
        h = np.array([axis for axis, _ in axes])
        p = np.array([point - axis * (axis @ point) for axis, point in axes])
        tool = X @ place.pose
        return AxisChain(
            names=tuple(joint.name for joint in joints),
            rotates=tuple(joint.type.rotates for joint in joints),
            h=frozen(h),
            p=frozen(_clean(p)),
            tool=Pose(_clean(tool.rotation), _clean(tool.translation)),
            lower=frozen([joint.limits.lower for joint in joints]),
            upper=frozen([joint.limits.upper for joint in joints]),
        )

    def __len__(self) -> int:
        return len(self.names)

    @property
    def axes(self) -> list[Axis]:
        """Lines of the joints, as numbers whose zeros leave no operations."""
        return [
            Axis(tuple(map(float, h)), tuple(map(float, p)), rotates)
            for h, p, rotates in zip(self.h, self.p, self.rotates, strict=True)
        ]

    def without(self, k: int) -> AxisChain:
        """Return the chain without its first (0) or last (-1) joint, which stays at zero."""
        kept = slice(1, None) if k == 0 else slice(0, -1)
        return replace(
            self,
            names=self.names[kept],
            rotates=self.rotates[kept],
            h=self.h[kept],
            p=self.p[kept],
            lower=self.lower[kept],
            upper=self.upper[kept],
        )

    def displacement(self, rotation: Array, position: Array) -> Displacement:
        """Return the displacement of the frame from zero to the given pose."""
        R = [[rotation[i, 0], rotation[i, 1], rotation[i, 2]] for i in range(3)]
        back = [tuple(map(float, row)) for row in self.tool.rotation]  # columns of the transpose
        rows = [tuple(dot(R[i], back[j]) for j in range(3)) for i in range(3)]
        at = tuple(map(float, self.tool.translation))
        return Displacement(rows, at, (position[0], position[1], position[2]))


def _clean(values: Array) -> Array:
    """Replace values that differ from 0 and 1 by round-off."""
    near = np.round(values)
    return np.where((np.abs(values - near) < ROUND_OFF) & (np.abs(near) < 1.5), near + 0.0, values)


def as_turn(angle: Any) -> Turn:
    """Return cosine and sine of an angle in rad."""
    return Turn(np.cos(angle), np.sin(angle))


MARGIN = 1e-9
"""Tolerance of the limits, rad or m."""


def within_limits(
    chain: AxisChain, q: Sequence[Any], given: int | None = None
) -> tuple[list[Any], Any]:
    """Shift angles by multiples of 2 pi into the limits; return them, and 1 where within, else 0.

    An angle stays in [-pi, pi] if it is within its limits, or if no shifted one is.

    Args:
        chain: The joints.
        q: Position of every joint, of any scalar or arrays of N.
        given: Joint that stays where it is, at any angle; or None.
    """
    q, margins = list(q), []
    for k, rotates in enumerate(chain.rotates):
        lower, upper = chain.lower[k] - MARGIN, chain.upper[k] + MARGIN
        turns = rotates and k != given
        if turns and lower <= -np.pi and np.pi <= upper:
            continue
        if turns and np.isfinite(lower) and np.isfinite(upper):
            q[k] = _turned(q[k], lower, upper)
        margins += [q[k] - lower] if np.isfinite(lower) else []
        margins += [upper - q[k]] if np.isfinite(upper) else []
    if not margins:
        return q, 1.0
    return q, select(functools.reduce(minimum, margins), 0.0, 0.0, 1.0)


def _turned(q: Any, lower: float, upper: float) -> Any:
    """Return the angle if it is within, else the first one above `lower` if that is."""
    first = q - FULL_TURN * np.floor((q - lower) * (1.0 / FULL_TURN))
    other = select(upper, first, q, first)
    return select(q, lower, other, select(upper, q, other, q))


def equivalent_positions(chain: AxisChain, q: Array) -> Array:
    """Return every position within the limits that equals q up to multiples of 2 pi, (m, n).

    Joints without limits stay as they are.
    """
    choices = []
    for k, x in enumerate(q):
        lower, upper = chain.lower[k] - MARGIN, chain.upper[k] + MARGIN
        if not (chain.rotates[k] and np.isfinite(lower) and np.isfinite(upper)):
            choices.append([x] if lower <= x <= upper else [])
            continue
        first = int(np.ceil((lower - x) / FULL_TURN))
        last = int(np.floor((upper - x) / FULL_TURN))
        choices.append([x + FULL_TURN * turn for turn in range(first, last + 1)])
    return np.array(list(itertools.product(*choices))).reshape(-1, len(q))
