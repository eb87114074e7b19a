"""Handover of motions from the planning thread to the following thread.

Planning takes longer than a cycle of the following loop. A motion is therefore planned to begin
slightly in the future. It is taken over then if the motion that it continues is still followed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import NamedTuple

from robot_dynamics.errors import TrajectoryError
from robot_dynamics.foundation.units import NS_PER_S
from robot_dynamics.robot import Robot
from robot_dynamics.trajectory.follower import Follower
from robot_dynamics.trajectory.motion_limits import Effort, check_finite, plan_within_limits
from robot_dynamics.trajectory.replacement import equivalent_angles
from robot_dynamics.trajectory.trajectory import MOMENT_S, Trajectory
from robot_dynamics.trajectory.waypoints import Waypoints

MAX_STEP_BACK_S = 0.1
"""Backward step of a clock above which it counts as a jump."""

MAX_STEP_AHEAD_S = 0.5
"""Forward step of a clock above which it counts as a jump; a coarse /clock stays below it."""

STOP_TIMEOUT_S = 2.0
"""Longest wait, in steady time, for the beginning or end of a motion.

The clock of the motions may stand still.
"""

MAX_CLOCK_RATE = 100.0
"""Largest rate of a simulated clock, s/s."""


@dataclass(frozen=True, eq=False)
class PlannedMotion:
    """A planned motion; times in s on the clock of the follower.

    Args:
        trajectory: Motion of all joints.
        begin: Its time zero, at which it takes over.
        start: Time zero of its waypoints.
        waypoints: Its waypoints.
        base: Trajectory that it continues, followed when it was planned.
        settled: Time by which it has joined its waypoints.
        remark: Remark for the log.
    """

    trajectory: Trajectory
    begin: float
    start: float
    waypoints: Waypoints
    base: Trajectory
    settled: float
    remark: str = ""

    @property
    def end(self) -> float:
        """Time of the last waypoint; joints without waypoints may continue their motion."""
        end = self.begin + self.trajectory.end
        if len(self.waypoints.joint_names) == len(self.trajectory.joint_names):
            return end
        return min(end, max(self.start + self.waypoints.duration, self.settled))


class Rules(NamedTuple):
    """Limits of a motion, and its time ahead.

    Args:
        limits: One of `motion_limits.LIMITS`.
        robot: Robot with the limits.
        effort: Returns the efforts, shape (N, n), of a state of shape (N, n).
        lead: Least time from planning to the beginning, s.
    """

    limits: str
    robot: Robot
    effort: Effort
    lead: float = 0.0


def plan_motion(
    follower: Follower, waypoints: Waypoints, begin: float, stamp: float, rules: Rules
) -> PlannedMotion:
    """Plan the transition from what is followed to waypoints, without following it.

    Args:
        follower: Follower of the motion.
        waypoints: The requested motion.
        begin: Time at which it takes over, s.
        stamp: Time zero of the waypoints, s; zero for `begin`.
        rules: Limits of the motion.

    Raises:
        TrajectoryError: If it is refused.
    """
    base, start = follower.trajectory, stamp or begin
    join = partial(follower.plan, now=begin, stamp=stamp)
    found = plan_within_limits(rules.limits, waypoints, join, rules.robot, rules.effort)
    trajectory, fitting, remark = found
    check_finite(trajectory, rules.effort)
    settled = max(start, begin) + follower.blend
    if follower.continuous is not None and start + waypoints.times[0] > begin + MOMENT_S:
        shifted = equivalent_angles(fitting, trajectory, follower.continuous)
        remark = "; ".join(filter(None, (remark, shifted)))
    return PlannedMotion(trajectory, begin, start, fitting, base, settled, remark)


class Handover:
    """At most one planned motion and one stop request for the follower.

    The following thread calls `take` and `forget`, the planning thread all other methods. There is
    no lock, because every field is written atomically.
    """

    def __init__(self) -> None:
        self._motion: PlannedMotion | None = None
        self._stop = False
        self._taken = threading.Event()

    @property
    def pending(self) -> bool:
        """True while a motion or a stop has not been taken over; a new motion must continue it."""
        return self._stop or self._motion is not None

    def offer(self, motion: PlannedMotion) -> None:
        """Offer a motion to be taken over at its beginning; call it while nothing is pending."""
        self._taken.clear()
        self._motion = motion

    def planned(
        self,
        follower: Follower,
        clock: MotionClock,
        now: Callable[[], float],
        waypoints: Waypoints,
        stamp_ns: int,
        rules: Rules,
        going: Callable[[], bool] = lambda: True,
    ) -> PlannedMotion:
        """Plan a motion to be offered; repeat it until it is ready before it begins.

        It is planned again if planning took too long, or if meanwhile the present motion was
        stopped or the clock jumped.

        Args:
            follower: Follower of the motion.
            clock: Clock of the follower.
            now: Present time of that clock, s.
            waypoints: The requested motion.
            stamp_ns: Its time zero on the source clock, ns; zero means now.
            rules: Limits of the motion, and its time ahead.
            going: Whether to continue; False on shutdown.

        Raises:
            TrajectoryError: If it is refused, if the previous motion is not taken over, or on
                shutdown.
        """
        lead, end = rules.lead, monotonic() + STOP_TIMEOUT_S
        while going():
            if self.pending:  # it begins soon; plan from there
                self.wait(0.1)
                if monotonic() > end:
                    raise TrajectoryError(
                        "trajectory: the previous one has not begun, because the clock stands "
                        "still; send it again once the clock runs"
                    )
                continue
            epoch, begin = clock.epoch, now() + lead
            # A stamp of exactly zero means now
            stamp = (clock.seconds(stamp_ns) or 1e-9) if stamp_ns else 0.0
            motion = plan_motion(follower, waypoints, begin, stamp, rules)
            late = now() - begin
            if late > 0.0:
                lead += 2.0 * late
            elif follower.trajectory is motion.base and clock.epoch == epoch:
                return motion
        raise TrajectoryError("trajectory: the node is shutting down")

    def stop(self) -> None:
        """Request that the follower comes to rest and drops an offered motion."""
        self._taken.clear()
        self._stop = True

    def wait(self, timeout: float) -> None:
        """Wait until a motion or stop has been taken over, for `timeout` s at most."""
        self._taken.wait(timeout)

    def wait_for_rest(
        self, follower: Follower, now: Callable[[], float], going: Callable[[], bool]
    ) -> None:
        """Wait until the follower has stopped, for `STOP_TIMEOUT_S` at most; see `planned`."""
        end = monotonic() + STOP_TIMEOUT_S
        while going() and monotonic() < end and (self.pending or follower.moving(now())):
            self.wait(0.02)

    def take(self, follower: Follower, now: float) -> bool:
        """Let the follower take over a motion or stop that is due; return False if one is dropped.

        A motion is dropped if its base is no longer followed, because it would begin with a jump.
        """
        if self._stop:
            follower.stop(now)
            self._motion = None
            self._stop = False  # only now, so that the next motion is planned from the stop
            self._taken.set()
        motion = self._motion
        if motion is None or now < motion.begin:
            return True
        joins = follower.trajectory is motion.base
        if joins:
            follower.follow(motion.trajectory, motion.begin)
        self._motion = None
        self._taken.set()
        return joins

    def finish(self, follower: Follower, now: float) -> bool:
        """Let the follower take over an offered motion at once, so that it can be stopped.

        For the end of the following thread, which takes nothing any more.

        Returns:
            Whether a motion was offered.
        """
        motion, self._motion, self._stop = self._motion, None, False
        if motion is not None and follower.trajectory is motion.base:
            follower.follow(motion.trajectory, min(motion.begin, now))
        return motion is not None

    def forget(self) -> None:
        """Drop an offered motion; a stop request remains."""
        self._motion = None
        self._taken.set()


class MotionClock:
    """The clock of motions: seconds of a source clock without its forward jumps.

    It ignores forward jumps, because jumping to the end of a motion would be a step. It follows
    backward jumps and reports them.

    Args:
        ns: Time of the source clock, ns; zero on this clock.
        steady: Time of a clock that never jumps, s.

    Attributes:
        epoch: Time of the source clock at zero of this clock, ns; it changes at a forward jump.
        now: Time of the last `tick`, s.
    """

    def __init__(self, ns: int, steady: float) -> None:
        self.epoch = ns
        self.start(ns, steady)

    def start(self, ns: int, steady: float) -> None:
        """Start at the present time of the source clock, regardless of earlier jumps."""
        self.now, self._steady = self.seconds(ns), steady

    def seconds(self, ns: int) -> float:
        """Convert a time of the source clock, ns, to this clock, s."""
        return (ns - self.epoch) / NS_PER_S

    def nanoseconds(self, seconds: float) -> int:
        """Convert a time of this clock, s, to the source clock, ns."""
        return self.epoch + round(seconds * NS_PER_S)

    def tick(self, ns: int, steady: float) -> float:
        """Advance to the present time.

        Args:
            ns: Time of the source clock, ns.
            steady: Time of a clock that never jumps, s.

        Returns:
            Jump of the source clock, s: negative for backward, zero for none.
        """
        gone, self._steady = steady - self._steady, steady
        step = (ns - self.epoch) / NS_PER_S - self.now
        if step > MAX_STEP_AHEAD_S + MAX_CLOCK_RATE * gone:
            self.epoch += round(step * NS_PER_S)
            return step
        self.now += step
        return step if step < -MAX_STEP_BACK_S else 0.0
