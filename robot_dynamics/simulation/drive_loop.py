"""The feedback of drives that close their own loop: position, velocity and effort in."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.control.laws import FeedbackGains, Measured, Reference, pd_feedforward
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.trajectory.motions import sample_poses

PERIOD_S = 1e-4
"""Usual period of such drives, s: a plant simulates them with steps of at most this."""

SHORTEST_S = 1e-6
"""Least step, s: shorter ones would simulate a joint of almost no inertia for ever."""


def drive_step(
    dynamics: Dynamics, kd: Array, rate: float, rotor_inertia: Array | None = None
) -> float:
    """Return the step of a plant behind drives, s: a whole part of a cycle, at most `PERIOD_S`.

    It is about `SHORTEST_S` at least.

    In a step of constant effort the damping of drives changes the velocity of no joint, however
    light, by more than that velocity. With twice that step the joint oscillates.

    Args:
        dynamics: Equations of the plant.
        kd: Velocity gains of the drives, shape (n,), N m s/rad or N s/m.
        rate: Commands per second, Hz.
        rotor_inertia: Inertia of rotors at the joints, shape (n,), kg m^2 or kg; by default none.
    """
    robot = dynamics.robot
    M = dynamics.mass_matrix(sample_poses(robot))
    if rotor_inertia is not None:
        M = M + np.diag(rotor_inertia)
    root = np.sqrt(np.broadcast_to(kd, (robot.dof,)))
    decay = np.linalg.eigvalsh(root[:, None] * np.linalg.inv(M) * root).max()  # 1/s
    steps = np.ceil(np.clip(decay, 1.0 / PERIOD_S, 1.0 / SHORTEST_S) / rate - 1e-9)
    return float(1.0 / (rate * steps))


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
