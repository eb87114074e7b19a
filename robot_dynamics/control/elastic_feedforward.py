"""Feedforward of elastic joints: motor positions and efforts of a desired motion of the links.

The springs bear the efforts of the links, so that the motors lead or lag behind by the twist

    e + (D / K) e' = tau_J(q, qd, qdd) / K,    theta = q + e,    tau = tau_J + B theta''

theta'' contains the second time derivative of tau_J, and so jerk and snap of the links
([DeLuca2016], eq. (11.66) without damping). With damping e is a filter of tau_J; its series is cut
behind (D / K)^2, as D / K is a millisecond or less. Without jerk and snap the twist counts as
quasi-static: tau_J / K, with the rates of the links.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics.control.model import Model
from robot_dynamics.control.two_masses import LINK, MOTOR
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.trajectory.trajectory import State


class DriveReference(NamedTuple):
    """State that encoders measure on a desired motion, and its efforts, shape (n,) or (N, n) each.

    Attributes:
        q: Positions, rad or m.
        qd: Velocities, rad/s or m/s.
        tau: Efforts of the motors with friction, N m or N.
    """

    q: Array
    qd: Array
    tau: Array


def drive_reference(
    model: Model, state: State, higher: tuple[Array, Array] | None = None
) -> DriveReference:
    """Return the reference of the drives for a desired motion of the links.

    Args:
        model: The arm with elasticity, rotor inertia, and the side of its encoders.
        state: Desired motion of the links, shape (n,) or (N, n).
        higher: Its jerk and snap, same shape; by default the twist is quasi-static. It is, too, on
            a base that moves and where the robot adds Coriolis efforts itself.
    """
    q, qd, qdd = state
    if model.elasticity is None:
        return DriveReference(q, qd, model.feedforward(q, qd, qdd))
    stiffness, damping = model.elasticity
    rotors = np.zeros(len(stiffness)) if model.rotor_inertia is None else model.rotor_inertia
    rates = None if higher is None else model.inverse_rates(*state, *higher)
    if rates is None:
        tau = model.inverse(q, qd, qdd) - rotors * qdd
        twist = tau / stiffness
        twist_rate = twist_acceleration = np.zeros_like(twist)
    else:
        tau, first, second = rates
        lag = damping / stiffness
        twist = (tau - lag * (first - lag * second)) / stiffness
        twist_rate = (first - lag * second) / stiffness
        twist_acceleration = second / stiffness
    motor_qd = qd + twist_rate
    tau = tau + rotors * (qdd + twist_acceleration)
    return DriveReference(
        q + twist if model.encoders == MOTOR else q,
        qd if model.encoders == LINK else motor_qd,
        tau + model.friction_effort(motor_qd, tau),
    )


ROUNDS = 3
"""Rounds of `link_positions`; each reduces the error by gravity's stiffness over the spring's."""


def link_positions(model: Model, measured: Array) -> Array:
    """Return the positions of links at rest where encoders measure others, shape (n,) each.

    The same where encoders are on the links, or the arm is rigid.
    """
    if model.elasticity is None or model.encoders != MOTOR:
        return measured
    q = measured
    for _ in range(ROUNDS):
        q = measured - model.gravity(q) / model.elasticity.stiffness
    return q
