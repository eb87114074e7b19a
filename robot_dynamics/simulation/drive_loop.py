"""The feedback of drives that close their own loop: position, velocity and effort in."""

from __future__ import annotations

import numpy as np

from robot_dynamics.control.gains import Gains
from robot_dynamics.control.laws import Measured, Reference, pd_feedforward
from robot_dynamics.foundation.arrays import Array

PERIOD_S = 1e-4
"""Usual period of such drives, s: a plant simulates them with steps of at most this."""


def drive_effort(
    command: Array, measured: Measured, gains: Gains, takes_velocity: bool = True
) -> Array:
    """Return the efforts of drives: tau + kp (q_c - q) + kd (qd_c - qd), shape (n,), N m or N.

    Args:
        command: Positions, velocities and efforts, shape (3, n).
        measured: State of the joints.
        gains: Gains of the drives.
        takes_velocity: Whether a velocity can be commanded; otherwise it counts as zero.
    """
    q, qd, tau = command
    reference = Reference(q, qd if takes_velocity else np.zeros(len(q)), tau)
    return pd_feedforward(reference, measured, gains)
