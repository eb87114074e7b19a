"""Plan of a motion: the transition from what is followed to waypoints, within limits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot import Robot
from robot_dynamics.trajectory.follower import Followed
from robot_dynamics.trajectory.motion_limits import Effort, check_finite, plan_within_limits
from robot_dynamics.trajectory.replacement import DEFAULT_BLEND_S, equivalent_angles, replaced
from robot_dynamics.trajectory.trajectory import MOMENT_S, Trajectory
from robot_dynamics.trajectory.waypoints import Waypoints


@dataclass(frozen=True, eq=False)
class PlannedMotion:
    """A planned motion; times in s on the clock of the follower.

    Args:
        trajectory: Motion of all joints.
        begin: Its time zero, at which it takes over.
        start: Time zero of its waypoints.
        waypoints: Its waypoints.
        base: Motion that it continues, followed when it was planned.
        settled: Time by which it has joined its waypoints.
        remark: Remark for the log.
    """

    trajectory: Trajectory
    begin: float
    start: float
    waypoints: Waypoints
    base: Followed
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
    """Limits of a motion, and its transition from another one.

    Args:
        limits: One of `motion_limits.LIMITS`.
        robot: Robot with the limits.
        effort: Returns the efforts, shape (N, n), of a state of shape (N, n).
        continuous: Which joints turn without end, shape (n,); None for none.
        blend: Time to join a motion that does not start at the present state, s.
    """

    limits: str
    robot: Robot
    effort: Effort
    continuous: Array | None = None
    blend: float = DEFAULT_BLEND_S


def plan_motion(
    base: Followed, waypoints: Waypoints, begin: float, stamp: float, rules: Rules
) -> PlannedMotion:
    """Plan the transition from a motion to waypoints.

    Args:
        base: Motion that it continues.
        waypoints: The requested motion.
        begin: Time at which it takes over, s.
        stamp: Time zero of the waypoints, s; zero for `begin`.
        rules: Its limits.

    Raises:
        TrajectoryError: If it is refused.
    """
    start, continuous = stamp or begin, rules.continuous
    join = partial(
        replaced,
        base.trajectory,
        begin - base.begin,
        delay=start - begin,
        continuous=continuous,
        blend=rules.blend,
    )
    found = plan_within_limits(rules.limits, waypoints, join, rules.robot, rules.effort)
    trajectory, fitting, remark = found
    check_finite(trajectory, rules.effort)
    settled = max(start, begin) + rules.blend
    if continuous is not None and start + waypoints.times[0] > begin + MOMENT_S:
        shifted = equivalent_angles(fitting, trajectory, continuous)
        remark = "; ".join(filter(None, (remark, shifted)))
    return PlannedMotion(trajectory, begin, start, fitting, base, settled, remark)
