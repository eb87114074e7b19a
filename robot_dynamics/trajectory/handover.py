"""Handover: a motion passes from the thread that plans it to the thread that follows it.

Planning takes longer than a cycle of the loop that follows. So a motion is planned from a moment
shortly ahead, and taken over there if what it joins is then still followed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from robot_dynamics.errors import TrajectoryError
from robot_dynamics.trajectory.follower import Follower
from robot_dynamics.trajectory.trajectory import Trajectory
from robot_dynamics.trajectory.trajectory_files import NS_PER_S
from robot_dynamics.trajectory.waypoints import Waypoints

MAX_STEP_BACK_S = 0.1
"""Step back of a clock that is more than a correction."""

MAX_STEP_AHEAD_S = 0.5
"""Step ahead of a clock that is more than a correction, or than a coarse /clock."""

STOP_TIMEOUT_S = 2.0
"""Steady time after which the beginning or end of a motion is waited for no longer.

The clock that motions follow may stand.
"""

MAX_CLOCK_RATE = 100.0
"""Largest rate of a simulated clock, s/s."""


@dataclass(frozen=True, eq=False)
class PlannedMotion:
    """A motion that is to be followed; times in s on the clock of the follower.

    Args:
        trajectory: Motion of all joints.
        begin: Its time zero, when it takes over.
        start: Time zero of its waypoints.
        waypoints: What it goes through.
        base: What was followed when it was planned, and what it therefore joins.
        settled: Time by which it has joined its waypoints.
        remark: What is to be said of it.
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
        """When it is at its last waypoint; other joints may go on with what they did before."""
        end = self.begin + self.trajectory.end
        if len(self.waypoints.joint_names) == len(self.trajectory.joint_names):
            return end
        return min(end, max(self.start + self.waypoints.duration, self.settled))


class Handover:
    """At most one planned motion, and at most one wish to stop, on their way to the follower.

    `take` and `forget` belong to the thread that follows, all else to the one that plans. There is
    no lock: each field is written as a whole.
    """

    def __init__(self) -> None:
        self._motion: PlannedMotion | None = None
        self._stop = False
        self._taken = threading.Event()

    @property
    def pending(self) -> bool:
        """Whether the follower has still to take something over: what comes next joins that."""
        return self._stop or self._motion is not None

    def offer(self, motion: PlannedMotion) -> None:
        """Have a motion taken over at its beginning, once nothing else is pending."""
        self._taken.clear()
        self._motion = motion

    def submit(
        self,
        plan: Callable[[float], PlannedMotion],
        follower: Follower,
        clock: MotionClock,
        now: Callable[[], float],
        *,
        lead: float = 0.0,
        going: Callable[[], bool] = lambda: True,
        accepted: Callable[[], object] = lambda: None,
    ) -> PlannedMotion:
        """Plan a motion until it is ready before it begins, and offer it.

        Args:
            plan: Makes a motion that begins at a time; called again if that took too long, or if
                what it joins was stopped or the clock jumped meanwhile.
            follower: Who is to follow it.
            clock: The clock that it follows by.
            now: Present time of that clock, s.
            lead: Time to begin with between now and the beginning, s.
            going: Whether it is worth going on.
            accepted: Called before the motion is offered.

        Raises:
            TrajectoryError: If what was offered before is not taken over, or nothing goes on.
        """
        end = monotonic() + STOP_TIMEOUT_S
        while going():
            if self.pending:  # begins in a moment; plan on from there
                self.wait(0.1)
                if monotonic() > end:
                    raise TrajectoryError(
                        "trajectory: the one before has not begun yet, as the clock stands; "
                        "send it again once time goes on"
                    )
                continue
            epoch, begin = clock.epoch, now() + lead
            motion = plan(begin)
            late = now() - begin
            if late > 0.0:
                lead += 2.0 * late
            elif follower.trajectory is motion.base and clock.epoch == epoch:
                accepted()
                self.offer(motion)
                return motion
        raise TrajectoryError("trajectory: the node is shutting down")

    def stop(self) -> None:
        """Have the present motion brought to rest, and what was offered forgotten."""
        self._taken.clear()
        self._stop = True

    def wait(self, timeout: float) -> None:
        """Wait until something has been taken over, for `timeout` s at most."""
        self._taken.wait(timeout)

    def wait_for_rest(
        self, follower: Follower, now: Callable[[], float], going: Callable[[], bool]
    ) -> None:
        """Wait until the follower has stopped, but not for ever; arguments as of `submit`."""
        end = monotonic() + STOP_TIMEOUT_S
        while going() and monotonic() < end and (self.pending or follower.moving(now())):
            self.wait(0.02)

    def take(self, follower: Follower, now: float) -> bool:
        """Let the follower take over what is due; false if a motion had to be dropped.

        A motion is dropped if what it was to join is followed no longer: it would begin with a
        jump.
        """
        if self._stop:
            follower.stop(now)
            self._motion = None
            self._stop = False  # not before: what comes next is planned from the stop on
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

    def forget(self) -> None:
        """Forget a motion that was offered; a wish to stop remains."""
        self._motion = None
        self._taken.set()


class MotionClock:
    """The clock that motions are followed by: seconds, as another clock counts, without its jumps.

    A jump ahead has never happened on it: the end of a motion, where the other clock says that
    it should be, would be a step. A jump back is told, and followed.

    Args:
        ns: What the other clock says, ns; here zero.
        steady: Time of a clock that never jumps, s.

    Attributes:
        epoch: Time of the other clock that is zero here, ns; new after a jump ahead.
        now: Time of the last `tick`, s.
    """

    def __init__(self, ns: int, steady: float) -> None:
        self.epoch = ns
        self.start(ns, steady)

    def start(self, ns: int, steady: float) -> None:
        """Begin to tick, whatever has happened to the other clock until now."""
        self.now, self._steady = self.seconds(ns), steady

    def seconds(self, ns: int) -> float:
        """A time of the other clock, on this one, s."""
        return (ns - self.epoch) / NS_PER_S

    def nanoseconds(self, seconds: float) -> int:
        """A time of this clock, on the other one, ns."""
        return self.epoch + round(seconds * NS_PER_S)

    def tick(self, ns: int, steady: float) -> float:
        """Go on to another time.

        Args:
            ns: What the other clock says, ns.
            steady: Time of a clock that never jumps, s.

        Returns:
            By how much the other clock has jumped, s: negative for back, zero for not at all.
        """
        gone, self._steady = steady - self._steady, steady
        step = (ns - self.epoch) / NS_PER_S - self.now
        if step > MAX_STEP_AHEAD_S + MAX_CLOCK_RATE * gone:
            self.epoch += round(step * NS_PER_S)
            return step
        self.now += step
        return step if step < -MAX_STEP_BACK_S else 0.0
