"""Gupta's circle by direct dynamics: torques of the wanted motion move the simulated arm."""

from __future__ import annotations

import numpy as np

from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.papers.paper_motions import CIRCLE_TIME_S, circle_motion
from robot_dynamics.robot.zero_position import ZeroReference
from robot_dynamics.simulation.integrators import IntegratedMotion, integrate


def simulate_circle(
    zero: ZeroReference,
    *,
    steps: int = 360,
    rate: float = 20.0,
    method: str = "adams_bashforth_moulton",
    tilt: float = np.pi / 6,
) -> IntegratedMotion:
    """Integrate the direct dynamics of an arm that is driven round the circle: [Gupta1986], sec. 4.

    The drive torques are the inverse dynamics of the wanted motion, whose accelerations feed back
    the errors of the joints.

    Args:
        zero: The arm, as in `circle_motion`.
        steps: Number of steps in the nine seconds.
        rate: Rate at which errors decay, 1/s; 0 for the torques of the wanted motion alone. Those
            do not hold the arm on the circle: gravity makes it topple.
        method: Integrator, one of `INTEGRATORS`; by default the paper's predictor-corrector.
        tilt: As in `circle_motion`.

    Returns:
        Joint positions and velocities at the ends of the steps; up to the divergence, with a
        warning, where steps are too long for the motion of an arm that topples.

    Raises:
        ArgumentError: If there is no step, or the rate is negative.
        UnknownNameError: If there is no such method.
    """
    if steps < 1 or not 0.0 <= rate < np.inf:
        raise ArgumentError(f"steps must be at least 1 and rate from 0 on; got {steps} and {rate}")
    dynamics, half = Dynamics(zero.robot, "zero_reference"), 0.5 * CIRCLE_TIME_S / steps
    wanted = circle_motion(zero, half * np.arange(2 * steps + 1), tilt=tilt)

    def acceleration(t: float, q: Array, qd: Array) -> Array:
        k = round(t / half)  # integrators ask at whole and half steps
        q_w, qd_w, qdd_w = wanted.q[k], wanted.qd[k], wanted.qdd[k]
        fed_back = 2.0 * rate * (qd_w - qd) + rate * rate * (q_w - q)
        return dynamics.forward(q, qd, dynamics.inverse(q_w, qd_w, qdd_w + fed_back))

    return integrate(
        acceleration,
        wanted.q[0],
        wanted.qd[0],
        duration=CIRCLE_TIME_S,
        step=2.0 * half,
        method=method,
    )
