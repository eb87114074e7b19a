"""Limit policies: which motions are followed at all, and at what speed.

Asked before a motion starts; what is refused leaves the motion before it in force.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from robot_dynamics.errors import TrajectoryError
from robot_dynamics.robot.robot import Robot
from robot_dynamics.trajectory.motion_limits import Effort, check_limits, slowed_to_fit, violations
from robot_dynamics.trajectory.trajectory import Trajectory
from robot_dynamics.trajectory.waypoints import Waypoints

FARTHEST_START_S = 3600.0
"""Time ahead at which a motion may start; what is later was stamped by another clock."""

SAMPLES = 65
"""Moments at which numbers are tested; a polynomial that overflows does so over most of its way."""

Plan = Callable[[Waypoints], Trajectory]
"""Makes a motion of all joints of waypoints, from the present motion on."""


class Accepted(NamedTuple):
    """A motion, the waypoints that it goes through after all, and what is to be said of it."""

    trajectory: Trajectory
    waypoints: Waypoints
    remark: str = ""


def rejected_beyond_limits(
    waypoints: Waypoints, plan: Plan, robot: Robot, effort: Effort
) -> Accepted:
    """Refuse a motion beyond the limits of the robot.

    Raises:
        TrajectoryError: One line that names the joint, the time and the limit.
    """
    trajectory = plan(waypoints)
    check_limits(trajectory, robot, effort)
    return Accepted(trajectory, waypoints)


def warned_of_limits(waypoints: Waypoints, plan: Plan, robot: Robot, effort: Effort) -> Accepted:
    """Say which limit a motion goes beyond, and let it pass."""
    trajectory = plan(waypoints)
    try:
        check_limits(trajectory, robot, effort)
    except TrajectoryError as error:
        return Accepted(trajectory, waypoints, f"beyond a limit: {error}")
    return Accepted(trajectory, waypoints)


def slowed_down(waypoints: Waypoints, plan: Plan, robot: Robot, effort: Effort) -> Accepted:
    """Give a motion the time that it needs to stay within the limits.

    Raises:
        TrajectoryError: If no time is enough.
    """
    trajectory, factor = slowed_to_fit(
        waypoints, plan, lambda trajectory: violations(trajectory, robot, effort)
    )
    if factor == 1.0:
        return Accepted(trajectory, waypoints)
    remark = f"trajectory slowed down {factor:.3g} times to fit the limits"
    return Accepted(trajectory, waypoints.slowed(factor), remark)


def as_it_is(waypoints: Waypoints, plan: Plan, robot: Robot, effort: Effort) -> Accepted:
    """Ask nothing."""
    return Accepted(plan(waypoints), waypoints)


LIMITS: Mapping[str, Callable[[Waypoints, Plan, Robot, Effort], Accepted]] = {
    "reject": rejected_beyond_limits,
    "warn": warned_of_limits,
    "scale": slowed_down,
    "ignore": as_it_is,
}
"""What is made of a motion beyond the limits of position, velocity and effort, by name."""


def check_finite(trajectory: Trajectory, effort: Effort) -> None:
    """Refuse numbers that are finite themselves but make motions or efforts that are not.

    Raises:
        TrajectoryError: One line.
    """
    with np.errstate(all="ignore"):
        state = trajectory.sample(np.linspace(trajectory.start, trajectory.end, SAMPLES))
        finite = all(np.all(np.isfinite(part)) for part in state)
        if not finite or not np.all(np.isfinite(effort(state))):
            raise TrajectoryError(
                "trajectory: its numbers are so large that the motion or its efforts overflow; "
                "check the units"
            )


def check_start(start: float, duration: float, now: float) -> None:
    """Refuse a start that only another clock can have meant.

    Args:
        start: When the motion is to start, s.
        duration: How long it takes, s.
        now: The present time on the clock that is to have been meant, s.

    Raises:
        TrajectoryError: If the motion is over, or starts hours ahead.
    """
    ahead = start - now
    if -duration <= ahead <= FARTHEST_START_S:
        return
    what = f"starts {ahead:.0f} s ahead" if ahead > 0.0 else f"ended {-ahead - duration:.3f} s ago"
    raise TrajectoryError(
        f"trajectory: it {what} (its stamp is {start:.3f} s, the clock here says {now:.3f} s); set "
        "use_sim_time alike everywhere, or send stamp zero to start on arrival"
    )
