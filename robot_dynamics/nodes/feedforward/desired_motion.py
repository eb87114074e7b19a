"""DesiredMotion: desired positions and velocities with their feedforward efforts."""

from __future__ import annotations

import numpy as np

from robot_dynamics.control.transitions import Fade
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.nodes.runtime.online_model import OnlineModel
from robot_dynamics.trajectory import State


class DesiredMotion:
    """Efforts of a motion, which fade to other terms of the model without a step.

    Args:
        arm: Model and load of the arm.
        now: Present steady time, s.
        fade: Time to fade to other terms, s.

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
        """Forget the last state, so that the next efforts do not fade."""
        self._state: State | None = None  # state of `rows`
        self._terms = self._arm.base

    def use(self, fade: float) -> None:
        """Set the time to fade to other terms, s."""
        self._fade.duration = fade

    def efforts_of(self, state: State) -> Array:
        """Return efforts under the present load, shape (n,) or (N, n) as the state, N m or N."""
        return self._model.feedforward(*state)

    def rows_at(self, state: State, now: float) -> Array:
        """Return position, velocity and effort of a state, shape (3, n); do not modify them.

        The same object is returned while motion and model do not change.

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
