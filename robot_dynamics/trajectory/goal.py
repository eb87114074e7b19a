"""Goals of the FollowJointTrajectory action: tolerances, progress and verdict.

Tolerances are those of joint_trajectory_controller: in its parameters zero means not
checked; in a goal zero means the default and a negative number means not checked.
"""

from __future__ import annotations

import enum
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import Array, frozen
from robot_dynamics.trajectory.trajectory import State

LEAST_DISTANCE, LEAST_SHARE = 5e-3, 0.1
"""Distance of a goal, rad or m, from which on a joint must move by this share of it."""


class Tolerance(NamedTuple):
    """Tolerances of a goal for one joint: zero keeps the default, a negative number means none.

    Args:
        position: Largest position error, rad or m.
        velocity: Largest velocity error, rad/s or m/s.
    """

    position: float = 0.0
    velocity: float = 0.0


@dataclass(frozen=True, eq=False)
class Tolerances:
    """Tolerances of n joints, shape (n,) each; infinite where not checked.

    Args:
        path: Position error during the motion, rad or m.
        path_velocity: Velocity error during the motion, rad/s or m/s.
        goal: Position error at the end, rad or m.
        stopped_velocity: Velocity error at the end, where the motion rests, rad/s or m/s.
        goal_time: Time allowed after the planned end, s; infinite to wait without limit.
    """

    path: Array
    path_velocity: Array
    goal: Array
    stopped_velocity: Array
    goal_time: float = np.inf

    @staticmethod
    def none(n: int) -> Tolerances:
        """Return tolerances that check nothing."""
        unlimited = frozen(np.full(n, np.inf))
        return Tolerances(unlimited, unlimited, unlimited, unlimited)

    @staticmethod
    def from_parameters(
        path: npt.ArrayLike,
        goal: npt.ArrayLike,
        stopped_velocity: npt.ArrayLike,
        goal_time: float = 0.0,
    ) -> Tolerances:
        """Convert parameters of joint_trajectory_controller, where zero means not checked.

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
        any_speed = frozen(np.full_like(arrays[0], np.inf))
        return Tolerances(arrays[0], any_speed, arrays[1], arrays[2], float(arrays[3][0]))

    def with_goal(
        self,
        joint_names: Sequence[str],
        path: Mapping[str, Tolerance],
        goal: Mapping[str, Tolerance],
        goal_time: float = 0.0,
    ) -> Tolerances:
        """Apply the tolerances of one goal: zero keeps the default, negative means none.

        Args:
            joint_names: Names of the n joints.
            path: Tolerances during the motion, by joint name.
            goal: Tolerances at the end, by joint name.
            goal_time: Time allowed after the end, s.

        Raises:
            ArgumentError: If a joint is unknown or a number is NaN.
        """
        column = {joint: i for i, joint in enumerate(joint_names)}
        on_path = self.path.copy(), self.path_velocity.copy()
        at_goal = self.goal.copy(), self.stopped_velocity.copy()
        for name, given, arrays in (("path", path, on_path), ("goal", goal, at_goal)):
            for joint, tolerance in given.items():
                if joint not in column:
                    raise ArgumentError(
                        f"{name} tolerance: no joint '{joint}' among {', '.join(joint_names)}"
                    )
                i = column[joint]
                for array, quantity, value in zip(
                    arrays, Tolerance._fields, tolerance, strict=True
                ):
                    array[i] = _chosen(value, float(array[i]), f"{name} {quantity} of '{joint}'")
        time = _chosen(goal_time, self.goal_time, "goal_time")
        return Tolerances(
            frozen(on_path[0]), frozen(on_path[1]), frozen(at_goal[0]), frozen(at_goal[1]), time
        )


def _chosen(value: float, default: float, name: str) -> float:
    if np.isnan(value):
        raise ArgumentError(f"tolerance {name} is NaN; give a number")
    return default if value == 0.0 else (np.inf if value < 0.0 else value)


class Verdict(enum.Enum):
    """Outcome of a goal; values from 0 down are error codes of FollowJointTrajectory."""

    RUNNING = 1
    CANCELED = 2
    SUCCESSFUL = 0
    INVALID_GOAL = -1
    PATH_TOLERANCE_VIOLATED = -4
    GOAL_TOLERANCE_VIOLATED = -5

    @property
    def error_code(self) -> int:
        """Error code of the result; that of a cancelled goal is the code of success."""
        return min(self.value, 0)

    @property
    def missed(self) -> bool:
        """True if the robot violated a tolerance."""
        return self in (Verdict.PATH_TOLERANCE_VIOLATED, Verdict.GOAL_TOLERANCE_VIOLATED)


class Progress(NamedTuple):
    """A verdict and its reason on one line."""

    verdict: Verdict
    reason: str = ""


RUNNING = Progress(Verdict.RUNNING)


def judge(
    joint_names: Sequence[str],
    time_past_end: float,
    position_error: Array,
    velocity_error: Array,
    tolerances: Tolerances,
) -> Progress:
    """Judge a goal in one control cycle.

    Args:
        joint_names: Names of the n joints.
        time_past_end: Time since the planned end, s; negative during the motion.
        position_error: Desired minus measured positions, shape (n,), rad or m.
        velocity_error: Desired minus measured velocities, shape (n,), rad/s or m/s; NaN where
            none is measured, which is not checked.
        tolerances: Tolerances of the goal.

    Returns:
        Verdict of the goal, with the joint that failed.
    """
    q, qd = np.abs(position_error), np.abs(velocity_error)
    if time_past_end < 0.0:
        if not ((q > tolerances.path) | (qd > tolerances.path_velocity)).any():
            return RUNNING
        return Progress(
            Verdict.PATH_TOLERANCE_VIOLATED,
            _worst(joint_names, q, tolerances.path, "off its path")
            or _worst(joint_names, qd, tolerances.path_velocity, "too fast or too slow"),
        )
    if not ((q > tolerances.goal) | (qd > tolerances.stopped_velocity)).any():
        return Progress(Verdict.SUCCESSFUL)
    if time_past_end <= tolerances.goal_time:
        return RUNNING
    what = _worst(joint_names, q, tolerances.goal, "off its goal") or _worst(
        joint_names, qd, tolerances.stopped_velocity, "from standing still"
    )
    return Progress(Verdict.GOAL_TOLERANCE_VIOLATED, f"{what}, {time_past_end:.3g} s after the end")


def _apart(a: Array, b: Array) -> float:
    return float(np.abs(a - b).max(initial=0.0))


def _worst(joint_names: Sequence[str], size: Array, allowed: Array, what: str) -> str:
    """Describe the joint with the largest violation; empty if there is none."""
    beyond = size > allowed
    if not beyond.any():
        return ""
    i = int(np.argmax(np.where(beyond, size - allowed, -np.inf)))
    return (
        f"joint '{joint_names[i]}' is {size[i]:.4g} {what}, more than the {allowed[i]:.4g} allowed"
    )


class GoalSample(NamedTuple):
    """Desired and measured state in one control cycle.

    Args:
        now: Time, s.
        motion: Present motion; compared by identity.
        desired: Desired state, shape (n,) each.
        effort: Efforts of the desired state, shape (n,), N m or N.
        position: Measured, shape (n,), rad or m.
        velocity: Measured, shape (n,), rad/s or m/s; NaN where not measured.
        position_error: Desired minus measured, shape (n,), by the shorter way round.
        measurements: Number of states measured so far.
    """

    now: float
    motion: object
    desired: State
    effort: Array
    position: Array
    velocity: Array
    position_error: Array
    measurements: int

    @property
    def velocity_error(self) -> Array:
        """Desired minus measured, shape (n,), rad/s or m/s; NaN where none is measured."""
        return self.desired.qd - self.velocity


@dataclass(eq=False)
class Goal:
    """An accepted goal, on the clock of the follower.

    Args:
        motion: Motion of the goal; compared by identity.
        begin: Time at which that motion takes over, s.
        start: Time zero of its points, s.
        end: Planned end, s.
        times: Times of its points from `start`, shape (m,), s.
        tolerances: Tolerances of the goal.
        client: Receiver of the result.

    Attributes:
        progress: Verdict, final once it is not RUNNING.
        moment: The last judged moment.
    """

    motion: object
    begin: float
    start: float
    end: float
    times: Sequence[float]
    tolerances: Tolerances
    client: Any = None
    progress: Progress = RUNNING
    moment: GoalSample | None = None
    _measurements: int | None = field(default=None, repr=False)
    _begun: GoalSample | None = field(default=None, repr=False)
    _distance: float = field(default=0.0, repr=False)
    _moved: float = field(default=0.0, repr=False)

    @property
    def decided(self) -> bool:
        """True once the goal has ended."""
        return self.progress.verdict is not Verdict.RUNNING

    def point(self, now: float) -> int:
        """Return the index of the next point; the number of points after the last one."""
        return bisect_right(self.times, now - self.start)

    def watch(self, moment: GoalSample) -> None:
        """Update the desired and the measured distance of the joints."""
        self.moment = moment
        begun = self._begun = self._begun or moment
        self._distance = max(self._distance, _apart(moment.desired.q, begun.desired.q))
        self._moved = max(self._moved, _apart(moment.position, begun.position))

    @property
    def unmoved(self) -> str:
        """Reason if no joint has moved although the goal was elsewhere; else empty."""
        if self._distance < LEAST_DISTANCE or self._moved > LEAST_SHARE * self._distance:
            return ""
        return (
            f"no joint has moved by more than {self._moved:.2g} over a distance of "
            f"{self._distance:.2g}; is the receiver of the efforts active?"
        )


class Goals:
    """The active goal of a robot, at most one at a time.

    Two threads share it without a lock: the following thread calls `judge` in
    every cycle, the other thread calls the other methods and alone changes
    `active`. The first decision on a goal is final.

    Args:
        joint_names: Names of the n joints of the robot.
    """

    def __init__(self, joint_names: Sequence[str]) -> None:
        self.joint_names = tuple(joint_names)
        self.active: Goal | None = None

    def accept(self, goal: Goal) -> Goal | None:
        """Activate a goal and return the replaced one, if any."""
        self.end(Verdict.INVALID_GOAL, "a new goal has taken its place")
        before, self.active = self.active, goal
        return before

    def end(self, verdict: Verdict, reason: str) -> bool:
        """End the active goal, from either thread; return False if none is running."""
        goal = self.active
        if goal is None or goal.decided:
            return False
        goal.progress = Progress(verdict, reason)
        return True

    def collect(self) -> Goal | None:
        """Return the goal that has ended since the last call, to send its result, or None."""
        goal = self.active
        if goal is None or not goal.decided:
            return None
        self.active = None
        return goal

    def judge(self, moment: GoalSample) -> Progress | None:
        """Judge the active goal, if any; return its progress if it ends in this cycle.

        A goal whose motion was replaced fails. Only a state measured after the end can show that
        the goal is reached.
        """
        goal = self.active
        if goal is None or goal.decided:
            return None
        if moment.motion is not goal.motion:
            if moment.now < goal.begin:  # the motion has not taken over yet
                return None
            self.end(Verdict.INVALID_GOAL, "another motion has taken its place")
            return goal.progress
        goal.watch(moment)
        past = moment.now - goal.end
        progress = judge(
            self.joint_names, past, moment.position_error, moment.velocity_error, goal.tolerances
        )
        if past >= 0.0 and goal._measurements is None:
            goal._measurements = moment.measurements
        if past >= 0.0 and moment.measurements == goal._measurements:  # not measured since the end
            progress = RUNNING
            if past > goal.tolerances.goal_time:
                progress = Progress(
                    Verdict.GOAL_TOLERANCE_VIOLATED,
                    f"no joint_states for {past:.3g} s after the end",
                )
        if progress.verdict is Verdict.SUCCESSFUL and (unmoved := goal.unmoved):
            progress = Progress(Verdict.GOAL_TOLERANCE_VIOLATED, unmoved)
        if progress.verdict is Verdict.RUNNING:
            return None
        self.end(*progress)
        return progress
