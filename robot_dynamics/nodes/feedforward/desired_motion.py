"""DesiredMotion: where the joints are to be, and the efforts that this takes under the load."""

from __future__ import annotations

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.control.transitions import Fade
from robot_dynamics.nodes.runtime.online_model import OnlineModel
from robot_dynamics.trajectory import State


class DesiredMotion:
    """Efforts of a motion, which pass to other terms of the model without a step.

    Args:
        arm: Model and load of the arm that is to move.
        now: Present steady time, s.
        fade: Time to pass to other terms, s.

    Attributes:
        rows: Position, velocity and effort of the last state, shape (3, n).
    """

    def __init__(self, arm: OnlineModel, now: float, fade: float) -> None:
        self._arm, self._model = arm, arm.at(now)
        n = self._model.dynamics.robot.dof
        self._fade = Fade(n, fade)
        self.rows = np.zeros((3, n))
        self.forget()

    def forget(self) -> None:
        """Start anew: there are no efforts to pass over from."""
        self._state: State | None = None  # whose rows these are
        self._terms = self._arm.base

    def use(self, fade: float) -> None:
        """Use another time to pass to other terms from now on, s."""
        self._fade.duration = fade

    def efforts_of(self, state: State) -> Array:
        """Efforts under the present load, shape (n,) or (N, n) as the state, N m or N."""
        return self._model.feedforward(*state)

    def rows_at(self, state: State, now: float) -> Array:
        """Position, velocity and effort of the state that is due, shape (3, n).

        While motion and model rest these are the same object: whoever gets it leaves it as it is.

        Args:
            state: Shape (n,) each.
            now: Present steady time, s.
        """
        before, self._model = self._model, self._arm.at(now)
        changed, fade = self._model is not before, self._fade
        if state is self._state and not changed and not fade.active:
            return self.rows
        tau = self._model.feedforward(*state)
        if changed and self._terms is not self._arm.base:
            self._terms = self._arm.base
            fade.begin(self.rows[2] - tau, now)
        if fade.active:
            tau = tau + fade.value(now)
        self._state, self.rows = state, np.array((state.q, state.qd, tau))
        return self.rows
