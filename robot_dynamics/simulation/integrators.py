"""Integrators of the equations of motion qdd = f(t, q, qd).

The step is constant, because a simulator publishes at a constant rate. Semi-implicit Euler has
order 1, Runge-Kutta and Adams-Bashforth-Moulton have order 4. The last is the predictor-corrector
scheme of [Gupta1986], section 4. It needs two accelerations a step instead of four, and smooth
forces.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np

from robot_dynamics.errors import ArgumentError, SimulationError, unknown_name
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot import manifold
from robot_dynamics.robot.robot import Robot

logger = logging.getLogger(__name__)

Acceleration = Callable[[float, Array, Array], Array]
"""Function of t, q, qd that returns qdd."""


class Integrator(Protocol):
    """Advances (q, qd) by one step of h seconds from time t."""

    def __call__(
        self, f: Acceleration, t: float, q: Array, qd: Array, h: float
    ) -> tuple[Array, Array]:
        """Return q and qd at t + h."""
        ...


class IntegratedMotion(NamedTuple):
    """Result of an integration: t (N,), s; q and qd (N, n)."""

    t: Array
    q: Array
    qd: Array


def semi_implicit_euler(
    f: Acceleration, t: float, q: Array, qd: Array, h: float
) -> tuple[Array, Array]:
    """Order 1: the new velocity advances the position, so that oscillations do not grow."""
    qd = qd + h * f(t, q, qd)
    return q + h * qd, qd


def runge_kutta(
    f: Acceleration, t: float, q: Array, qd: Array, h: float, robot: Robot | None = None
) -> tuple[Array, Array]:
    """Order 4, the classical method: four accelerations a step.

    With a robot that has floating or planar joints, on the manifold of its positions: the method
    of Munthe-Kaas.
    """

    def moved(u: Array) -> Array:
        return q + u if robot is None else manifold.integrate(robot, q, u)

    def rate(u: Array, v: Array) -> Array:
        return v if robot is None else manifold.rates_in_step(robot, u, v)

    half = h / 2.0
    a1 = f(t, q, qd)
    v2 = qd + half * a1
    a2 = f(t + half, moved(half * qd), v2)
    k2 = rate(half * qd, v2)
    v3 = qd + half * a2
    a3 = f(t + half, moved(half * k2), v3)
    k3 = rate(half * k2, v3)
    v4 = qd + h * a3
    a4 = f(t + h, moved(h * k3), v4)
    k4 = rate(h * k3, v4)
    q = moved(h / 6.0 * (qd + 2.0 * (k2 + k3) + k4))
    return q, qd + h / 6.0 * (a1 + 2.0 * (a2 + a3) + a4)


class AdamsBashforthMoulton:
    """Order 4: predict from four past derivatives, correct once with the new one.

    Holds the past derivatives, so one instance serves one motion at a constant
    step; Runge-Kutta provides the first three.
    """

    # Weights of the derivatives at t, t - h, t - 2h, t - 3h; and at t + h, t, t - h, t - 2h
    _PREDICT = np.array([55.0, -59.0, 37.0, -9.0]) / 24.0
    _CORRECT = np.array([9.0, 19.0, -5.0, 1.0]) / 24.0

    def __init__(self) -> None:
        self._past: list[Array] = []  # [qd, qdd] of the last steps, newest first

    def __call__(
        self, f: Acceleration, t: float, q: Array, qd: Array, h: float
    ) -> tuple[Array, Array]:
        """Advance one step; see `Integrator`."""
        self._past = [np.array([qd, f(t, q, qd)]), *self._past[:3]]
        if len(self._past) < 4:
            return runge_kutta(f, t, q, qd, h)
        past = np.array(self._past)
        state = np.array([q, qd])
        q_p, qd_p = state + h * np.tensordot(self._PREDICT, past, axes=1)
        new = np.array([qd_p, f(t + h, q_p, qd_p)])
        q, qd = state + h * (
            self._CORRECT[0] * new + np.tensordot(self._CORRECT[1:], past[:3], axes=1)
        )
        return q, qd


INTEGRATORS: Mapping[str, Callable[[], Integrator]] = {
    "semi_implicit_euler": lambda: semi_implicit_euler,
    "runge_kutta": lambda: runge_kutta,
    "adams_bashforth_moulton": AdamsBashforthMoulton,
}
"""Makers of a fresh integrator, by name."""


def integrate(
    f: Acceleration,
    q: Array,
    qd: Array,
    *,
    duration: float,
    step: float = 1e-3,
    method: str = "runge_kutta",
    robot: Robot | None = None,
) -> IntegratedMotion:
    """Integrate qdd = f(t, q, qd) from time zero.

    Args:
        f: Acceleration of t, q, qd; for a free robot
            `lambda t, q, qd: dynamics.forward(q, qd, np.zeros(n))`.
        q: Positions at the start, shape (n,).
        qd: Velocities at the start, shape (n,).
        duration: Time to cover, s, rounded to whole steps.
        step: Step, s.
        method: One of `INTEGRATORS`.
        robot: One with floating or planar joints, whose q are on a manifold; with the method
            "runge_kutta" alone.

    Returns:
        The motion at every step, the start included. One that diverges ends at the last step whose
        state is finite, with a warning that names the time.

    Raises:
        UnknownNameError: If there is no such method.
        ArgumentError: If another method is given for such a robot.
    """
    if method not in INTEGRATORS:
        raise unknown_name("method", method, "robot_dynamics.simulation", INTEGRATORS)
    if robot is not None and method != "runge_kutta":
        raise ArgumentError(f"method {method} takes no floating and planar joints; use runge_kutta")
    advance = INTEGRATORS[method]() if robot is None else partial(runge_kutta, robot=robot)
    steps = round(duration / step)
    t = step * np.arange(steps + 1)
    qs, qds = np.empty((steps + 1, len(q))), np.empty((steps + 1, len(qd)))
    qs[0], qds[0] = q, qd
    reached = 0
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # reported below, with the time
            for k in range(steps):
                qs[k + 1], qds[k + 1] = advance(_finite(f), t[k], qs[k], qds[k], step)
                _check_finite(qs[k + 1], qds[k + 1])
                reached = k + 1
    except SimulationError:
        logger.warning(
            "the motion diverges after %.4g s of %.4g s and ends there; use a shorter step, or "
            "feedback",
            t[reached],
            t[-1],
        )
    end = reached + 1
    return IntegratedMotion(t[:end], qs[:end], qds[:end])


def _finite(f: Acceleration) -> Acceleration:
    """Return an acceleration that no state within a step overflows."""

    def checked(t: float, q: Array, qd: Array) -> Array:
        _check_finite(q, qd)
        return f(t, q, qd)

    return checked


def _check_finite(q: Array, qd: Array) -> None:
    if not (np.isfinite(q).all() and np.isfinite(qd).all()):
        raise SimulationError("the motion diverged")
