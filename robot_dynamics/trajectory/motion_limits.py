"""Limits of motions: checks of a whole motion before it starts, and policies beyond a limit.

A refusal names the joint and the time; the previous motion then remains active.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from robot_dynamics.errors import TrajectoryError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.joint_units import unit_of
from robot_dynamics.robot.robot import Robot
from robot_dynamics.trajectory.interpolation import interpolate
from robot_dynamics.trajectory.motions import middle_pose
from robot_dynamics.trajectory.trajectory import State, Trajectory
from robot_dynamics.trajectory.waypoints import Waypoints

Effort = Callable[[State], Array]
"""Returns the joint efforts of a state, shape (N, n); for instance `Dynamics.inverse`."""

CHECK_RATE_HZ = 200.0
"""Samples per second: between two, an acceleration of 10 rad/s^2 hides 3e-5 rad."""

CHUNK = 4096
"""Samples at a time: bounds the memory that a motion of hours takes."""

QUANTITIES = ("position", "velocity", "acceleration", "effort")
"""Quantities in the order in which they are reported. A motion far out of range is also too fast
and takes too much effort, but slowing it down would not help."""

EFFORT_SHARE = 0.8
"""Share of the effort limits that a motion of the package's own choice may need."""

SCALES = (1.0, 0.8, 0.6, 0.4, 0.2, 0.1)
"""Scales by which such a motion is shrunk until it fits."""

SLOWEST = 20.0
"""Largest factor by which a motion is slowed down."""

TOLERANCE = 1e-6
"""Relative round-off by which a limit may be exceeded."""


@dataclass(frozen=True)
class Violation:
    """The moment when one joint is furthest beyond one of its limits.

    Args:
        quantity: One of `QUANTITIES`.
        joint: Name of the joint.
        time: Time from the start of the motion, s.
        value: Value of the motion, in SI units.
        limit: Limit of the joint.
        unit: Unit of both.
    """

    quantity: str
    joint: str
    time: float
    value: float
    limit: float
    unit: str

    @property
    def ratio(self) -> float:
        """Value as a multiple of the limit."""
        return abs(self.value / self.limit) if self.limit else np.inf

    def __str__(self) -> str:
        ranges = self.quantity == "position"  # the other limits are those of a size
        remedy = "stay within the joint range" if ranges else "slow it down"
        limit = self.limit if ranges else abs(self.limit)
        return (
            f"trajectory: joint '{self.joint}' needs {self.quantity} {self.value:.4g} {self.unit} "
            f"at {self.time:.3f} s, beyond its limit of {limit:.4g} {self.unit}; {remedy}"
        )


def violations(
    trajectory: Trajectory, robot: Robot, effort: Effort | None = None
) -> list[Violation]:
    """List the limits that a motion exceeds: one entry per joint and quantity.

    They are sorted by `QUANTITIES`, then by time. A joint that starts outside its position range
    may return: the range is extended to its start.

    Args:
        trajectory: Motion of all joints of the robot, in their order.
        robot: Robot with the limits; unknown ones are infinite, and so are effort limits of zero.
        effort: Efforts of the motion; by default efforts are not checked.
    """
    bounds = _bounds(robot, trajectory.sample(trajectory.start).q, effort is not None)
    worst: dict[tuple[str, int], tuple[float, Violation]] = {}
    for t, state in _samples(trajectory):
        values = {"position": state.q, "velocity": state.qd, "acceleration": state.qdd}
        if effort is not None:
            values["effort"] = effort(state)
        for quantity, (lower, upper) in bounds.items():
            value = values[quantity]
            beyond = np.maximum(value - upper, lower - value)
            for i, k in enumerate(np.argmax(beyond, axis=0).tolist()):
                excess, found = float(beyond[k, i]), float(value[k, i])
                limit = float(upper[i] if found > upper[i] else lower[i])
                so_far = worst[quantity, i][0] if (quantity, i) in worst else 0.0
                if excess > max(so_far, TOLERANCE * (1.0 + abs(limit))):
                    name, unit = robot.joint_names[i], unit_of(robot, i, quantity)
                    worst[quantity, i] = (
                        excess,
                        Violation(quantity, name, float(t[k]), found, limit, unit),
                    )
    return sorted(
        (one for _, one in worst.values()),
        key=lambda one: (QUANTITIES.index(one.quantity), one.time),
    )


def _bounds(robot: Robot, q0: Array, with_effort: bool) -> dict[str, tuple[Array, Array]]:
    """Return lower and upper bound of each quantity to check, shape (n,) each."""
    limits = robot.limits
    bounds = {
        "position": (np.minimum(limits.lower, q0), np.maximum(limits.upper, q0)),
        "velocity": (-limits.velocity, limits.velocity),
        "acceleration": (-limits.acceleration, limits.acceleration),
    }
    if with_effort:
        known = np.where(limits.effort > 0.0, limits.effort, np.inf)
        bounds["effort"] = (-known, known)
    return bounds


def check_limits(trajectory: Trajectory, robot: Robot, effort: Effort | None = None) -> None:
    """Refuse a motion that exceeds a limit; see `violations`.

    Raises:
        TrajectoryError: One line that names the joint, the time and the limit.
    """
    found = violations(trajectory, robot, effort)
    if found:
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        raise TrajectoryError(f"{found[0]}{more}")


def slowed_to_fit(
    waypoints: Waypoints,
    plan: Callable[[Waypoints], Trajectory],
    check: Callable[[Trajectory], list[Violation]],
) -> tuple[Trajectory, float]:
    """Slow waypoints down until the motion through them keeps all limits.

    Args:
        waypoints: The requested motion.
        plan: Plans a trajectory through waypoints, for instance `Follower.plan`.
        check: Lists the violations of a trajectory, for instance `violations`.

    Returns:
        The trajectory, and the factor by which its waypoints are slower than requested.

    Raises:
        TrajectoryError: If slowing down does not help: a position is out of range, or gravity
            alone exceeds an effort limit.
    """
    factor = 1.0
    while True:
        trajectory = plan(waypoints.slowed(factor) if factor > 1.0 else waypoints)
        found = check(trajectory)
        if not found:
            return trajectory, factor
        hopeless = [one for one in found if one.quantity == "position"]
        if hopeless or factor >= SLOWEST:
            tried = "" if hopeless else f" (slowing down {factor:.3g} times did not help)"
            raise TrajectoryError(f"{(hopeless or found)[0]}{tried}")
        # Speed falls with the factor, acceleration and the effort that it takes with its square
        needed = [one.ratio if one.quantity == "velocity" else one.ratio**0.5 for one in found]
        factor = min(factor * max(1.02, 1.002 * min(max(needed), 2.0)), SLOWEST)


def shrunk_to_fit(waypoints: Waypoints, robot: Robot, effort: Effort) -> Waypoints:
    """Shrink a motion towards the middle of the joint ranges until its efforts fit.

    Args:
        waypoints: Motion of all joints of the robot, in their order.
        robot: Robot with the limits; unknown ones are infinite, and so are effort limits of zero.
        effort: Efforts of the motion.

    Returns:
        The motion at the first of `SCALES` that needs at most `EFFORT_SHARE` of the limits, or at
        the last one if none does.
    """
    centre, limit = middle_pose(robot), usable_effort(robot)
    for scale in SCALES:
        derivatives = (waypoints.velocities, waypoints.accelerations)
        smaller = Waypoints(
            waypoints.joint_names,
            waypoints.times,
            centre + scale * (waypoints.positions - centre),
            *(None if values is None else scale * values for values in derivatives),
        )
        motion = _samples(interpolate(smaller))
        if all((np.abs(effort(state)) <= limit).all() for _, state in motion):
            break
    return smaller


def usable_effort(robot: Robot) -> Array:
    """Return `EFFORT_SHARE` of the effort limits, shape (n,), N m or N; infinite where unknown."""
    limit = robot.limits.effort
    return np.asarray(EFFORT_SHARE * np.where(limit > 0.0, limit, np.inf))


def _samples(trajectory: Trajectory) -> Iterator[tuple[Array, State]]:
    """Yield times and states over the whole motion, its breaks included."""
    count = 1 + max(round((trajectory.end - trajectory.start) * CHECK_RATE_HZ), 1)
    t = np.union1d(np.linspace(trajectory.start, trajectory.end, count), trajectory.breaks)
    for k in range(0, len(t), CHUNK):
        yield t[k : k + CHUNK], trajectory.sample(t[k : k + CHUNK])


# -- policies: accept, slow down or refuse a motion ------------------------------------------------

FARTHEST_START_S = 3600.0
"""Largest time ahead at which a motion may start; a later stamp is from another clock."""

SAMPLES = 65
"""Times at which a motion is tested; a polynomial that overflows does so almost everywhere."""

Plan = Callable[[Waypoints], Trajectory]
"""Plans a motion of all joints through waypoints, from the present motion on."""


class Accepted(NamedTuple):
    """An accepted motion, its waypoints, perhaps slowed down, and a remark for the log."""

    trajectory: Trajectory
    waypoints: Waypoints
    remark: str = ""


LIMITS = ("reject", "warn", "scale", "ignore")
"""Policies for motions beyond the limits of position, velocity, acceleration and effort."""


def plan_within_limits(
    limits: str, waypoints: Waypoints, plan: Plan, robot: Robot, effort: Effort
) -> Accepted:
    """Plan a motion, and refuse, name, slow down or ignore one beyond the limits of the robot.

    Args:
        limits: One of `LIMITS`.
        waypoints: The requested motion.
        plan: Plans it.
        robot: Robot with the limits.
        effort: Efforts of the motion.

    Raises:
        TrajectoryError: If it is refused, or slowing down does not help; one line that names the
            joint, the time and the limit.
    """
    if limits == "scale":
        trajectory, factor = slowed_to_fit(
            waypoints, plan, lambda trajectory: violations(trajectory, robot, effort)
        )
        if factor == 1.0:
            return Accepted(trajectory, waypoints)
        remark = f"trajectory slowed down {factor:.3g} times to fit the limits"
        return Accepted(trajectory, waypoints.slowed(factor), remark)
    trajectory = plan(waypoints)
    if limits == "ignore":
        return Accepted(trajectory, waypoints)
    try:
        check_limits(trajectory, robot, effort)
    except TrajectoryError as error:
        if limits == "reject":
            raise
        return Accepted(trajectory, waypoints, f"beyond a limit: {error}")
    return Accepted(trajectory, waypoints)


def check_finite(trajectory: Trajectory, effort: Effort) -> None:
    """Refuse finite numbers that make the motion or its efforts overflow.

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
    """Refuse a start time that must come from another clock.

    Args:
        start: Start of the motion, s.
        duration: Duration of the motion, s.
        now: Present time, s on the clock of this node.

    Raises:
        TrajectoryError: If the motion is over, or starts hours ahead.
    """
    ahead = start - now
    if -duration <= ahead <= FARTHEST_START_S:
        return
    what = f"starts {ahead:.0f} s ahead" if ahead > 0.0 else f"ended {-ahead - duration:.3f} s ago"
    raise TrajectoryError(
        f"trajectory: it {what} (its stamp is {start:.3f} s, the clock here is {now:.3f} s); set "
        "use_sim_time equally on all nodes, or send stamp zero to start on arrival"
    )
