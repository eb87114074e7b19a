"""A control law with what a controller puts around it, cycle by cycle, for `simulate`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from robot_dynamics.arrays import Array
from robot_dynamics.control.effort_limits import Limited, effort_limits, limit_rate, saturate
from robot_dynamics.control.laws import MODES, Measured, Reference, integrate_error, position_error
from robot_dynamics.control.model import Model
from robot_dynamics.errors import check_known
from robot_dynamics.trajectory.trajectory import State


class LawController:
    """A law about a desired motion, with integral part, limit of the rate, and saturation.

    What `control.Controller` does while it tracks, without its watchdogs and transitions: the
    readable form of what a compiled loop computes.

    Args:
        model: The arm and its gains.
        mode: One of `control.MODES`.
        period: Time from one call to the next, s.
        effort_rate: Largest change of effort, N m/s or N/s, shape (n,) or one number.
        limit: Largest effort, shape (n,), N m or N; by default that of the URDF.

    Raises:
        UnknownNameError: If there is no such mode.
    """

    def __init__(
        self,
        model: Model,
        mode: str,
        *,
        period: float,
        effort_rate: npt.ArrayLike = np.inf,
        limit: Array | None = None,
    ) -> None:
        check_known("mode", mode, "robot_dynamics.control", MODES)
        self.model, self.period = model, period
        self._law, self._rate = MODES[mode], np.asarray(effort_rate, dtype=np.float64)
        self._limit = effort_limits(model.dynamics.robot) if limit is None else limit
        self._integral = np.zeros(model.dynamics.robot.dof)
        self._last: Limited | None = None

    def __call__(self, _t: float, desired: State, measured: Measured) -> Array:
        """Efforts of this cycle, shape (n,)."""
        model = self.model
        last = self._last or self._first(desired.q)
        reference = Reference(desired.q, desired.qd, model.feedforward(*desired))
        tau = self._law.effort(model, reference, measured)
        if self._law.feedback and model.gains.has_integral:
            error = position_error(reference.q, measured.q, model.continuous)
            self._integral = integrate_error(self._integral, error, model.gains, self.period, last)
            tau = tau + self._integral
        tau = limit_rate(tau, last.tau, self._rate, self.period).tau
        self._last = saturate(tau, self._limit)
        return self._last.tau

    def _first(self, q: Array) -> Limited:
        """What the first command may differ from by its rate: the effort of gravity."""
        return Limited(self.model.gravity(q), np.zeros(len(q), dtype=bool))
