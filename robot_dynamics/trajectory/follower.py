"""Follower: the desired state of a robot while motions start, are replaced and end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from robot_dynamics.foundation.arrays import Array, vector
from robot_dynamics.trajectory.replacement import (
    DEFAULT_BLEND_S,
    DEFAULT_STOP_S,
    Bounds,
    remaining,
    replaced,
    stopped,
)
from robot_dynamics.trajectory.trajectory import State, Trajectory
from robot_dynamics.trajectory.waypoints import Waypoints


class Followed(NamedTuple):
    """A motion and its time zero, s, on the clock of the caller."""

    trajectory: Trajectory
    begin: float


class Follower:
    """The desired motion of a robot, on a clock of the caller.

    It holds still until it receives a motion. Position, velocity and acceleration
    are always continuous. It reads no clock: every call passes the time, in seconds
    on the same clock. Other threads may call what changes nothing.

    Args:
        joint_names: Names of the n joints of the robot.
        q: Position to hold, shape (n,), rad or m.
        continuous: Which joints turn without end, shape (n,); by default none.
        blend: Time to join a motion that does not start at the present state, s.
        stop: Time to come to rest, s.
        within: Position limits that a stop does not exceed; by default none.

    Attributes:
        followed: Present motion, replaced as a whole.

    Examples:
        >>> from robot_dynamics.trajectory import Follower, polynomial_345
        >>> desired = Follower(("shoulder",), [0.0])
        >>> _ = desired.accept(polynomial_345(("shoulder",), [0.0], [1.0], 2.0), now=10.0)
        >>> float(desired.sample(11.0).q[0]), desired.remaining(11.0)
        (0.5, 1.0)
    """

    def __init__(
        self,
        joint_names: Sequence[str],
        q: npt.ArrayLike,
        *,
        continuous: Sequence[bool] | Array | None = None,
        blend: float = DEFAULT_BLEND_S,
        stop: float = DEFAULT_STOP_S,
        within: Bounds | None = None,
    ) -> None:
        self.joint_names = tuple(joint_names)
        self.continuous = None if continuous is None else np.asarray(continuous, dtype=bool)
        self.blend = blend
        self.stop_time = stop
        self.within = within
        self.hold(q)

    def hold(self, q: npt.ArrayLike) -> None:
        """Drop all motions and hold a position at once, for a robot at rest there.

        Args:
            q: Position to hold, shape (n,), rad or m.

        Raises:
            ShapeError: If q does not have one entry per joint.
        """
        q = vector("q", q, len(self.joint_names))
        self.followed = Followed(Trajectory.hold(self.joint_names, q), 0.0)

    @property
    def trajectory(self) -> Trajectory:
        """Present motion."""
        return self.followed.trajectory

    def sample(self, now: float) -> State:
        """Return the desired state.

        Args:
            now: Present time, s, of the clock of the caller.

        Returns:
            Positions, velocities and accelerations, shape (n,) each.
        """
        trajectory, begin = self.followed
        return trajectory.sample(now - begin)

    def moving(self, now: float) -> bool:
        """Return whether a motion is under way or waiting to start.

        Args:
            now: Present time, s, of the clock of the caller.

        Returns:
            True before the end of the motion.
        """
        return self.remaining(now) > 0.0

    def remaining(self, now: float) -> float:
        """Return the time until the motion ends.

        Args:
            now: Present time, s, of the clock of the caller.

        Returns:
            Time, s; zero afterwards.
        """
        trajectory, begin = self.followed
        return max(begin + trajectory.end - now, 0.0)

    def ahead(self, now: float) -> Trajectory:
        """Return the rest of the motion, or a hold after its end.

        Args:
            now: Present time, s, of the clock of the caller.

        Returns:
            Trajectory whose time zero is now.
        """
        current, begin = self.followed
        t = now - begin
        if t >= current.end:
            return Trajectory.hold(self.joint_names, current.sample(t).q)
        return remaining(current, t)

    def plan(self, waypoints: Waypoints, now: float, stamp: float = 0.0) -> Trajectory:
        """Plan the transition from the present motion to new waypoints, without following it.

        Check the result against limits, then pass it to `follow`.

        Args:
            waypoints: The new motion, of some or all joints.
            now: Present time, s.
            stamp: Start time of the new motion, s on the same clock; zero means now.

        Returns:
            Trajectory of all joints; its time zero is `now`.

        Raises:
            TrajectoryError: If the motion is already over, or names an unknown joint.
        """
        current, begin = self.followed
        return replaced(
            current,
            now - begin,
            waypoints,
            delay=stamp - now if stamp else 0.0,
            continuous=self.continuous,
            blend=self.blend,
            stop=self.stop_time,
        )

    def follow(self, trajectory: Trajectory, now: float) -> None:
        """Follow a trajectory from now on.

        Args:
            trajectory: Motion of all joints; its time zero is `now`.
            now: Present time, s, of the clock of the caller.
        """
        self.followed = Followed(trajectory, now)

    def accept(self, waypoints: Waypoints, now: float, stamp: float = 0.0) -> Trajectory:
        """Call `plan` and `follow`.

        Args:
            waypoints: The new motion, of some or all joints.
            now: Present time, s, of the clock of the caller.
            stamp: Start time of the new motion, s on the same clock; zero means now.

        Returns:
            Trajectory that is followed now; its time zero is `now`.

        Raises:
            TrajectoryError: As `plan`; the present motion then continues.
        """
        trajectory = self.plan(waypoints, now, stamp)
        self.follow(trajectory, now)
        return trajectory

    def stop(self, now: float) -> None:
        """Come to rest in the time of a stop, and hold.

        Args:
            now: Present time, s, of the clock of the caller.
        """
        self.clock_jumped(now, now)

    def go_to(self, q: Array, now: float) -> None:
        """Move from the present state to rest at a position, in the time of a stop.

        Args:
            q: Position, shape (n,), rad or m.
            now: Present time, s, of the clock of the caller.
        """
        rest = np.zeros((1, len(q)))
        there = Waypoints(self.joint_names, np.array([self.stop_time]), q[None], rest, rest)
        self.accept(there, now)

    def clock_jumped(self, before: float, after: float) -> None:
        """Drop all motions and come to rest after the clock was set.

        Args:
            before: Time before it was set, s.
            after: Time after it was set, s.
        """
        current, begin = self.followed
        state = stopped(current, before - begin, self.stop_time, self.within)
        self.follow(state, after)
