"""Limits of efforts, joint ranges, velocities and tracking errors.

Efforts and soft limits are computed of numbers or, while they are traced, of symbols.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.compiler.graph.piecewise import clip, maximum, minimum, select
from robot_dynamics.control.logic import both, chosen, less
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.robot import Robot

LARGEST_FINITE = float(np.finfo(np.float64).max)
"""Largest finite number."""

UNLIMITED = 1e9
"""Limit that no robot reaches, in SI units; the equations have no infinite constants."""

ROUND_OFF = 1e-12
"""Effort beyond a limit that counts as none, relative to the limit."""


def finite(values: Array) -> Array:
    """Return limits with `UNLIMITED` where they are infinite."""
    return np.clip(values, -UNLIMITED, UNLIMITED)


def none_as_zero(values: Array) -> Array:
    """Return limits with 0 where there is none, or one beyond all that a parameter accepts."""
    return np.where(values <= UNLIMITED, values, 0.0)


def zero_as_none(values: Any) -> Any:
    """Return limits with `UNLIMITED` where they are 0."""
    return chosen(less(0.0, values), values, UNLIMITED + 0.0 * values)


class Limited(NamedTuple):
    """Efforts within limits.

    Args:
        tau: Efforts, shape (n,), N m or N.
        saturation: 1 for saturated joints, else 0, shape (n,).
    """

    tau: Array
    saturation: Array


def effort_limits(robot: Robot) -> Array:
    """Return the effort limit of every joint.

    An effort of zero in a URDF means that it was not filled in, so it counts as unknown too.

    Args:
        robot: Any robot.

    Returns:
        Limits, shape (n,), N m or N; infinite where unknown.
    """
    limit = robot.limits.effort
    return np.where(limit > 0.0, limit, np.inf)


def saturate(tau: Array, limit: Array) -> Limited:
    """Cut efforts to [-limit, limit].

    Args:
        tau: Wanted efforts, shape (n,), N m or N.
        limit: Largest efforts, shape (n,), not negative, may be infinite.

    Returns:
        Efforts within the limits, and which were saturated.
    """
    within = clip(tau, -limit, limit)
    # A fade begins at the last effort, which may have been at the limit: within round-off of it
    beyond, least = abs(tau - within), ROUND_OFF * abs(within)
    if tau.dtype == object:
        return Limited(within, np.asarray(select(least, beyond, 1.0, 0.0)))
    return Limited(within, np.asarray(beyond > least))


def limit_rate(tau: Array, previous: Array, rate: Array | float, dt: float) -> Array:
    """Keep efforts within rate * dt of the previous ones.

    Args:
        tau: Wanted efforts, shape (n,), N m or N.
        previous: Efforts of the last cycle, shape (n,).
        rate: Largest change per second, N m/s or N/s, may be infinite.
        dt: Time since the last cycle, s, zero or more.

    Returns:
        Efforts, shape (n,), N m or N.
    """
    # With dt = 0 a finite rate allows no change and an infinite rate allows any
    with np.errstate(invalid="ignore"):
        step = select(0.0, dt, rate * np.asarray(dt), select(LARGEST_FINITE, rate, rate, 0.0))
    return np.asarray(clip(tau, previous - step, previous + step))


@dataclass(frozen=True, eq=False)
class SoftLimits:
    """A spring and a damper inside the ends of the joint ranges, and above the velocity limit.

    Args:
        lower: Where the soft zone at the lower end begins, shape (n,), rad or m.
        upper: Where the soft zone at the upper end begins, shape (n,), rad or m.
        velocity: Speed above which motion is braked, shape (n,), rad/s or m/s.
        stiffness: N m/rad or N/m, shape (n,).
        damping: N m s/rad or N s/m, shape (n,).
    """

    lower: Array
    upper: Array
    velocity: Array
    stiffness: Array
    damping: Array

    @staticmethod
    def of(
        robot: Robot,
        damping: Array,
        *,
        margin: float | Array = 0.05,
        effort: Array | None = None,
        velocity: Array | None = None,
    ) -> SoftLimits:
        """Place zones inside the limits of a robot; numbers or symbols.

        The spring reaches the effort limit at the hard stop. Without a known effort limit there is
        only the damper. The zone is at most a quarter of the range of a joint.

        Args:
            robot: Any robot.
            damping: N m s/rad or N s/m, shape (n,); the kd of the feedback is a good choice.
            margin: Width of the zones, rad or m, one number or shape (n,); 0 for none.
            effort: Effort limits, shape (n,), N m or N; by default those of the robot.
            velocity: Speed above which motion is braked, shape (n,), rad/s or m/s; by default the
                limits of the robot.

        Returns:
            The soft limits.
        """
        lower, upper = finite(robot.limits.lower), finite(robot.limits.upper)
        effort = effort_limits(robot) if effort is None else effort
        width, none = minimum(margin, (upper - lower) / 4.0), np.full(robot.dof, UNLIMITED)
        soft = less(0.0, width)
        known = both(soft, less(effort, UNLIMITED))
        return SoftLimits(
            chosen(soft, lower + width, -none),
            chosen(soft, upper - width, none),
            velocity_limits(robot) if velocity is None else velocity,
            chosen(known, effort, 0.0 * width) / chosen(soft, width, 1.0 + 0.0 * width),
            np.asarray(damping),
        )

    def effort(self, q: Array, qd: Array) -> Array:
        """Compute the effort to add to the command.

        Args:
            q: Joint positions, shape (n,), rad or m.
            qd: Joint velocities, shape (n,), rad/s or m/s.

        Returns:
            Effort, shape (n,), N m or N; zero away from the limits.
        """
        above, below = maximum(q - self.upper, 0.0), maximum(self.lower - q, 0.0)
        outward = select(0.0, above, maximum(qd, 0.0), 0.0)
        outward = outward + select(0.0, below, minimum(qd, 0.0), 0.0)
        too_fast = qd - clip(qd, -self.velocity, self.velocity)
        return self.stiffness * (below - above) - self.damping * (outward + too_fast)


TRACKING_ERROR = {True: 0.5, False: 0.1}
"""Default tracking limit of a joint that rotates (True, rad) or slides (False, m)."""


EFFORT_RATE = 2.0
"""Default effort rate, relative to effort limit times bandwidth. The loop gain of PD passes 1 near
twice the bandwidth: there an oscillation meets the effort limit before this rate."""


def default_effort_rates(robot: Robot, bandwidth: float, damping_ratio: float) -> Array:
    """Return the default limits of the effort rate, shape (n,), N m/s or N/s.

    Infinite where the effort limit is unknown.

    Args:
        robot: Any robot.
        bandwidth: Natural frequency of the feedback, rad/s.
        damping_ratio: Its damping ratio.
    """
    return EFFORT_RATE * bandwidth * max(damping_ratio, 1.0) * effort_limits(robot)


def default_tracking_errors(robot: Robot) -> Array:
    """Return the default limits of the tracking error, shape (n,), rad or m.

    At most a quarter of the range of a joint.
    """
    limits = robot.limits
    default = [TRACKING_ERROR[joint.type.rotates] for joint in robot.independent_joints]
    return np.minimum(default, (limits.upper - limits.lower) / 4.0)


THRESHOLD_SHARE = 0.1
"""Default threshold of an external effort, relative to the effort limit of its joint."""


def default_thresholds(robot: Robot) -> Array:
    """Return the default thresholds of external efforts, shape (n,), N m or N.

    Infinite without an effort limit.

    Args:
        robot: Any robot.
    """
    return THRESHOLD_SHARE * effort_limits(robot)


def default_limits(robot: Robot, bandwidth: float, damping_ratio: float) -> dict[str, Array]:
    """Return the defaults of parameters of each joint, shape (n,), 0 for none.

    Args:
        robot: Any robot.
        bandwidth: Natural frequency of the feedback, rad/s.
        damping_ratio: Its damping ratio.
    """
    found = {
        "effort_rate": default_effort_rates(robot, bandwidth, damping_ratio),
        "tracking_error": default_tracking_errors(robot),
        "external_effort": default_thresholds(robot),
    }
    return {name: none_as_zero(values) for name, values in found.items()}


NEAR = 0.2
"""Distance at which a reference is where the arm is, relative to the default tracking limits."""

FAST = 1.01
"""Velocity of a reference that is not followed, relative to the limit; 1 % is noise."""


def velocity_limits(robot: Robot) -> Array:
    """Return the velocity limit of every joint, shape (n,), rad/s or m/s; infinite if unknown."""
    limit = robot.limits.velocity
    return np.where(limit > 0.0, limit, np.inf)
