"""Goals: is the robot still on its way, and has it arrived?

The logic of the FollowJointTrajectory action, with the tolerances of
joint_trajectory_controller: zero means not checked there, and in a goal zero
means the default and a negative number none.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from robot_dynamics.errors import ArgumentError
from robot_dynamics.robot.robot import Array, frozen


@dataclass(frozen=True, eq=False)
class Tolerances:
    """How far n joints may be off; infinite where it does not matter, shape (n,) each.

    Args:
        path: Position error on the way, rad or m.
        goal: Position error at the end, rad or m.
        stopped_velocity: Speed below which a joint counts as stopped at the end, rad/s or m/s.
        goal_time: Time allowed beyond the planned end, s; infinite to wait for ever.
    """

    path: Array
    goal: Array
    stopped_velocity: Array
    goal_time: float = np.inf

    @staticmethod
    def none(n: int) -> Tolerances:
        """Whatever happens is fine."""
        anything = frozen(np.full(n, np.inf))
        return Tolerances(anything, anything, anything)

    @staticmethod
    def from_parameters(
        path: npt.ArrayLike,
        goal: npt.ArrayLike,
        stopped_velocity: npt.ArrayLike,
        goal_time: float = 0.0,
    ) -> Tolerances:
        """From parameters as joint_trajectory_controller has them, where zero means not checked.

        Raises:
            ArgumentError: If a tolerance is negative or NaN.
        """
        arrays = []
        for name, values in (
            ("path", path),
            ("goal", goal),
            ("stopped_velocity", stopped_velocity),
            ("goal_time", [goal_time]),
        ):
            array = np.asarray(values, dtype=float)
            if not np.all(array >= 0.0):
                raise ArgumentError(
                    f"tolerance {name} is {values!r}; give zero (not checked) or a positive number"
                )
            arrays.append(frozen(np.where(array > 0.0, array, np.inf)))
        return Tolerances(arrays[0], arrays[1], arrays[2], float(arrays[3][0]))

    def with_goal(
        self,
        joint_names: Sequence[str],
        path: dict[str, float],
        goal: dict[str, float],
        goal_time: float = 0.0,
    ) -> Tolerances:
        """These tolerances with those of one goal: zero keeps the default, negative means none.

        Args:
            joint_names: Names of the n joints.
            path: Position tolerance on the way, by joint name.
            goal: Position tolerance at the end, by joint name.
            goal_time: Time allowed beyond the end, s.

        Raises:
            ArgumentError: If a joint is unknown or a number is NaN.
        """
        new = {"path": self.path.copy(), "goal": self.goal.copy()}
        for name, given in (("path", path), ("goal", goal)):
            for joint, value in given.items():
                if joint not in joint_names:
                    raise ArgumentError(
                        f"{name} tolerance: no joint '{joint}' among {', '.join(joint_names)}"
                    )
                new[name][list(joint_names).index(joint)] = _chosen(
                    value, float(new[name][list(joint_names).index(joint)]), f"{name} of '{joint}'"
                )
        time = _chosen(goal_time, self.goal_time, "goal_time")
        return Tolerances(frozen(new["path"]), frozen(new["goal"]), self.stopped_velocity, time)


def _chosen(value: float, default: float, name: str) -> float:
    if np.isnan(value):
        raise ArgumentError(f"tolerance {name} is NaN; give a number")
    return default if value == 0.0 else (np.inf if value < 0.0 else value)


class Verdict(enum.Enum):
    """What has become of a goal; the values are the result codes of FollowJointTrajectory."""

    RUNNING = 1
    SUCCESSFUL = 0
    PATH_TOLERANCE_VIOLATED = -4
    GOAL_TOLERANCE_VIOLATED = -5


@dataclass(frozen=True)
class Progress:
    """A verdict and one line for a person."""

    verdict: Verdict
    reason: str = ""


def judge(
    joint_names: Sequence[str],
    time_past_end: float,
    error: Array,
    velocity: Array,
    tolerances: Tolerances,
) -> Progress:
    """Judge a goal in one control cycle.

    Args:
        joint_names: Names of the n joints.
        time_past_end: Time since the planned end, s; negative while under way.
        error: Position errors, shape (n,), rad or m.
        velocity: Measured velocities, shape (n,), rad/s or m/s.
        tolerances: What is allowed.

    Returns:
        Whether the goal goes on, has succeeded, or has failed and by which joint.
    """
    size = np.abs(error)
    if time_past_end < 0.0:
        if np.all(size <= tolerances.path):
            return Progress(Verdict.RUNNING)
        i = int(np.argmax(size - tolerances.path))
        return Progress(
            Verdict.PATH_TOLERANCE_VIOLATED,
            f"joint '{joint_names[i]}' is {size[i]:.4g} off its path, more than the "
            f"{tolerances.path[i]:.4g} allowed",
        )
    arrived = size <= tolerances.goal
    still = np.abs(velocity) <= tolerances.stopped_velocity
    if np.all(arrived & still):
        return Progress(Verdict.SUCCESSFUL)
    if time_past_end <= tolerances.goal_time:
        return Progress(Verdict.RUNNING)
    i = int(np.flatnonzero(~(arrived & still))[0])
    what = (
        f"is {size[i]:.4g} off its goal, more than the {tolerances.goal[i]:.4g} allowed"
        if not arrived[i]
        else f"still moves at {velocity[i]:.4g}"
    )
    return Progress(
        Verdict.GOAL_TOLERANCE_VIOLATED,
        f"joint '{joint_names[i]}' {what}, {time_past_end:.3g} s after the end",
    )
