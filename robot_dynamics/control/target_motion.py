"""Target motion: a pose that moves to its goal at limited speed and acceleration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from robot_dynamics.compiler.graph.piecewise import minimum, select
from robot_dynamics.control.task_space import TINY, rotation_vector
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.spatial import Pose, rodrigues

APPROACH_RATE, SPEED_RATE = 20.0, 80.0
"""Rates at which the last part of the distance and the last change of the velocity are made, 1/s.
Four times as fast, the second one lets no target overshoot."""

JERK_S = 0.05
"""Time from no acceleration to the largest one, s."""

LONGEST_STEP_S = 0.1
"""Longest time between two cycles that counts, s."""

NEAR, SLOW = 1e-6, 1e-4
"""Distance from which the goal is reached at once, m and rad, and speed that is rest, m/s and
rad/s."""

RESTING = 1e-3
"""Share of a largest speed that counts as rest."""

LONGEST_STOP_S = 0.7
"""Time in which the largest acceleration stops a target, s, at least: beside what jerk takes, all
come to rest within a second."""

SHAPES: Mapping[str, tuple[int, ...]] = {
    "rotation": (3, 3),
    "position": (3,),
    "twist": (6,),
    "acceleration": (6,),
    "goal_rotation": (3, 3),
    "goal_position": (3,),
    "flow": (6,),  # twist of the goal
    "flow_rate": (6,),  # its derivative in time
    "requested": (6,),  # twist in place of a goal
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
        Pose, twist, acceleration and goal from now on; `next_error` is what the
        present twist leaves of the distance to the goal.
    """
    dt, follows = x["dt"][0], x["follows"][0]
    goal_R, goal_p = moved(x["goal_rotation"], x["goal_position"], follows * dt * x["flow"])
    turn = rotation_vector(goal_R @ x["rotation"].T)
    error = follows * (np.concatenate([goal_p - x["position"], turn]) - dt * x["twist"])
    quick = minimum(SPEED_RATE, 0.8 / dt)
    approach = minimum(APPROACH_RATE, quick / 4.0)
    parts = []
    for k, rows in enumerate((slice(0, 3), slice(3, 6))):
        speed, largest, twist = x["speed"][k], x["largest_acceleration"][k], x["twist"][rows]
        acceleration, jerk = x["acceleration"][rows], largest / JERK_S
        # Fast enough to arrive, slow enough to stop there with half of what the target can do
        along = _closing(error[rows], largest, approach) + follows * x["flow"][rows]
        # The change of the velocity that `_closing` answers with the acceleration of the goal
        rate = follows * bounded(x["flow_rate"][rows], largest)
        ahead = rate * (size_of(rate) / jerk + 1.0 / quick)
        wanted = bounded(along + ahead + (1.0 - follows) * x["requested"][rows], speed)
        change = bounded(_closing(wanted - twist, jerk, quick), largest)
        parts.append(acceleration + bounded(change - acceleration, jerk * dt))
    acceleration = np.concatenate(parts)
    twist = x["twist"] + dt * acceleration
    R, p = moved(x["rotation"], x["position"], dt * twist)
    return {
        "next_rotation": R,
        "next_position": p,
        "next_twist": twist,
        "next_acceleration": acceleration,
        "next_goal_rotation": goal_R,
        "next_goal_position": goal_p,
        "next_error": error,
    }


def size_of(vector: Array) -> Any:
    """Return the length of a vector."""
    return np.sqrt(vector @ vector + TINY)


def bounded(vector: Array, size: Any) -> Array:
    """Return a vector that is no longer than a size."""
    length = size_of(vector)
    return vector * select(size, length, size / length, 1.0)


def _closing(displacement: Array, largest: Any, rate: Any) -> Array:
    """Return the derivative with which a distance ends without overshoot.

    It decays at the rate in the end, and changes by half of the largest second derivative before.
    """
    size, soft = size_of(displacement), largest / (2.0 * rate)
    return displacement * ((np.sqrt(largest * size + soft * soft) - soft) / size)


def moved(R: Array, p: Array, displacement: Array) -> tuple[Array, Array]:
    """Return a pose after a translation and a rotation vector, shape (6,)."""
    angle = size_of(displacement[3:])
    R = rodrigues(displacement[3:] / angle, np.cos(angle), np.sin(angle)) @ R
    R = R @ (1.5 * np.eye(3) - 0.5 * R.T @ R)  # keeps it a rotation over hours
    return R, p + displacement[:3]


def pose_difference(R_1: Array, p_1: Array, R_2: Array, p_2: Array) -> Array:
    """Return translation and rotation vector from a pose to another, shape (6,), m and rad."""
    return np.concatenate([p_2 - p_1, rotation_vector(R_2 @ R_1.T)])


def pose_error(start: Pose, end: Pose) -> Array:
    """Return translation and rotation vector from a pose to another, shape (6,), m and rad."""
    return pose_difference(start.rotation, start.translation, end.rotation, end.translation)
