"""Control laws: desired and measured motion in, joint efforts out.

Pure functions of arrays of shape (n,), in rad or m, per second, N m or N, and of symbols while
they are traced. None of them limits its result; see `limits.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from robot_dynamics.compiler.graph.piecewise import clip, rounded, select
from robot_dynamics.control.limits import Limited
from robot_dynamics.control.model import Model
from robot_dynamics.control.task_space import IMPEDANCE, OPERATIONAL_SPACE
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.units import FULL_TURN


class FeedbackGains(Protocol):
    """Gains of position and velocity, of numbers or symbols."""

    @property
    def kp(self) -> Array:
        """Position gains, shape (n,), N m/rad or N/m."""

    @property
    def kd(self) -> Array:
        """Velocity gains, shape (n,), N m s/rad or N s/m."""


class Reference(NamedTuple):
    """Desired motion.

    Args:
        q: Positions, shape (n,), rad or m.
        qd: Velocities, shape (n,), rad/s or m/s.
        tau: Efforts of the model, shape (n,), N m or N.
    """

    q: Array
    qd: Array
    tau: Array


class Measured(NamedTuple):
    """Measured motion.

    Args:
        q: Positions, shape (n,), rad or m.
        qd: Velocities, shape (n,), rad/s or m/s.
    """

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
    return e - np.where(continuous, FULL_TURN * rounded(e / FULL_TURN), 0.0)


def pd_feedforward(
    reference: Reference,
    measured: Measured,
    gains: FeedbackGains,
    continuous: Array | None = None,
) -> Array:
    """Feedforward and PD feedback: tau = tau_ff + Kp (q_d - q) + Kd (qd_d - qd).

    With tau_ff from inverse dynamics of the desired motion this is computed
    torque as feedforward; with zeros it is PD alone; with gravity, PD with
    gravity compensation.

    Args:
        reference: Desired motion, with the efforts tau_ff.
        measured: Measured motion.
        gains: Kp and Kd.
        continuous: Which joints turn without end, shape (n,); by default none.

    Returns:
        Efforts, shape (n,), N m or N.
    """
    e = position_error(reference.q, measured.q, continuous)
    return reference.tau + gains.kp * e + gains.kd * (reference.qd - measured.qd)


def feedforward(model: Model, reference: Reference, measured: Measured) -> Array:
    """Return the efforts of the reference.

    With `inertia_weighted` feedback, PD yields accelerations, which the mass matrix turns into
    efforts. Gravity is that of the measured state, or a soft arm would fall.
    """
    if not model.inertia_weighted:
        return reference.tau
    qdd = _correction(model, reference, measured)
    tau = model.inverse(measured.q, np.zeros(len(qdd)), qdd)
    return reference.tau - model.gravity(reference.q) + tau


def nothing(model: Model, reference: Reference, measured: Measured) -> Array:
    """Return no effort: PD alone, as a baseline for the model."""
    return np.zeros_like(reference.q)


def gravity_here(model: Model, reference: Reference, measured: Measured) -> Array:
    """Return gravity at the measured positions; alone, it lets a person lead the arm."""
    return model.gravity(measured.q)


FLOAT_DAMPING = 0.25
"""Damping of a floating arm, relative to kd: a bounce ends in a tenth of a second by default."""


def floating(model: Model, reference: Reference, measured: Measured) -> Array:
    """Compensate gravity and damp the motion: an arm that gives way, but does not fly off."""
    return model.gravity(measured.q) - FLOAT_DAMPING * model.gains.kd * measured.qd


def computed_torque(model: Model, reference: Reference, measured: Measured) -> Array:
    """Inverse dynamics of the measured state, with the desired acceleration corrected by PD.

        tau = M(q) (qdd_d + 2 z w (qd_d - qd) + w^2 (q_d - q)) + b(q, qd)

    Every joint error then obeys the same linear equation, wherever the arm is.
    qdd_d is the acceleration of the reference efforts.
    """
    tau_d = model.without_friction(reference.qd, reference.tau)
    qdd_d = model.forward(reference.q, reference.qd, tau_d)
    qdd = qdd_d + _correction(model, reference, measured)
    tau = model.inverse(measured.q, measured.qd, qdd)
    return tau + model.friction_effort(reference.qd, tau)


def _correction(model: Model, reference: Reference, measured: Measured) -> Array:
    """Return the corrective acceleration 2 z w e' + w^2 e, shape (n,)."""
    w = model.bandwidth
    e = position_error(reference.q, measured.q, model.continuous)
    return 2.0 * model.damping_ratio * w * (reference.qd - measured.qd) + w**2 * e


def weightless(model: Model, reference: Reference, measured: Measured) -> Array:
    """Compensate gravity and friction: PD is then a spring and a damper.

    Gravity, Coriolis and centrifugal effort are those of the measured state. Friction is that of
    the desired velocity, which is free of noise and does not push a person who leads the arm.
    """
    b = model.bias(measured.q, measured.qd)
    return b + model.friction_effort(reference.qd, b)


def integrated(integral: Array, step: Array, clamp: Array, last: Limited) -> Array:
    """Return the integral part of a PID after a cycle, shape (n,), N m or N.

    It is kept as an effort, so that other gains cause no jump. A joint whose effort is saturated
    stops integrating in the direction of the limit.

    Args:
        integral: Effort of the integral part so far, shape (n,), N m or N.
        step: What it grows by, shape (n,), N m or N.
        clamp: Largest effort, shape (n,), N m or N.
        last: The last command.
    """
    step = select(0.0, last.saturation * (step * last.tau), 0.0, step)
    return np.asarray(clip(integral + step, -clamp, clamp))


@dataclass(frozen=True)
class ControlLaw:
    """A control law with its properties.

    Args:
        equations: Efforts, shape (n,), of model, reference and measured state, without feedback
            joint by joint.
        by_joint: Whether that feedback, PD by the gains of the model, is added.
        feedback: Whether it brings the arm to the reference; if not, a person may lead it. One that
            does is given an integral part, by the time step, and its tracking error is watched.
        in_task_space: Whether a task stands in place of the reference: `task_space.task_equations`
            are added.
    """

    equations: Callable[[Model, Reference, Measured], Array]
    by_joint: bool = False
    feedback: bool = True
    in_task_space: bool = False

    def effort(self, model: Model, reference: Reference, measured: Measured) -> Array:
        """Compute the efforts of the law without an integral part.

        Args:
            model: Model of the arm.
            reference: Desired motion.
            measured: Measured motion.

        Returns:
            Efforts, shape (n,), N m or N, not limited.
        """
        tau = self.equations(model, reference, measured)
        if not self.by_joint or (model.inertia_weighted and self.equations is feedforward):
            return tau
        reference = reference._replace(tau=tau)
        return pd_feedforward(reference, measured, model.gains, model.continuous)


MODES: Mapping[str, ControlLaw] = {
    "feedforward": ControlLaw(feedforward, by_joint=True),
    "pd": ControlLaw(nothing, by_joint=True),
    "pd_gravity": ControlLaw(gravity_here, by_joint=True),
    "gravity_compensation": ControlLaw(gravity_here, feedback=False),
    "computed_torque": ControlLaw(computed_torque),
    "impedance": ControlLaw(weightless, by_joint=True),
}
"""Control modes of joints by name."""

FLOATING = ControlLaw(floating, feedback=False)
"""Law after a collision, with the reaction `float`."""

TASK_MODES: Mapping[str, ControlLaw] = {
    mode: ControlLaw(gravity_here, feedback=False, in_task_space=True)
    for mode in (IMPEDANCE, OPERATIONAL_SPACE)
}
"""Control modes of the end effector by name."""

ALL_MODES: Mapping[str, ControlLaw] = {**MODES, **TASK_MODES}
"""All control modes by name."""

INERTIA_WEIGHTED_LAW = "feedforward_inertia_weighted"
"""Name of the law of the mode feedforward whose feedback uses the mass matrix."""

LAWS: tuple[str, ...] = (*ALL_MODES, "floating", INERTIA_WEIGHTED_LAW)
"""Names of all laws in the order of their numbers; those of the modes come first."""


def law_named(name: str) -> ControlLaw:
    """Return the law of a name in `LAWS`."""
    if name == INERTIA_WEIGHTED_LAW:
        return MODES["feedforward"]
    return FLOATING if name == "floating" else ALL_MODES[name]


FEEDFORWARD, GRAVITY_LAW, FLOATING_LAW, INERTIA_WEIGHTED = (
    LAWS.index(name)
    for name in ("feedforward", "gravity_compensation", "floating", INERTIA_WEIGHTED_LAW)
)

FEEDBACK = tuple(
    i
    for i, name in enumerate(LAWS)
    if name == INERTIA_WEIGHTED_LAW or getattr(ALL_MODES.get(name), "feedback", False)
)
"""Numbers of the laws that bring the arm to the desired motion."""

BY_JOINT = tuple(
    i for i, name in enumerate(LAWS) if getattr(ALL_MODES.get(name), "by_joint", False)
)
"""Numbers of the laws with PD joint by joint."""

WITH_DRIVES = tuple(
    i
    for i, name in enumerate(LAWS)
    if name in MODES and (MODES[name].by_joint or not MODES[name].feedback)
)
"""Numbers of the modes in which drives may close the loop: others have feedback of their own."""

IN_TASK_SPACE = tuple(i for i, name in enumerate(LAWS) if name in TASK_MODES)
"""Numbers of the laws in task space."""

WITHOUT_INERTIA = tuple(LAWS.index(name) for name in ("pd", "pd_gravity", "impedance"))
"""Numbers of the laws that know no accelerations: their joints begin to move late."""
