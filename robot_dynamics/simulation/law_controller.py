"""A control law with what a controller puts around it, cycle by cycle, for `simulate`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from robot_dynamics.control.control_cycle import ControlCycle, CycleState
from robot_dynamics.control.laws import MODES, Measured
from robot_dynamics.control.limits import effort_limits
from robot_dynamics.control.model import Model
from robot_dynamics.control.setpoint import ReferenceSegment
from robot_dynamics.control.settings import Settings
from robot_dynamics.errors import check_known
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.trajectory.trajectory import State


class LawController:
    """The control cycle of `control.Controller` while it tracks, without watchdogs and transitions.

    The same equations are the law stage of a compiled loop.

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
        robot = model.dynamics.robot
        settings = Settings(
            mode, effort_rate=np.asarray(effort_rate, dtype=np.float64), longest_cycle=period
        )
        self._law, self._none = MODES[mode], np.zeros((2, robot.dof))
        self._cycle = ControlCycle(robot.dof, model.continuous)
        self._cycle.use(settings, effort_limits(robot) if limit is None else limit)
        self._state: Array | None = None

    def __call__(self, _t: float, desired: State, measured: Measured) -> Array:
        """Return the efforts of this cycle, shape (n,)."""
        model, zero = self.model, self._none[0]
        state = self._state
        if state is None:  # from the effort of gravity, by the limit of the rate
            state = np.array(CycleState(model.gravity(desired.q), zero, zero, zero))
        motion = ReferenceSegment.at(desired.q, desired.qd, model.feedforward(*desired))
        self._state, _, _ = self._cycle.closed_loop(
            self._law, model, motion, self._none, measured, state, self.period
        )
        return self._state[0]
