"""Joint feedback: all that a controller computes joint by joint around the model, as kernels.

PD, integral part and soft limits come before a fade, limits of rate and of effort after it. The
equations are those of `laws`, `safety` and `effort_limits`: traced and compiled, or taken as they
are where there is no compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from struct import Struct
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.compiler.backends import compile_program
from robot_dynamics.compiler.graph.optimize import optimize
from robot_dynamics.compiler.graph.piecewise import maximum, select
from robot_dynamics.compiler.graph.trace import trace
from robot_dynamics.control.effort_limits import Limited, limit_rate, saturate
from robot_dynamics.control.laws import (
    Law,
    Measured,
    Reference,
    integrate_error,
    pd_feedforward,
    position_error,
)
from robot_dynamics.control.model import Model
from robot_dynamics.control.safety import SoftLimits, all_finite
from robot_dynamics.control.setpoint import Stretch, desired
from robot_dynamics.control.settings import Settings
from robot_dynamics.errors import BackendError

GAINS = ("kp", "kd", "ki", "i_clamp")
TIMES = Struct("4d")  # which writes numbers into an array sooner than NumPy does
ZONES = ("lower", "upper", "velocity", "stiffness", "damping")


class Numbers(NamedTuple):
    """Gains under the names of `Gains`, shape (n,), of numbers or symbols."""

    kp: Array
    kd: Array
    ki: Array
    i_clamp: Array


class Feedback(NamedTuple):
    """What PD, integral part and soft limits make of a state.

    Args:
        wanted: Efforts, shape (n,), N m or N.
        error: Position errors, shape (n,), rad or m.
        integral: Effort of the integral part from now on, shape (n,).
    """

    wanted: Array
    error: Array
    integral: Array


def lost_equations(x: Mapping[str, Array], continuous: Array | None) -> Mapping[str, Array]:
    """By how much the position error of any joint exceeds its limit, shape (1,)."""
    excess = abs(position_error(x["q_d"], x["q"], continuous)) - x["allowed"]
    most = excess[0]
    for other in excess[1:]:
        most = maximum(other, most)
    return {"excess": np.array([most])}


def feedback_equations(x: Mapping[str, Array], continuous: Array | None) -> Mapping[str, Array]:
    """PD about `asked`, integral part and soft limits; see `Feedback`."""
    gains: Any = Numbers(*(x[name] for name in GAINS))
    reference, measured = Reference(x["q_d"], x["qd_d"], x["asked"]), Measured(x["q"], x["qd"])
    error = position_error(reference.q, measured.q, continuous)
    last = Limited(x["last"], x["cut"])
    integral = integrate_error(x["integral"], error, gains, x["dt"][0], last)
    tau = pd_feedforward(reference, measured, gains, continuous) + integral
    zones = SoftLimits(*(x[name] for name in ZONES))
    return {
        "wanted": tau + zones.effort(measured.q, measured.qd),
        "error": error,
        "next_integral": integral,
    }


def limit_equations(x: Mapping[str, Array], _continuous: Array | None) -> Mapping[str, Array]:
    """What is wanted and what is left of a fade, within limits of rate and of effort."""
    near = limit_rate(x["wanted"] + x["gap"], x["last"], x["rate"], x["dt"][0]).tau
    return saturate(near, x["limit"])._asdict()


def steady_equations(x: Mapping[str, Array], continuous: Array | None) -> Mapping[str, Array]:
    """All of a cycle without a fade, about a motion between two states that are known of it.

    Args:
        x: Arrays by the names in `EQUATIONS`; `times` are the last two numbers of a `Stretch`, then
            the time step and the one that limits of rate go by, s.
        continuous: Which joints turn without end, shape (n,).
    """
    share, ahead, dt, dt_rate = x["times"]
    q_d, qd_d = desired(x["before"], x["after"], share, ahead)
    x = {**x, "q_d": q_d, "qd_d": qd_d, "dt": np.array([dt])}
    x.update(zip(SETTINGS, x["settings"], strict=True))
    (excess,), found = lost_equations(x, continuous)["excess"], feedback_equations(x, continuous)
    x.update(wanted=found["wanted"], gap=np.zeros(len(q_d)), dt=np.array([dt_rate]))
    tau, cut = limit_equations(x, continuous).values()
    numbers = (q_d, qd_d, x["asked"], x["q"], x["qd"], tau)
    size = sum(abs(number) for array in numbers for number in array)
    return {
        "tau": tau,
        "next_cut": cut,
        "error": found["error"],
        "next_integral": found["next_integral"],
        "q_d": q_d,
        "qd_d": qd_d,
        # A comparison with NaN is false, so whatever is not finite is refused
        "excess": np.array([select(size, HUGE, excess, HUGE)]),
    }


HUGE = 1e300
"""Sum of all numbers of a cycle above which one of them may be infinite."""


SETTINGS = (*GAINS, *ZONES, "allowed", "rate", "limit")
"""What stays the same from cycle to cycle, joint by joint: the rows of `settings`."""


Steady = tuple[Array, Array, Array, Array, Array, Array, Array]
"""A whole cycle: efforts and which joints were cut, as of `Limited`; error and integral part, as of
`Feedback`; desired positions and velocities, shape (n,) all; and by how much the error of any joint
is too large, shape (1,): negative if none is, positive too if any number, in or out, is not finite.
"""


Equations = Callable[[Mapping[str, Array], Array | None], Mapping[str, Array]]

EQUATIONS: Mapping[str, tuple[Equations, tuple[str, ...]]] = {
    "joint_excess": (lost_equations, ("q_d", "q", "allowed")),
    "joint_feedback": (
        feedback_equations,
        ("asked", "q_d", "qd_d", "q", "qd", "integral", "last", "cut", "dt", *GAINS, *ZONES),
    ),
    "joint_limits": (limit_equations, ("wanted", "gap", "last", "dt", "rate", "limit")),
    "steady_cycle": (
        steady_equations,
        (
            "before",
            "after",
            "asked",
            "q",
            "qd",
            "integral",
            "last",
            "cut",
            "times",
            "settings",
        ),
    ),
}
"""Equations by name, with the arrays that they read; shapes as of `shape_of`."""


def shape_of(name: str, n: int) -> tuple[int, ...]:
    """Shape of one of these arrays for n joints."""
    others = {"dt": (1,), "times": (4,), "settings": (len(SETTINGS), n)}
    others |= dict.fromkeys(("before", "after"), (2, n))
    return others.get(name, (n,))


def functions_of(continuous: Array | None) -> tuple[Callable[..., Any], ...]:
    """All `EQUATIONS` as functions of arrays in their order, as they are."""

    def plain(equations: Equations, names: tuple[str, ...]) -> Callable[..., Any]:
        def function(*arrays: Array) -> Any:
            found = equations(dict(zip(names, arrays, strict=True)), continuous)
            return next(iter(found.values())) if len(found) == 1 else tuple(found.values())

        return function

    return tuple(plain(*one) for one in EQUATIONS.values())


def kernels_of(n: int, continuous: Array | None) -> tuple[Callable[..., Any], ...]:
    """The same for n joints, compiled.

    Raises:
        BackendError: If there is no usable llvmlite.
    """

    def kernel(name: str) -> Callable[..., Any]:
        equations, names = EQUATIONS[name]

        def traced() -> Any:
            shapes = {x: shape_of(x, n) for x in names}
            return optimize(trace(name, lambda **x: equations(x, continuous), shapes))

        turning = "none" if continuous is None else continuous.astype(int).tolist()
        return compile_program(traced, key=f"{name}/{n}/{turning}", backend="native")

    return tuple(kernel(name) for name in EQUATIONS)


class JointFeedback:
    """The part of a controller that goes joint by joint.

    Args:
        n: Number of joints.
        continuous: Which joints turn without end, shape (n,); by default none.
    """

    def __init__(self, n: int, continuous: Array | None = None) -> None:
        self._n, self._dt, self._times = n, np.zeros(1), np.zeros(4)
        self._packed_times = self._times.data
        self._gains: tuple[object, ...] = ()
        self._numbers: tuple[Array, ...] = ()
        self._steady_for: tuple[object, ...] = ()
        try:
            kernels = kernels_of(n, continuous)
        except BackendError:
            kernels = functions_of(continuous)
        self._excess, self._feedback, self._limits, self._cycle = kernels

    def use(self, settings: Settings) -> None:
        """Go by the limits of these settings."""
        n = self._n
        self._steady_for = ()
        self._allowed = _filled(settings.tracking_limit, n)
        self._rate = _filled(settings.effort_rate, n)
        none = np.zeros(n)
        zones = settings.soft_limits or SoftLimits(
            none - np.inf, none + np.inf, none + np.inf, none, none
        )
        self._zones = tuple(_filled(getattr(zones, name), n) for name in ZONES)

    def lost(self, q_d: Array, q: Array) -> bool:
        """Whether any joint is farther from its reference than it may be."""
        return bool(self._excess(q_d, q, self._allowed)[0] > 0.0)

    def wanted(
        self,
        law: Law,
        model: Model,
        reference: Reference,
        measured: Measured,
        integral: Array,
        last: Limited,
        dt: float,
    ) -> Feedback:
        """Efforts that a law wants, soft limits included, before they are limited.

        Args:
            law: The law.
            model: The arm and its gains.
            reference: What the joints are to do.
            measured: What they do.
            integral: Effort of the integral part so far, shape (n,); zero where there is none.
            last: The last command.
            dt: Time since then, s.
        """
        asked = law.asked(model, reference, measured)
        self._dt[0] = dt
        if (law, model) != self._gains:
            self._gains, self._numbers = (law, model), self._numbers_of(law, model)
        return Feedback(
            *self._feedback(
                asked, reference.q, reference.qd, *measured, integral, *last, self._dt,
                *self._numbers, *self._zones,
            )
        )  # fmt: skip

    def limited(self, wanted: Array, gap: Array, last: Limited, dt: float, limit: Array) -> Limited:
        """Efforts within limits of rate and of effort.

        Args:
            wanted: Efforts, shape (n,), N m or N.
            gap: What is left of a fade, shape (n,).
            last: The last command.
            dt: Time since then, s.
            limit: Largest efforts, shape (n,).
        """
        self._dt[0] = dt
        return Limited(*self._limits(wanted, gap, last.tau, self._dt, self._rate, limit))

    def steady(
        self,
        law: Law,
        model: Model,
        motion: Stretch,
        tau: Array,
        measured: Measured,
        integral: Array,
        last: Limited,
        steps: tuple[float, float],
        limit: Array,
    ) -> Steady | None:
        """What `lost`, `wanted` and `limited` find without a fade; None if they would not be asked.

        Args:
            law: The law.
            model: The arm and its gains.
            motion: What the joints are to do.
            tau: Efforts that came with it, shape (n,), N m or N.
            measured: What they do.
            integral: As of `wanted`.
            last: The last command.
            steps: The time step, and the one that limits of rate go by, s.
            limit: Largest efforts, shape (n,); the same since `use`.
        """
        if (law, model) != self._steady_for:
            numbers = (*self._numbers_of(law, model), *self._zones)
            self._settings = np.array((*numbers, self._allowed, self._rate, limit))
            self._only_follows = law.only_follows(model)
            self._steady_for = (law, model)
        asked = tau
        if not self._only_follows:
            reference = Reference(*desired(*motion), tau)
            if not all_finite(*reference):
                return None
            asked = law.asked(model, reference, measured)
        before, after, share, ahead = motion
        TIMES.pack_into(self._packed_times, 0, share, ahead, *steps)
        found: Steady = self._cycle(
            before, after, asked, *measured, integral, *last, self._times, self._settings
        )
        return found

    def _numbers_of(self, law: Law, model: Model) -> tuple[Array, ...]:
        """Gains, zero where the law has no such part."""
        kp, kd, ki, clamp = (_filled(getattr(model.gains, name), self._n) for name in GAINS)
        pd, integral = float(law.adds_pd(model)), float(law.feedback)
        return pd * kp, pd * kd, integral * ki, clamp


def _filled(values: Array | float, n: int) -> Array:
    """One number for each joint, in an array of its own."""
    return np.array(np.broadcast_to(np.asarray(values, dtype=np.float64), (n,)))
