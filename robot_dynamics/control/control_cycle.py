"""Control cycle: the equations of one cycle of a controller, and their kernel.

Arrays in, arrays out, without clocks, messages or Python objects. `Controller` evaluates the
equations as one kernel, a compiled loop traces them into its law stage, and a C export can trace
them too. Fading, resting, joining a reference and dead reckoning are inputs:

- a fade adds the effort gap in `state` times `fade` in `scalars`;
- a reference that comes to rest is a segment of one state, with the effort of that state;
- `offset` is added to a reference while the arm joins it;
- dead reckoning uses the settings of `OPEN_LOOP`, without feedback and soft limits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from struct import Struct
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.compiler.graph.optimize import optimize
from robot_dynamics.compiler.graph.piecewise import maximum, minimum, select
from robot_dynamics.compiler.graph.trace import trace
from robot_dynamics.compiler.kernel import compile_program
from robot_dynamics.control.laws import (
    ControlLaw,
    InTaskSpace,
    Measured,
    Reference,
    integrate_error,
    pd_feedforward,
    position_error,
)
from robot_dynamics.control.limits import Limited, SoftLimits, limit_rate, saturate
from robot_dynamics.control.model import Model
from robot_dynamics.control.setpoint import ReferenceSegment, desired
from robot_dynamics.control.settings import Settings
from robot_dynamics.errors import BackendError
from robot_dynamics.foundation.arrays import Array

HUGE = 1e300
"""Sum of the magnitudes of efforts above which one of them may be infinite."""


class Scalars(NamedTuple):
    """Numbers of one cycle, in the order of the input `scalars`.

    Args:
        share: Part of the way from the first to the second state of the reference segment.
        ahead: Time by which the motion is extrapolated from there at its velocity, s.
        dt: Time since the last cycle, s; zero if negative.
        longest: Largest time step that the limit of the effort rate uses, s.
        fade: Remaining part of the effort gap, from 1 at the start of a fade to 0.
        renew: 1 to start a fade from the last efforts in this cycle, else 0.
        integrates: 1 where the integral part is added to the efforts, else 0.
    """

    share: Any
    ahead: Any
    dt: Any
    longest: Any
    fade: Any
    renew: Any
    integrates: Any


class JointSettings(NamedTuple):
    """Gains and limits, shape (n,) each, in the order of the rows of the input `settings`.

    Args:
        kp: Position gain, N m/rad or N/m.
        kd: Velocity gain, N m s/rad or N s/m.
        ki: Integral gain, N m/(rad s) or N/(m s).
        i_clamp: Largest effort of the integral part, N m or N.
        lower: See `SoftLimits`.
        upper: See `SoftLimits`.
        velocity: See `SoftLimits`.
        stiffness: See `SoftLimits`.
        damping: See `SoftLimits`.
        allowed: Largest position error, rad or m.
        rate: Largest change of effort, N m/s or N/s.
        limit: Largest effort, N m or N.
    """

    kp: Array
    kd: Array
    ki: Array
    i_clamp: Array
    lower: Array
    upper: Array
    velocity: Array
    stiffness: Array
    damping: Array
    allowed: Array
    rate: Array
    limit: Array


class CycleState(NamedTuple):
    """Numbers kept from cycle to cycle, shape (n,) each, in the order of the rows of `state`.

    Args:
        tau: Commanded effort, N m or N.
        cut: 1 where the effort limit cut the effort, else 0.
        integral: Effort of the integral part, N m or N.
        gap: Effort before the last fade minus the effort that the fade leads to, N m or N.
    """

    tau: Array
    cut: Array
    integral: Array
    gap: Array


OPEN_LOOP = {"kp": 0.0, "kd": 0.0, "ki": 0.0, "i_clamp": np.inf, "stiffness": 0.0, "damping": 0.0}
"""Settings that differ where the effort alone is commanded, without feedback and soft limits."""


def input_shapes(n: int) -> Mapping[str, tuple[int, ...]]:
    """Return the inputs of the cycle for n joints with their shapes, in order."""
    return {
        "before": (2, n),  # first state of the reference segment: positions, velocities
        "after": (2, n),  # second state
        "offset": (2, n),  # added while a reference is joined: positions, velocities
        "asked": (n,),  # effort of the law, without its feedback joint by joint
        "q": (n,),  # measured positions
        "qd": (n,),  # measured velocities
        "state": (len(CycleState._fields), n),  # of the last cycle
        "scalars": (len(Scalars._fields),),
        "settings": (len(JointSettings._fields), n),
    }


def cycle_equations(x: Mapping[str, Array], continuous: Array | None = None) -> dict[str, Array]:
    """Compute one control cycle, of numbers or of symbols.

    Args:
        x: Arrays by the names in `input_shapes`.
        continuous: Which joints turn without end, shape (n,); by default none.

    Returns:
        state: The rows of `CycleState` from now on, shape (4, n); those of the last cycle if any
            number, in or out, is not finite.
        error: Position errors, shape (n,), rad or m.
        excess: Largest excess of a position error over its limit, shape (1,), rad or m; negative
            if there is none.
    """
    scalars, last = Scalars(*x["scalars"]), CycleState(*x["state"])
    settings: Any = JointSettings(*x["settings"])
    q_d, qd_d = desired(x["before"], x["after"], scalars.share, scalars.ahead) + x["offset"]
    reference, measured = Reference(q_d, qd_d, x["asked"]), Measured(x["q"], x["qd"])
    error = position_error(q_d, measured.q, continuous)
    excess = abs(error) - settings.allowed
    largest = excess[0]
    for other in excess[1:]:
        largest = maximum(other, largest)

    before = Limited(last.tau, last.cut)
    dt = maximum(scalars.dt, 0.0)
    integral = integrate_error(last.integral, error, settings, dt, before)
    zones = SoftLimits(*(getattr(settings, name) for name in SoftLimits.__dataclass_fields__))
    wanted = pd_feedforward(reference, measured, settings, continuous)
    wanted = wanted + scalars.integrates * integral + zones.effort(*measured)

    gap = select(0.5, scalars.renew, last.tau - wanted, last.gap)
    longest = minimum(dt, scalars.longest)
    aim = wanted + scalars.fade * gap
    tau, cut = saturate(limit_rate(aim, last.tau, settings.rate, longest).tau, settings.limit)

    # An input that is not finite makes this sum infinite or NaN, even times a gain of zero. Then
    # the comparison is false and the state stays.
    size = sum(abs(number) for number in aim)
    new = np.array(CycleState(tau, cut, integral, gap))
    state = select(size, HUGE, new, x["state"])
    return {"state": np.asarray(state), "error": error, "excess": np.array([largest])}


Cycle = tuple[Array, Array, Array]
"""Results of `cycle_equations` in order: state, error and excess."""


def plain_cycle(continuous: Array | None) -> Callable[..., Cycle]:
    """Return `cycle_equations` as a function of arrays in the order of `input_shapes`."""

    def function(*arrays: Array) -> Any:
        x = dict(zip(input_shapes(0), arrays, strict=True))
        return tuple(cycle_equations(x, continuous).values())

    return function


def cycle_kernel(n: int, continuous: Array | None) -> Callable[..., Cycle]:
    """Compile `plain_cycle` for n joints.

    Raises:
        BackendError: If there is no usable llvmlite.
    """

    def traced() -> Any:
        # The names of results must differ from those of inputs
        def equations(**x: Array) -> dict[str, Array]:
            return {f"next_{k}": value for k, value in cycle_equations(x, continuous).items()}

        return optimize(trace("control_cycle", equations, input_shapes(n)))

    turning = "none" if continuous is None else continuous.astype(int).tolist()
    kernel: Callable[..., Any] = compile_program(
        traced, key=f"control_cycle/{n}/{turning}", backend="native"
    )
    return kernel


class ControlCycle:
    """The kernel of a cycle of n joints, with the settings that stay from cycle to cycle.

    Without a compiler the equations are evaluated as they are.

    Args:
        n: Number of joints.
        continuous: Which joints turn without end, shape (n,); by default none.
    """

    def __init__(self, n: int, continuous: Array | None = None) -> None:
        self._n = n
        self._scalars = np.zeros(len(Scalars._fields))
        # A struct writes numbers into an array faster than NumPy
        self._pack = Struct(f"{len(self._scalars)}d").pack_into
        self._packed = self._scalars.data
        try:
            self._kernel = cycle_kernel(n, continuous)
        except BackendError:
            self._kernel = plain_cycle(continuous)

    def use(self, settings: Settings, limit: Array) -> None:
        """Use the limits of these settings, and largest efforts, shape (n,), N m or N."""
        n = self._n
        infinite, none = np.full(n, np.inf), np.zeros(n)
        zones = settings.soft_limits or SoftLimits(-infinite, infinite, infinite, none, none)
        self._limits: dict[str, Any] = {
            **vars(zones),
            "allowed": settings.tracking_limit,
            "rate": settings.effort_rate,
            "limit": limit,
        }
        self._longest = settings.longest_cycle if settings.limits_rate else np.inf
        self._open_loop = self._rows(OPEN_LOOP)
        self._law: ControlLaw | None = None
        self._model: Model | None = None

    def _rows(self, gains: Mapping[str, Array | float]) -> Array:
        """Return the input `settings`: the limits, and gains that may replace some of them."""
        rows = {**self._limits, **gains}
        return np.array([np.broadcast_to(rows[k], self._n) for k in JointSettings._fields], float)

    def _take_up(self, law: ControlLaw, model: Model) -> None:
        """Compute the settings of a law and the gains of a model."""
        known, before = law is self._law, self._model
        self._law, self._model = law, model
        if known and before and model.gains is before.gains and model.coupled == before.coupled:
            return  # such as while the load is ramped
        pd, gains = float(law.adds_pd(model)), model.gains
        self._integrates = float(law.feedback and gains.has_integral)
        self._closed_loop = self._rows(
            {
                "kp": pd * gains.kp,
                "kd": pd * gains.kd,
                "ki": self._integrates * gains.ki,
                "i_clamp": gains.i_clamp if self._integrates else np.inf,
            }
        )
        self._only_follows = law.only_follows(model)

    def closed_loop(
        self,
        law: ControlLaw,
        model: Model,
        motion: ReferenceSegment,
        offset: Array,
        measured: Measured,
        state: Array,
        dt: float,
        fade: float = 0.0,
        renew: bool = False,
        task: InTaskSpace | None = None,
    ) -> Cycle:
        """Evaluate a cycle of a law.

        Args:
            law: The law.
            model: The arm and its gains.
            motion: The reference.
            offset: Added to the reference while it is joined, shape (2, n).
            measured: The measured state.
            state: The rows of `CycleState`, shape (4, n).
            dt: See `Scalars`.
            fade: See `Scalars`.
            renew: See `Scalars`.
            task: Of a law in task space.
        """
        if law is not self._law or model is not self._model:
            self._take_up(law, model)
        before, after, share, ahead, asked = motion
        if not self._only_follows:
            q_d, qd_d = motion.desired() + offset
            asked = law.asked(model, Reference(q_d, qd_d, asked, task), measured)
        self._pack(self._packed, 0, share, ahead, dt, self._longest, fade, renew, self._integrates)
        return self._kernel(
            before, after, offset, asked, *measured, state, self._scalars, self._closed_loop
        )

    def open_loop(
        self,
        asked: Array,
        measured: Measured,
        state: Array,
        dt: float,
        fade: float = 0.0,
        renew: bool = False,
    ) -> Cycle:
        """Evaluate a cycle that commands efforts, shape (n,), N m or N, without feedback."""
        self._pack(self._packed, 0, 0.0, 0.0, dt, self._longest, fade, renew, 0.0)
        rest = np.array((measured.q, np.zeros(self._n)))
        return self._kernel(
            rest, rest, np.zeros_like(rest), asked, *measured, state, self._scalars,
            self._open_loop,
        )  # fmt: skip
