"""Control laws: desired and measured motion in, joint efforts out.

Pure functions of arrays of shape (n,); units rad or m, per second, N m or N.
None of them limits its result: see `limits.py`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics.control.gains import Gains
from robot_dynamics.robot.robot import Array, JointType, Robot

FULL_TURN = 2.0 * np.pi


class Reference(NamedTuple):
    """What the joints are to do: positions, velocities, and the efforts that the model asks for."""

    q: Array
    qd: Array
    tau: Array


class Measured(NamedTuple):
    """What the joints do: positions and velocities, shape (n,) each."""

    q: Array
    qd: Array


def continuous_joints(robot: Robot) -> Array:
    """Which joints turn without end, shape (n,), in the order of `robot.joint_names`."""
    return np.array(
        [joint.type is JointType.CONTINUOUS for joint in robot.independent_joints], dtype=bool
    )


def position_error(q_d: Array, q: Array, continuous: Array | None = None) -> Array:
    """q_d - q, by the shorter way round for continuous joints.

    Args:
        q_d: Desired positions, shape (n,).
        q: Measured positions, shape (n,).
        continuous: Which joints turn without end, shape (n,); by default none.

    Returns:
        Errors, shape (n,), within [-pi, pi] for continuous joints.
    """
    e = q_d - q
    if continuous is None:
        return e
    return e - np.where(continuous, FULL_TURN * np.round(e / FULL_TURN), 0.0)


def pd_feedforward(
    reference: Reference, measured: Measured, gains: Gains, continuous: Array | None = None
) -> Array:
    """Feedforward and PD feedback: tau = tau_ff + Kp (q_d - q) + Kd (qd_d - qd).

    With tau_ff from inverse dynamics of the desired motion this is computed
    torque as feedforward; with zeros it is PD alone; with gravity, PD with
    gravity compensation.
    """
    e = position_error(reference.q, measured.q, continuous)
    return reference.tau + gains.kp * e + gains.kd * (reference.qd - measured.qd)
