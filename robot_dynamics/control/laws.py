"""Control laws: desired and measured motion in, joint efforts out.

Pure functions of arrays of shape (n,), in rad or m, per second, N m or N. None
of them limits its result: see `limits.py`. The modes at the end give all of
them one signature, so that a controller can switch between them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.control.gains import Gains
from robot_dynamics.control.model import Model

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


def position_error(q_d: Array, q: Array, continuous: Array | None = None) -> Array:
    """Return q_d - q, by the shorter way round for continuous joints.

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


def feedforward(model: Model, reference: Reference, measured: Measured) -> Array:
    """PD about the desired motion, and the efforts that came with it."""
    return pd_feedforward(reference, measured, model.gains, model.continuous)


def pd(model: Model, reference: Reference, measured: Measured) -> Array:
    """PD about the desired motion and nothing else: what the model is compared with."""
    return pd_feedforward(
        reference._replace(tau=np.zeros_like(reference.q)), measured, model.gains, model.continuous
    )


def pd_gravity(model: Model, reference: Reference, measured: Measured) -> Array:
    """PD about the desired motion, and gravity where the arm is."""
    g = model.gravity(measured.q)
    return pd_feedforward(reference._replace(tau=g), measured, model.gains, model.continuous)


def gravity_compensation(model: Model, reference: Reference, measured: Measured) -> Array:
    """Gravity where the arm is: it floats, and can be led by hand."""
    return model.gravity(measured.q)


def computed_torque(model: Model, reference: Reference, measured: Measured) -> Array:
    """Inverse dynamics of the measured state, with the desired acceleration corrected by PD.

        tau = M(q) (qdd_d + 2 z w (qd_d - qd) + w^2 (q_d - q)) + b(q, qd)

    Every joint error then obeys the same linear equation, wherever the arm is.
    qdd_d is the acceleration that the reference efforts stand for.
    """
    w = model.bandwidth
    tau_d = reference.tau - model.friction_effort(reference.qd)
    qdd_d = model.forward(reference.q, reference.qd, tau_d)
    e = position_error(reference.q, measured.q, model.continuous)
    ed = reference.qd - measured.qd
    qdd = qdd_d + 2.0 * model.damping_ratio * w * ed + w**2 * e
    return model.inverse(measured.q, measured.qd, qdd) + model.friction_effort(reference.qd)


def impedance(model: Model, reference: Reference, measured: Measured) -> Array:
    """A spring and a damper to the desired motion, and otherwise a weightless, frictionless arm.

    Gravity, Coriolis and centrifugal effort are those of the measured state;
    the arm keeps its own inertia. Friction is that of the desired velocity,
    which carries no noise and does not push a hand that leads the arm.
    """
    b = model.bias(measured.q, measured.qd) + model.friction_effort(reference.qd)
    return pd_feedforward(reference._replace(tau=b), measured, model.gains, model.continuous)


Law = Callable[[Model, Reference, Measured], Array]

MODES: Mapping[str, Law] = {
    "feedforward": feedforward,
    "pd": pd,
    "pd_gravity": pd_gravity,
    "gravity_compensation": gravity_compensation,
    "computed_torque": computed_torque,
    "impedance": impedance,
}
"""Control modes by name."""
