"""Goals: is the robot still on its way, and has it arrived?

The logic of the FollowJointTrajectory action, with the tolerances of
joint_trajectory_controller: zero means not checked there, and in a goal zero
means the default and a negative number none.
"""

from __future__ import annotations

import enum
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from robot_dynamics.arrays import Array, frozen
from robot_dynamics.errors import ArgumentError
from robot_dynamics.trajectory.trajectory import State

WORTH_A_LOOK, LEAST_SHARE = 5e-3, 0.1
"""Way of a goal, rad or m, of which some joint has made this share, or nothing has moved at all."""


class Tolerance(NamedTuple):
    """What a goal asks of one joint: zero keeps the default, a negative number means none.

    Args:
        position: Largest position error, rad or m.
        velocity: Largest velocity error, rad/s or m/s.
    """

    position: float = 0.0
    velocity: float = 0.0


@dataclass(frozen=True, eq=False)
class Tolerances:
    """How far n joints may be off; infinite where it does not matter, shape (n,) each.

    Args:
        path: Position error on the way, rad or m.
        path_velocity: Velocity error on the way, rad/s or m/s.
        goal: Position error at the end, rad or m.
        stopped_velocity: Velocity error at the end, where the motion is to rest, rad/s or m/s.
        goal_time: Time allowed beyond the planned end, s; infinite to wait for ever.
    """

    path: Array
    path_velocity: Array
    goal: Array
    stopped_velocity: Array
    goal_time: float = np.inf

    @staticmethod
    def none(n: int) -> Tolerances:
        """Whatever happens is fine."""
        anything = frozen(np.full(n, np.inf))
        return Tolerances(anything, anything, anything, anything)

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
        any_speed = frozen(np.full_like(arrays[0], np.inf))
        return Tolerances(arrays[0], any_speed, arrays[1], arrays[2], float(arrays[3][0]))

    def with_goal(
        self,
        joint_names: Sequence[str],
        path: Mapping[str, Tolerance],
        goal: Mapping[str, Tolerance],
        goal_time: float = 0.0,
    ) -> Tolerances:
        """These tolerances with those of one goal: zero keeps the default, negative means none.

        Args:
            joint_names: Names of the n joints.
            path: Tolerances on the way, by joint name.
            goal: Tolerances at the end, by joint name.
            goal_time: Time allowed beyond the end, s.

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
    """What has become of a goal; from 0 down the values are those of FollowJointTrajectory."""

    RUNNING = 1
    CANCELED = 2
    SUCCESSFUL = 0
    INVALID_GOAL = -1
    PATH_TOLERANCE_VIOLATED = -4
    GOAL_TOLERANCE_VIOLATED = -5

    @property
    def error_code(self) -> int:
        """What a result says; a cancelled goal has no code but that of success."""
        return min(self.value, 0)

    @property
    def missed(self) -> bool:
        """Whether the robot is not where it was to be."""
        return self in (Verdict.PATH_TOLERANCE_VIOLATED, Verdict.GOAL_TOLERANCE_VIOLATED)


class Progress(NamedTuple):
    """A verdict and one line for a person."""

    verdict: Verdict
    reason: str = ""


UNDER_WAY = Progress(Verdict.RUNNING)


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
        time_past_end: Time since the planned end, s; negative while under way.
        position_error: Desired minus measured positions, shape (n,), rad or m.
        velocity_error: Desired minus measured velocities, shape (n,), rad/s or m/s; NaN where
            none is measured, which is then not checked.
        tolerances: What is allowed.

    Returns:
        Whether the goal goes on, has succeeded, or has failed and by which joint.
    """
    q, qd = np.abs(position_error), np.abs(velocity_error)
    if time_past_end < 0.0:
        if not ((q > tolerances.path) | (qd > tolerances.path_velocity)).any():
            return UNDER_WAY
        return Progress(
            Verdict.PATH_TOLERANCE_VIOLATED,
            _worst(joint_names, q, tolerances.path, "off its path")
            or _worst(joint_names, qd, tolerances.path_velocity, "too fast or too slow"),
        )
    if not ((q > tolerances.goal) | (qd > tolerances.stopped_velocity)).any():
        return Progress(Verdict.SUCCESSFUL)
    if time_past_end <= tolerances.goal_time:
        return UNDER_WAY
    what = _worst(joint_names, q, tolerances.goal, "off its goal") or _worst(
        joint_names, qd, tolerances.stopped_velocity, "from standing still"
    )
    return Progress(Verdict.GOAL_TOLERANCE_VIOLATED, f"{what}, {time_past_end:.3g} s after the end")


def _apart(a: Array, b: Array) -> float:
    return float(np.abs(a - b).max(initial=0.0))


def _worst(joint_names: Sequence[str], size: Array, allowed: Array, what: str) -> str:
    """The joint that is furthest beyond what is allowed; empty if none is."""
    beyond = size > allowed
    if not beyond.any():
        return ""
    i = int(np.argmax(np.where(beyond, size - allowed, -np.inf)))
    return (
        f"joint '{joint_names[i]}' is {size[i]:.4g} {what}, more than the {allowed[i]:.4g} allowed"
    )


class Moment(NamedTuple):
    """What the robot is to do and what it does, in one control cycle.

    Args:
        now: Time, s.
        motion: What it follows; compared by identity.
        desired: State that is due, shape (n,) each.
        effort: Efforts that go with it, shape (n,), N m or N.
        position: Measured, shape (n,), rad or m.
        velocity: Measured, shape (n,), rad/s or m/s; NaN where it is not.
        position_error: Desired minus measured, shape (n,), by the shorter way round.
        measurements: How many states have been measured so far.
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
    """A goal that was accepted, on the clock of the one who follows it.

    Args:
        motion: What is followed for it; compared by identity.
        begin: When that motion takes over, s.
        start: Time zero of its points, s.
        end: When it is to be there, s.
        times: Times of its points from `start`, shape (m,), s.
        tolerances: How far off it may be.
        client: Whom to tell.

    Attributes:
        progress: How it stands; decided once and for all when it no longer runs.
        moment: The last one that was judged.
    """

    motion: object
    begin: float
    start: float
    end: float
    times: Sequence[float]
    tolerances: Tolerances
    client: Any = None
    progress: Progress = UNDER_WAY
    moment: Moment | None = None
    _measurements: int | None = field(default=None, repr=False)
    _begun: Moment | None = field(default=None, repr=False)
    _way: float = field(default=0.0, repr=False)
    _moved: float = field(default=0.0, repr=False)

    @property
    def decided(self) -> bool:
        """Whether it no longer runs."""
        return self.progress.verdict is not Verdict.RUNNING

    def point(self, now: float) -> int:
        """Index of the point that is headed for; the number of points after the last."""
        return bisect_right(self.times, now - self.start)

    def watch(self, moment: Moment) -> None:
        """Take in how far the joints were to go, and have gone."""
        self.moment = moment
        begun = self._begun = self._begun or moment
        self._way = max(self._way, _apart(moment.desired.q, begun.desired.q))
        self._moved = max(self._moved, _apart(moment.position, begun.position))

    @property
    def unmoved(self) -> str:
        """What tells that no joint has moved although the goal was somewhere else, or nothing."""
        if self._way < WORTH_A_LOOK or self._moved > LEAST_SHARE * self._way:
            return ""
        return (
            f"no joint has moved by more than {self._moved:.2g} on a way of {self._way:.2g}; is "
            "what receives the efforts active?"
        )


class Goals:
    """The one goal at a time that a robot works on.

    Two threads share it without a lock: one follows the motion and calls
    `judge` in every cycle, the other does all the rest. Whatever either of
    them decides first of a goal counts; `active` changes only in the other.

    Args:
        joint_names: Names of the n joints of the robot.
    """

    def __init__(self, joint_names: Sequence[str]) -> None:
        self.joint_names = tuple(joint_names)
        self.active: Goal | None = None

    def accept(self, goal: Goal) -> Goal | None:
        """Work on a goal from now on; the one that was collected for it, if any."""
        self.end(Verdict.INVALID_GOAL, "a new goal has taken its place")
        before, self.active = self.active, goal
        return before

    def end(self, verdict: Verdict, reason: str) -> bool:
        """End the active goal, from either thread; false if there is none that still runs."""
        goal = self.active
        if goal is None or goal.decided:
            return False
        goal.progress = Progress(verdict, reason)
        return True

    def collect(self) -> Goal | None:
        """The goal that was decided since the last call: its client is to be told."""
        goal = self.active
        if goal is None or not goal.decided:
            return None
        self.active = None
        return goal

    def judge(self, moment: Moment) -> Progress | None:
        """Judge the active goal, if any; what was decided in this cycle.

        A goal whose motion is no longer followed has lost, whoever replaced it.
        Only a state that was measured after the end can show that it has arrived.
        """
        goal = self.active
        if goal is None or goal.decided:
            return None
        if moment.motion is not goal.motion:
            if moment.now < goal.begin:  # still to take over
                return None
            self.end(Verdict.INVALID_GOAL, "another motion has taken its place")
            return goal.progress
        goal.watch(moment)
        past = moment.now - goal.end
        progress = judge(
            self.joint_names, past, moment.position_error, moment.velocity_error, goal.tolerances
        )
        if past >= 0.0 and self._blind(goal, moment):
            progress = UNDER_WAY
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

    def _blind(self, goal: Goal, moment: Moment) -> bool:
        """Whether nothing has been measured since the end."""
        if goal._measurements is None:
            goal._measurements = moment.measurements
        return moment.measurements == goal._measurements
