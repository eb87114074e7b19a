"""Limits: can the robot follow this motion at all, and how slow must it be?

Asked before the motion starts, over the whole of it, so that the answer names
a joint and a time instead of a stalled arm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.robot.robot import Robot
from robot_dynamics.trajectory.trajectory import State, Trajectory
from robot_dynamics.trajectory.waypoints import Waypoints

Effort = Callable[[State], Array]
"""Joint efforts, shape (N, n), that a motion needs; for instance `Dynamics.inverse` of a state."""

CHECK_RATE_HZ = 200.0
"""Samples per second: between two, an acceleration of 10 rad/s^2 hides 3e-5 rad."""

CHUNK = 4096
"""Samples at a time: bounds the memory that a motion of hours takes."""

QUANTITIES = ("position", "velocity", "effort")
"""In the order in which they are told: a motion far out of range is too fast as well, and takes too
much effort, but slowing it down does not help."""

SLOWEST = 20.0
"""Largest factor on time that is tried where a motion is slowed down."""

TOLERANCE = 1e-6
"""A limit may be reached, with this much round-off relative to it."""


@dataclass(frozen=True)
class Violation:
    """The moment when one joint is furthest beyond one of its limits.

    Args:
        quantity: One of `QUANTITIES`.
        joint: Name of the joint.
        time: When, s from the start of the motion.
        value: What the motion asks for, in SI units.
        limit: What the joint can do.
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
        """How many times the limit is asked for."""
        return abs(self.value / self.limit) if self.limit else np.inf

    def __str__(self) -> str:
        remedy = "stay within the joint range" if self.quantity == "position" else "slow it down"
        return (
            f"trajectory: joint '{self.joint}' needs {self.quantity} {self.value:.4g} {self.unit} "
            f"at {self.time:.3f} s, beyond its limit of {self.limit:.4g} {self.unit}; {remedy}"
        )


def violations(
    trajectory: Trajectory, robot: Robot, effort: Effort | None = None
) -> list[Violation]:
    """Every limit that a motion goes beyond: one entry per joint and quantity.

    They come in the order of `QUANTITIES`, and of one quantity the earliest comes first.

    A joint that starts outside its position range may come back: the range is
    widened to where it starts.

    Args:
        trajectory: Motion of all joints of the robot, in their order.
        robot: Whose limits count; unknown ones are infinite, and an effort limit of zero is
            unknown too.
        effort: Efforts that the motion needs; by default efforts are not checked.
    """
    bounds = _bounds(robot, trajectory.sample(trajectory.start).q, effort is not None)
    worst: dict[tuple[str, int], tuple[float, Violation]] = {}
    for t, state in _samples(trajectory):
        values = {"position": state.q, "velocity": state.qd}
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
                    name, unit = robot.joint_names[i], _unit(robot, i, quantity)
                    worst[quantity, i] = (
                        excess,
                        Violation(quantity, name, float(t[k]), found, limit, unit),
                    )
    return sorted(
        (one for _, one in worst.values()),
        key=lambda one: (QUANTITIES.index(one.quantity), one.time),
    )


def _bounds(robot: Robot, q0: Array, with_effort: bool) -> dict[str, tuple[Array, Array]]:
    """Lower and upper bound of each quantity to check, shape (n,) each."""
    limits = robot.limits
    bounds = {
        "position": (np.minimum(limits.lower, q0), np.maximum(limits.upper, q0)),
        "velocity": (-limits.velocity, limits.velocity),
    }
    if with_effort:
        known = np.where(limits.effort > 0.0, limits.effort, np.inf)
        bounds["effort"] = (-known, known)
    return bounds


def check_limits(trajectory: Trajectory, robot: Robot, effort: Effort | None = None) -> None:
    """Refuse a motion that goes beyond a limit; see `violations`.

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
        waypoints: The motion as it was asked for.
        plan: Makes a trajectory of waypoints, for instance `Follower.plan`.
        check: Lists what a trajectory violates, for instance `violations`.

    Returns:
        The trajectory, and by what factor its waypoints are slower than asked.

    Raises:
        TrajectoryError: If slowing down does not help: a position is out of range, or gravity
            alone is more than a joint can hold.
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
        # Speed falls with the factor, the part of effort that depends on motion with its square
        needed = [one.ratio if one.quantity == "velocity" else one.ratio**0.5 for one in found]
        factor = min(factor * max(1.02, 1.002 * min(max(needed), 2.0)), SLOWEST)


def _samples(trajectory: Trajectory) -> Iterator[tuple[Array, State]]:
    """Times and states over the whole motion, its breaks included."""
    count = 1 + max(round((trajectory.end - trajectory.start) * CHECK_RATE_HZ), 1)
    spread = np.linspace(trajectory.start, trajectory.end, count)
    t = np.union1d(spread, trajectory.breaks)
    for k in range(0, len(t), CHUNK):
        yield t[k : k + CHUNK], trajectory.sample(t[k : k + CHUNK])


def _unit(robot: Robot, i: int, quantity: str) -> str:
    rotates = robot.independent_joints[i].type.rotates
    return {
        "position": "rad" if rotates else "m",
        "velocity": "rad/s" if rotates else "m/s",
        "effort": "N m" if rotates else "N",
    }[quantity]
