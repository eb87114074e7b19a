"""The feedback of drives that close their own loop: position, velocity and effort in."""

from __future__ import annotations

from typing import Any, NamedTuple

from robot_dynamics.control.laws import FeedbackGains, Measured, Reference, pd_feedforward
from robot_dynamics.foundation.arrays import Array

PERIOD_S = 1e-4
"""Usual period of such drives, s: a plant simulates them with steps of at most this."""


class LoopGains(NamedTuple):
    """Gains of drives, of numbers or symbols; see `Gains`."""

    kp: Array
    kd: Array


def drive_effort(
    command: Array, measured: Measured, gains: FeedbackGains, takes_velocity: Any = True
) -> Array:
    """Return the efforts of drives: tau + kp (q_c - q) + kd (qd_c - qd), shape (n,), N m or N.

    Args:
        command: Positions, velocities and efforts, shape (3, n).
        measured: State of the joints.
        gains: Gains of the drives.
        takes_velocity: Whether a velocity can be commanded, 0 or 1; otherwise it counts as zero.
    """
    q, qd, tau = command
    return pd_feedforward(Reference(q, takes_velocity * qd, tau), measured, gains)
