"""Setpoint: what the joints are to do now, without a jump whatever happens.

References are joined from where the arm is, and compared with the states that they belong to;
without references the arm comes to rest and is held.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.control.laws import Reference, position_error
from robot_dynamics.control.model import Model
from robot_dynamics.trajectory.interpolation import quintic
from robot_dynamics.trajectory.replacement import Bounds, at_rest_after
from robot_dynamics.trajectory.trajectory import State, Trajectory

USUAL_SPEED = 1.0
"""Speed of a joint that a URDF gives no limit for, rad/s or m/s."""

SHORTEST_JOIN_S = 1e-3
"""Least time to pass from one motion to another."""

ANOTHER_CLOCK_S = 1.0
"""Time before all and after all that is known from where on a stamp means nothing."""


class Setpoint:
    """Desired motion of n joints: a way to the references, or a way to rest.

    Args:
        joint_names: Names of the joints.

    Attributes:
        joined_at: From when on nothing is left of the way to the references, s.
    """

    def __init__(self, joint_names: Sequence[str]) -> None:
        self._names = tuple(joint_names)
        self._none = np.zeros(len(self._names))
        self._rest = self._gap = Trajectory.hold(self._names, self._none)
        self._rest_began = self._gap_began = 0.0
        self.joined_at = -np.inf

    def rest_from(self, at: State, stop: float, within: Bounds, now: float) -> None:
        """Come to rest from a state within `stop` s and within the joint ranges, and be held."""
        self._rest, self._rest_began = at_rest_after(self._names, at, stop, within), now

    def at_rest(self, now: float) -> State:
        """The state that is due on the way to rest, shape (n,) each."""
        return self._rest.sample(now - self._rest_began)

    def join(self, at: State, reference: Reference, model: Model, least: float, now: float) -> None:
        """Pass from a state to the references, at a quarter of the speed limits or less.

        Args:
            at: Where to begin.
            reference: Where the references are now.
            model: The arm.
            least: Time to take if no joint has to hurry, s.
            now: Present time, s.
        """
        gap = position_error(at.q, reference.q, model.continuous)
        speed = model.dynamics.robot.limits.velocity
        speed = np.where((speed > 0.0) & np.isfinite(speed), speed, USUAL_SPEED) / 4.0
        # The steepest part of a quintic is 15/8 of its mean
        needed = float((15.0 / 8.0 * np.abs(gap) / speed).max(initial=0.0))
        duration = max(least, needed, SHORTEST_JOIN_S)
        none = self._none
        fade = quintic(
            np.asarray(duration),
            State(gap, at.qd - reference.qd, none),
            State(none, none, none),
        )
        self._gap = Trajectory(self._names, np.array([0.0, duration]), fade[None])
        self._gap_began, self.joined_at = now, now + duration

    def joined(self, reference: Reference, now: float) -> Reference:
        """A reference, and what is left of the way to it."""
        if now >= self.joined_at:
            return reference
        gap = self._gap.sample(now - self._gap_began)
        return Reference(reference.q + gap.q, reference.qd + gap.qd, reference.tau)


class ReferenceHistory:
    """Desired positions and velocities of the last moments.

    A state that comes late, or is the last for a while, belongs to the time at
    which it was measured. Compared with what is desired now, an arm in motion
    would seem to be off its way, and feedback would push it.

    Args:
        farthest: Longest time over which a motion goes on with its velocity, where nothing is
            known of it, s.
        length: Number of entries that are kept.
    """

    def __init__(self, farthest: float, length: int = 256) -> None:
        self._farthest = farthest
        self._length = length
        self.forget()

    def forget(self) -> None:
        """Start again."""
        self._times: list[float] = []
        self._states: list[Array] = []  # q and qd behind each other, shape (2 n,)

    def add(self, time: float, q: Array, qd: Array) -> None:
        """Note what is desired at a time, s: q and qd, shape (n,), which are copied."""
        if self._times and time <= self._times[-1]:
            if time == self._times[-1]:
                return
            self.forget()  # the clock was set back
        self._times.append(time)
        self._states.append(np.concatenate((q, qd)))
        if len(self._times) >= 2 * self._length:  # all at once, for the cost of a few copies
            del self._times[: self._length], self._states[: self._length]

    def at(self, time: float) -> tuple[Array, Array] | None:
        """Positions and velocities, shape (n,), that were desired at a time.

        Between two entries they are interpolated; before the first and after the last one the
        motion goes on with its velocity, for a while. None if nothing is known, or if the time is
        so far off that it must come from another clock.
        """
        times, states = self._times, self._states
        if not times or not times[0] - ANOTHER_CLOCK_S <= time <= times[-1] + ANOTHER_CLOCK_S:
            return None
        k = bisect_right(times, time)
        if k in (0, len(times)):
            k = max(k - 1, 0)
            q, qd = np.split(states[k], 2)
            return q + min(max(time - times[k], -self._farthest), self._farthest) * qd, qd
        before, after = states[k - 1], states[k]
        s = (time - times[k - 1]) / (times[k] - times[k - 1])
        q, qd = np.split(before + s * (after - before), 2)
        return q, qd

    def newest(self, time: float) -> tuple[Array, float] | None:
        """The last entry, if a time is that of it or comes after it: then `at` goes on from there.

        Returns:
            Positions and velocities behind each other, shape (2 n,), and the time for which the
            motion goes on, s; None where `at` says something else.
        """
        times = self._times
        if not times:
            return None
        ahead = time - times[-1]
        if not 0.0 <= ahead <= ANOTHER_CLOCK_S:
            return None
        return self._states[-1], min(ahead, self._farthest)
