"""Setpoint: the desired motion of the joints, always without a jump.

References are joined from where the arm is, and compared with the states that they belong to;
without references the arm comes to rest and is held.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.compiler.graph.piecewise import maximum
from robot_dynamics.control.laws import position_error
from robot_dynamics.control.model import Model
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.trajectory.interpolation import quintic
from robot_dynamics.trajectory.replacement import Bounds, at_rest_after
from robot_dynamics.trajectory.trajectory import State, Trajectory

USUAL_SPEED = 1.0
"""Speed limit assumed where the URDF gives none, rad/s or m/s."""

SHORTEST_JOIN_S = 1e-3
"""Least time to pass from one motion to another."""

KEPT = 256
"""Number of references that a history keeps at least."""

ANOTHER_CLOCK_S = 1.0
"""Time outside the history beyond which a stamp comes from another clock, s."""


class ReferenceSegment(NamedTuple):
    """The reference at a time, between two known states.

    Args:
        before: First state, q and qd, shape (2, n).
        after: Second state, shape (2, n).
        share: Part of the way from the first to the second that is made.
        ahead: Time for which the motion continues from there with its velocity, s.
        tau: Efforts that the model asks for, shape (n,).
    """

    before: Array
    after: Array
    share: float
    ahead: float
    tau: Array

    @classmethod
    def at(cls, q: Array, qd: Array, tau: Array) -> ReferenceSegment:
        """Return the segment of one state."""
        state = np.array((q, qd))
        return cls(state, state, 0.0, 0.0, tau)

    def desired(self) -> Array:
        """Return positions and velocities, shape (2, n)."""
        return desired(self.before, self.after, self.share, self.ahead)


def desired(before: Array, after: Array, share: Any, ahead: Any) -> Array:
    """Return q and qd, shape (2, n), on a `ReferenceSegment`, of numbers or of symbols."""
    state = before + share * (after - before)
    state[0] += ahead * state[1]
    return state


def join_duration(gap: Array, speed: Array, least: Any) -> Any:
    """Return the time to cover a gap at a quarter of the speed limits or less, s.

    Of numbers or of symbols.

    Args:
        gap: Distances, shape (n,), rad or m.
        speed: Speed limits, shape (n,), rad/s or m/s.
        least: Least duration, s.
    """
    longest = maximum(least, SHORTEST_JOIN_S)
    # The steepest part of a quintic is 15/8 of its mean
    for needed in 15.0 / 8.0 * abs(gap) / (speed / 4.0):
        longest = maximum(needed, longest)
    return longest


class Setpoint:
    """Desired motion of n joints: a transition to the references or to rest.

    Args:
        joint_names: Names of the joints.

    Attributes:
        joined_at: Time at which the transition to the references ends, s.
    """

    def __init__(self, joint_names: Sequence[str]) -> None:
        self._names = tuple(joint_names)
        self._none = np.zeros(len(self._names))
        self._joined = np.zeros((2, len(self._names)))
        self._rest = self._gap = Trajectory.hold(self._names, self._none)
        self._rest_began = self._gap_began = 0.0
        self.joined_at = -np.inf

    def rest_from(self, at: State, stop: float, within: Bounds, now: float) -> None:
        """Come to rest from a state within `stop` s and within the joint ranges, and hold."""
        self._rest, self._rest_began = at_rest_after(self._names, at, stop, within), now

    def move_on_to(self, q: Array, model: Model) -> None:
        """Move from the present rest to positions q, shape (n,), at a quarter of the speed limits.

        The way is straight in the joint coordinates.
        """
        rest = self._rest
        begin = rest.sample(rest.end)
        gap, none = position_error(begin.q, q, model.continuous), self._none
        duration = _join_duration(model, gap, SHORTEST_JOIN_S)
        piece = quintic(np.asarray(duration), begin, State(begin.q - gap, none, none))
        breaks = np.append(rest.breaks, rest.end + duration)
        self._rest = Trajectory(
            self._names, breaks, np.concatenate((rest.coefficients, piece[None]))
        )

    def at_rest(self, now: float) -> State:
        """Return the present state of the motion to rest, shape (n,) each."""
        return self._rest.sample(now - self._rest_began)

    def join(
        self, at: State, reference: ReferenceSegment, model: Model, least: float, now: float
    ) -> None:
        """Pass from a state to the references, at a quarter of the speed limits or less.

        Args:
            at: Where to begin.
            reference: Where the references are now.
            model: The arm.
            least: Least duration, s; fast joints may need more.
            now: Present time, s.
        """
        q, qd = reference.desired()
        gap = position_error(at.q, q, model.continuous)
        duration = _join_duration(model, gap, least)
        none = self._none
        fade = quintic(np.asarray(duration), State(gap, at.qd - qd, none), State(none, none, none))
        self._gap = Trajectory(self._names, np.array([0.0, duration]), fade[None])
        self._gap_began, self.joined_at = now, now + duration

    def offset(self, now: float) -> Array:
        """Return the remaining offset from the references: q and qd, shape (2, n)."""
        if now >= self.joined_at:
            return self._joined
        gap = self._gap.sample(now - self._gap_began)
        return np.array((gap.q, gap.qd))


def _join_duration(model: Model, gap: Array, least: float) -> float:
    """Return `join_duration` by the speed limits of a robot, s."""
    speed = model.dynamics.robot.limits.velocity
    speed = np.where((speed > 0.0) & np.isfinite(speed), speed, USUAL_SPEED)
    return float(join_duration(gap, speed, least))


class ReferenceHistory:
    """Latest desired positions and velocities.

    A late state belongs to the time at which it was measured. Compared with the
    present reference, an arm in motion would show an error that feedback would push.

    Args:
        farthest: Longest extrapolation of a motion with its velocity, s.
    """

    def __init__(self, farthest: float) -> None:
        self._farthest = farthest
        self.forget()

    def forget(self) -> None:
        """Forget all references."""
        self._times: list[float] = []
        self._states: list[Array] = []  # q and qd, shape (2, n)

    def add(self, time: float, state: Array) -> None:
        """Add the reference of a time, s: q and qd, shape (2, n), which are copied."""
        if self._times and time <= self._times[-1]:
            if time == self._times[-1]:
                return
            self.forget()  # the clock was set back
        self._times.append(time)
        self._states.append(state.copy())
        if len(self._times) >= 2 * KEPT:  # all at once, for the cost of a few copies
            del self._times[:KEPT], self._states[:KEPT]

    def around(self, time: float, tau: Array) -> ReferenceSegment | None:
        """Return the segment on which the motion desired at a time lies, with efforts, shape (n,).

        Between two entries it is interpolated; before the first and after the last one it goes on
        with its velocity, for a while. None if nothing is known, or if the time is so far off that
        it must come from another clock.
        """
        times, states = self._times, self._states
        if not times or not times[0] - ANOTHER_CLOCK_S <= time <= times[-1] + ANOTHER_CLOCK_S:
            return None
        if time >= times[-1]:
            ahead = min(time - times[-1], self._farthest)
            return ReferenceSegment(states[-1], states[-1], 0.0, ahead, tau)
        k = bisect_right(times, time)
        if k == 0:
            ahead = max(time - times[0], -self._farthest)
            return ReferenceSegment(states[0], states[0], 0.0, ahead, tau)
        share = (time - times[k - 1]) / (times[k] - times[k - 1])
        return ReferenceSegment(states[k - 1], states[k], share, 0.0, tau)
