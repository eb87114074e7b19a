"""Target motion: a pose that moves to its goal at limited speed and acceleration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from robot_dynamics.compiler.graph.optimize import optimize
from robot_dynamics.compiler.graph.piecewise import minimum, select
from robot_dynamics.compiler.graph.trace import Program, trace
from robot_dynamics.compiler.kernel import compile_program
from robot_dynamics.control.task_space import TINY, rotation_vector
from robot_dynamics.errors import BackendError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.spatial import Pose, rodrigues

APPROACH_RATE = 20.0
"""Rate at which the last part of the way is closed, 1/s."""

LONGEST_STEP_S = 0.1
"""Longest time between two cycles that counts, s."""

NEAR = 1e-6
"""Distance from which the goal is reached at once, m and rad."""

RESTING = 1e-3
"""Share of a largest speed that counts as rest."""

LONGEST_STOP_S = 1.0
"""Longest time to come to rest, s, also where the acceleration is smaller."""

STREAM_S, LATE = 0.25, 1.5
"""Longest time between two poses of one motion, s; multiple of the last one for which the motion
goes on."""

SHAPES: Mapping[str, tuple[int, ...]] = {
    "rotation": (3, 3),
    "position": (3,),
    "twist": (6,),
    "goal_rotation": (3, 3),
    "goal_position": (3,),
    "flow": (6,),  # twist of the goal
    "asked": (6,),  # twist in place of a goal
    "follows": (1,),  # 1 for a goal, 0 for the twist
    "speed": (2,),  # largest, m/s and rad/s
    "largest_acceleration": (2,),
    "dt": (1,),
}
"""Inputs of `target_equations` with their shapes, in order."""


def target_equations(x: Mapping[str, Array]) -> dict[str, Array]:
    """Move a target on by a time, of numbers or of symbols.

    Args:
        x: Arrays by the names in `SHAPES`; dt is positive.

    Returns:
        Pose, twist, acceleration and goal from now on; `next_gap` is the way to the goal before.
    """
    dt, follows = x["dt"][0], x["follows"][0]
    goal_R, goal_p = _moved(x["goal_rotation"], x["goal_position"], follows * dt * x["flow"])
    turn = rotation_vector(goal_R @ x["rotation"].T)
    gap = follows * np.concatenate([goal_p - x["position"], turn])
    parts = []
    for k, rows in enumerate((slice(0, 3), slice(3, 6))):
        speed, acceleration, twist = x["speed"][k], x["largest_acceleration"][k], x["twist"][rows]
        way = _size(gap[rows])
        # Fast enough to arrive, slow enough to stop there
        closing = minimum(np.sqrt(acceleration * way), minimum(APPROACH_RATE, 1.0 / dt) * way)
        along = gap[rows] * (closing / way) + follows * x["flow"][rows]
        wanted = _bounded(along + (1.0 - follows) * x["asked"][rows], speed)
        parts.append(twist + _bounded(wanted - twist, acceleration * dt))
    twist = np.concatenate(parts)
    R, p = _moved(x["rotation"], x["position"], dt * twist)
    return {
        "next_rotation": R,
        "next_position": p,
        "next_twist": twist,
        "next_acceleration": (twist - x["twist"]) / dt,
        "next_goal_rotation": goal_R,
        "next_goal_position": goal_p,
        "next_gap": gap,
    }


def _size(vector: Array) -> Any:
    return np.sqrt(vector @ vector + TINY)


def _bounded(vector: Array, size: Any) -> Array:
    length = _size(vector)
    return vector * select(size, length, size / length, 1.0)


def _moved(R: Array, p: Array, way: Array) -> tuple[Array, Array]:
    """Return a pose after a translation and a rotation vector, shape (6,)."""
    angle = _size(way[3:])
    R = rodrigues(way[3:] / angle, np.cos(angle), np.sin(angle)) @ R
    R = R @ (1.5 * np.eye(3) - 0.5 * R.T @ R)  # keeps it a rotation over hours
    return R, p + way[:3]


@cache
def program() -> Program:
    """Trace `target_equations`."""
    return optimize(trace("target_motion", lambda **x: target_equations(x), SHAPES))


@cache
def _kernel() -> Callable[..., Any]:
    """Return `target_equations` compiled, or as they are where nothing compiles."""
    try:
        kernel: Callable[..., Any] = compile_program(program, key="target_motion", backend="native")
    except BackendError:
        return lambda *arrays: tuple(
            target_equations(dict(zip(SHAPES, arrays, strict=True))).values()
        )
    return kernel


class TargetMotion:
    """A pose that moves to the last goal, or with the last twist.

    Args:
        speed: Largest speeds, shape (2,), m/s and rad/s.
        acceleration: Largest accelerations, shape (2,), m/s^2 and rad/s^2.

    Attributes:
        rotation: Shape (3, 3); with `position` the pose in the root link.
        position: Shape (3,), m.
        twist: Shape (6,), m/s and rad/s.
        acceleration: Its derivative in time, shape (6,).
    """

    def __init__(self, speed: npt.ArrayLike, acceleration: npt.ArrayLike) -> None:
        self._kernel = _kernel()
        self.use(speed, acceleration)
        self.begin(np.eye(3), np.zeros(3))

    def use(self, speed: npt.ArrayLike, acceleration: npt.ArrayLike) -> None:
        """Use other limits."""
        self._limits = np.array(speed, dtype=float), np.array(acceleration, dtype=float)
        self._speed = self._limits[0]

    def slow_down(self, share: float) -> None:
        """Move no faster than a share of the present speeds until the next call; 1 is no bound."""
        self._speed = self._limits[0]
        if share < 1.0:
            speeds = np.linalg.norm(self.twist.reshape(2, 3), axis=1)
            moves = speeds > RESTING * self._limits[0]
            self._speed = np.where(moves, share * speeds, self._limits[0])

    def begin(self, rotation: Array, position: Array) -> None:
        """Rest at a pose."""
        self.rotation, self.position = self._goal = rotation, position
        self._none = self.twist = self.acceleration = self._flow = self._asked = np.zeros(6)
        self._lasts, self._follows = 0.0, np.zeros(1)
        self._braking: Array | None = None  # largest acceleration of the present stop
        self._given: tuple[float, Pose] | None = None
        self.arrived = self._rests = True

    @property
    def pose(self) -> Pose:
        """Pose in the root link."""
        return Pose(self.rotation, self.position)

    def aim(self, pose: Pose, now: float) -> None:
        """Move to a pose, or follow a stream of poses.

        Args:
            pose: Of the hand in the root link.
            now: Time of its arrival, s.
        """
        self._follows, self._flow = np.ones(1), self._none
        if self._given is not None and 0.0 < (passed := now - self._given[0]) < STREAM_S:
            self._flow = way_between(self._given[1], pose) / passed
            self._lasts = LATE * passed
        self._goal, self._given = (pose.rotation, pose.translation), (now, pose)
        self.arrived = self._rests = False

    def drive(self, twist: Array) -> None:
        """Move with a twist, shape (6,), m/s and rad/s, until `rest` or another target."""
        self._asked, self._given = np.asarray(twist, dtype=np.float64), None
        self._follows, self._rests = np.zeros(1), False

    def follow(self, rotation: Array, position: Array, twist: Array, acceleration: Array) -> None:
        """Be at a state of a motion that is known beforehand, without limits."""
        self.rotation, self.position = self._goal = rotation, position
        self.twist, self.acceleration, self._rests = twist, acceleration, True

    def rest(self) -> None:
        """Come to rest on the way."""
        self._asked, self._follows = self._none, np.zeros(1)

    def step(self, dt: float) -> None:
        """Move on by a time, s."""
        dt = min(dt, LONGEST_STEP_S)
        if self._rests or dt <= 0.0:
            return
        follows = bool(self._follows[0])
        if follows and self._flow.any():
            self._lasts -= dt
            if self._lasts <= 0.0 and self._given is not None:  # the stream has ended
                last = self._given[1]
                self._goal, self._flow = (last.rotation, last.translation), self._none
        speed, acceleration = self._speed, self._limits[1]
        if follows or self._asked.any():
            self._braking = None
        else:
            if self._braking is None:
                speeds = np.linalg.norm(self.twist.reshape(2, 3), axis=1)
                self._braking = np.maximum(acceleration, speeds / LONGEST_STOP_S)
            acceleration = self._braking
        (
            self.rotation, self.position, twist, self.acceleration, *goal, gap
        ) = self._kernel(
            self.rotation, self.position, self.twist, *self._goal, self._flow, self._asked,
            self._follows, speed, acceleration, np.array([dt]),
        )  # fmt: skip
        self.twist, self._goal = twist, (goal[0], goal[1])
        if follows and not self._flow.any() and np.abs(gap).max() < NEAR:
            self.rotation, self.position = self._goal
            self.arrived = self._rests = True
        elif not follows and not self._asked.any() and not twist.any():
            self._rests = True
        if self._rests:
            self.twist = self.acceleration = self._none


def way_between(start: Pose, end: Pose) -> Array:
    """Return translation and rotation vector from a pose to another, shape (6,), m and rad."""
    turn = rotation_vector(end.rotation @ start.rotation.T)
    return np.concatenate([end.translation - start.translation, turn])
