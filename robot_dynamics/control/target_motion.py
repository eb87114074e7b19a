"""Target motion: a pose that moves to its goal at limited speed and acceleration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from robot_dynamics.compiler.graph.piecewise import minimum, select
from robot_dynamics.control.task_space import TINY, rotation_vector
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
        way = size_of(gap[rows])
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


def size_of(vector: Array) -> Any:
    """Return the length of a vector."""
    return np.sqrt(vector @ vector + TINY)


def _bounded(vector: Array, size: Any) -> Array:
    length = size_of(vector)
    return vector * select(size, length, size / length, 1.0)


def _moved(R: Array, p: Array, way: Array) -> tuple[Array, Array]:
    """Return a pose after a translation and a rotation vector, shape (6,)."""
    angle = size_of(way[3:])
    R = rodrigues(way[3:] / angle, np.cos(angle), np.sin(angle)) @ R
    R = R @ (1.5 * np.eye(3) - 0.5 * R.T @ R)  # keeps it a rotation over hours
    return R, p + way[:3]


def pose_difference(R_1: Array, p_1: Array, R_2: Array, p_2: Array) -> Array:
    """Return translation and rotation vector from a pose to another, shape (6,), m and rad."""
    return np.concatenate([p_2 - p_1, rotation_vector(R_2 @ R_1.T)])


def way_between(start: Pose, end: Pose) -> Array:
    """Return translation and rotation vector from a pose to another, shape (6,), m and rad."""
    return pose_difference(start.rotation, start.translation, end.rotation, end.translation)
