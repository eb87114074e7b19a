"""Limits on commanded efforts, of numbers or, while they are traced, of symbols."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics.compiler.graph.piecewise import clip, select
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.robot import Robot

LARGEST = float(np.finfo(np.float64).max)
"""Largest finite number."""


class Limited(NamedTuple):
    """Efforts within limits, shape (n,), and which joints were cut, shape (n,), 0 or 1."""

    tau: Array
    cut: Array


def effort_limits(robot: Robot) -> Array:
    """Effort limit of every joint, shape (n,), N m or N; infinite where the URDF gives none.

    An effort of zero in a URDF means that it was not filled in, not that the
    joint is limp, so it counts as unknown too.
    """
    limit = robot.limits.effort
    return np.where(limit > 0.0, limit, np.inf)


def saturate(tau: Array, limit: Array) -> Limited:
    """Cut efforts to [-limit, limit], and say which joints were cut.

    Args:
        tau: Wanted efforts, shape (n,), N m or N.
        limit: Largest efforts, shape (n,), not negative, may be infinite.
    """
    within = clip(tau, -limit, limit)
    return Limited(within, _differ(within, tau))


def limit_rate(tau: Array, previous: Array, rate: Array | float, dt: float) -> Limited:
    """Keep efforts within rate * dt of the previous ones, and say which joints were cut.

    Args:
        tau: Wanted efforts, shape (n,), N m or N.
        previous: Efforts of the last cycle, shape (n,).
        rate: Largest change per second, N m/s or N/s, may be infinite.
        dt: Time since the last cycle, s, zero or more.
    """
    # Without time in between, no finite rate allows any change, and an infinite one allows all
    with np.errstate(invalid="ignore"):
        step = select(0.0, dt, rate * np.asarray(dt), select(LARGEST, rate, rate, 0.0))
    within = clip(tau, previous - step, previous + step)
    return Limited(within, _differ(within, tau))


def _differ(a: Array, b: Array) -> Array:
    if a.dtype == object:
        return np.asarray(select(0.0, abs(a - b), 1.0, 0.0))
    return np.asarray(a != b)
