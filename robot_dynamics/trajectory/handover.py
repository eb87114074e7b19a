"""Handover of motions from the thread that plans them to the one that follows them.

Planning takes longer than a cycle of the following loop. A motion is therefore planned to begin
slightly in the future. It is taken over then if the motion that it continues is still followed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic

from robot_dynamics.errors import TrajectoryError
from robot_dynamics.trajectory.follower import Follower
from robot_dynamics.trajectory.motion_clock import MotionClock
from robot_dynamics.trajectory.motion_plan import PlannedMotion, Rules, plan_motion
from robot_dynamics.trajectory.waypoints import Waypoints

STOP_TIMEOUT_S = 2.0
"""Longest wait, in steady time, for the beginning or end of a motion.

The clock of the motions may stand still.
"""


class Handover:
    """Shared state of two threads: a follower, at most one planned motion and one request to stop.

    There is no lock, because every field is written atomically.

    Args:
        follower: Follower, which only the following thread changes.
        clock: Clock of the follower.
        now: Returns the present time of that clock, s.
        going: Returns whether to continue; False on shutdown.
    """

    def __init__(
        self,
        follower: Follower,
        clock: MotionClock,
        now: Callable[[], float],
        going: Callable[[], bool] = lambda: True,
    ) -> None:
        self.follower = follower
        self._clock, self._now, self._going = clock, now, going
        self._motion: PlannedMotion | None = None
        self._stop = False
        self._taken = threading.Event()

    @property
    def pending(self) -> bool:
        """True while a motion or a stop has not been taken over; a new motion must continue it."""
        return self._stop or self._motion is not None

    # -- the planning thread ----------------------------------------------------------------

    def planned(
        self, waypoints: Waypoints, stamp_ns: int, rules: Rules, lead: float = 0.0
    ) -> PlannedMotion:
        """Plan a motion to be offered; repeat it until it is ready before it begins.

        It is planned again if planning took too long, or if meanwhile the present motion was
        stopped or the clock jumped.

        Args:
            waypoints: The requested motion.
            stamp_ns: Its time zero on the source clock, ns; zero means now.
            rules: Its limits.
            lead: Least time from planning to the beginning, s.

        Raises:
            TrajectoryError: If it is refused, if the previous motion is not taken over, or on
                shutdown.
        """
        end = monotonic() + STOP_TIMEOUT_S
        while self._going():
            if self.pending:  # it begins soon; plan from there
                self.wait(0.1)
                if monotonic() > end:
                    raise TrajectoryError(
                        "trajectory: the previous one has not begun, because the clock stands "
                        "still; send it again once the clock runs"
                    )
                continue
            base, epoch, begin = self.follower.followed, self._clock.epoch, self._now() + lead
            # A stamp of exactly zero means now
            stamp = (self._clock.seconds(stamp_ns) or 1e-9) if stamp_ns else 0.0
            motion = plan_motion(base, waypoints, begin, stamp, rules)
            late = self._now() - begin
            if late > 0.0:
                lead += 2.0 * late
            elif self.follower.followed is base and self._clock.epoch == epoch:
                return motion
        raise TrajectoryError("trajectory: the node is shutting down")

    def offer(self, motion: PlannedMotion) -> None:
        """Offer a motion to be taken over at its beginning; call it while nothing is pending."""
        self._taken.clear()
        self._motion = motion

    def stop(self) -> None:
        """Request that the follower comes to rest and drops an offered motion."""
        self._taken.clear()
        self._stop = True

    def wait(self, timeout: float) -> None:
        """Wait until a motion or stop has been taken over, for `timeout` s at most."""
        self._taken.wait(timeout)

    def wait_for_rest(self) -> None:
        """Wait until the follower has stopped, for `STOP_TIMEOUT_S` at most."""
        end = monotonic() + STOP_TIMEOUT_S
        while self._going() and monotonic() < end:
            if not (self.pending or self.follower.moving(self._now())):
                return
            self.wait(0.02)

    # -- the following thread ---------------------------------------------------------------

    def take(self, now: float) -> bool:
        """Let the follower take over a motion or stop that is due; return False if one is dropped.

        A motion is dropped if its base is no longer followed, because it would begin with a jump.
        """
        follower = self.follower
        if self._stop:
            follower.stop(now)
            self._motion = None
            self._stop = False  # only now, so that the next motion is planned from the stop
            self._taken.set()
        motion = self._motion
        if motion is None or now < motion.begin:
            return True
        joins = follower.followed is motion.base
        if joins:
            follower.follow(motion.trajectory, motion.begin)
        self._motion = None
        self._taken.set()
        return joins

    def forget(self) -> None:
        """Drop an offered motion; a stop request remains."""
        self._motion = None
        self._taken.set()

    def finish(self) -> bool:
        """Let the follower take over an offered motion at once, so that it can be stopped.

        For the end of the following thread, which takes nothing any more.

        Returns:
            Whether a motion was offered.
        """
        motion, self._motion, self._stop = self._motion, None, False
        if motion is not None and self.follower.followed is motion.base:
            self.follower.follow(motion.trajectory, min(motion.begin, self._now()))
        return motion is not None
