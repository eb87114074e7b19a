"""Dead reckoning: predicts the state of an arm whose states have stopped.

The last states and efforts show the disturbance that the model does not contain: friction, an
unknown load. Without this estimate, the prediction of an arm with a little friction races away,
and stopping that motion throws the arm.
"""

from __future__ import annotations

from collections import deque
from math import ceil

import numpy as np

from robot_dynamics.control.laws import Measured
from robot_dynamics.control.model import Model
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.trajectory.trajectory import State

NOTE_PERIOD_S = 4e-3
"""Time from one recorded state to the next, s."""

WINDOW_S = 0.05
"""Time before the last state over which efforts are compared with the motion, s."""

STEP_S = 4e-3
"""Time step of the prediction, s."""

LONGEST_PREDICTION_S = 1.0
"""Longest prediction, s: the work must fit into a cycle."""

MOST_SHARE = 0.2
"""Largest disturbance by friction or load, relative to the effort limit; more is a collision."""

MOVES = 0.01
"""Speed above which a disturbance may be friction, rad/s or m/s."""


class DeadReckoning:
    """Latest efforts and states of an arm of n joints.

    Args:
        n: Number of joints.

    Attributes:
        disturbance: Estimated efforts that the model does not explain, shape (n,), N m or N.
    """

    def __init__(self, n: int) -> None:
        self._none = np.zeros(n)
        self._efforts: deque[tuple[float, Array]] = deque(maxlen=1024)
        self._states: deque[tuple[float, Array, Array, Array]] = deque()
        self.forget()

    def forget(self) -> None:
        """Forget all efforts and states."""
        self._efforts.clear()
        self._states.clear()
        self.disturbance = self._qd = self._none

    def note_effort(self, now: float, tau: Array) -> None:
        """Record the efforts, shape (n,), that act from a time on, s."""
        self._efforts.append((now, tau))

    def note_state(self, now: float, measured: Measured) -> None:
        """Record a state, the response to the efforts before it."""
        states = self._states
        if states and now - states[-1][0] > WINDOW_S:  # states before a gap mean nothing
            states.clear()
        if self._efforts and not (states and states[-1][0] <= now < states[-1][0] + NOTE_PERIOD_S):
            # Copies: the caller may write into the same arrays
            states.append((now, measured.q.copy(), measured.qd.copy(), self._efforts[-1][1]))
            while len(states) > 2 and states[1][0] < now - WINDOW_S:
                states.popleft()
        self._efforts.clear()

    def estimate(self, model: Model, limit: Array) -> None:
        """Estimate `disturbance`: the mean commanded effort less the effort of the motion.

        Args:
            model: The arm.
            limit: Largest efforts, shape (n,), N m or N; they bound the estimate.
        """
        self.disturbance = self._qd = self._none
        if len(self._states) < 2:
            return
        (begin, _, qd_0, _), (_, q, qd, _) = self._states[0], self._states[len(self._states) // 2]
        end, _, qd_1, _ = self._states[-1]
        took = model.feedforward(q, qd, (qd_1 - qd_0) / (end - begin))
        disturbance = np.mean([tau for *_, tau in list(self._states)[1:]], axis=0) - took
        self.disturbance = np.clip(disturbance, -MOST_SHARE * limit, MOST_SHARE * limit)
        self._qd = qd_1

    def disturbance_at(self, qd: Array) -> Array:
        """Return the effort to add to that of the model on the way to rest, shape (n,).

        A disturbance against the motion may be friction. It fades with the velocity, or it would
        push a joint at rest. A load stays.

        Args:
            qd: Velocity on the way to rest, shape (n,), rad/s or m/s.
        """
        speed = np.abs(self._qd)
        friction = (self.disturbance * self._qd > 0.0) & (speed > MOVES)
        share = np.divide(np.abs(qd), speed, out=np.ones_like(speed), where=friction)
        return self.disturbance * np.minimum(share, 1.0)

    def predicted_state(self, model: Model, measured: Measured, begin: float, end: float) -> State:
        """Integrate the equations of motion under the recorded efforts, by the midpoint rule.

        Over a tenth of a second a constant acceleration is too far off for an arm in motion.

        Args:
            model: The arm.
            measured: Its last measured state.
            begin: Time of that state, s.
            end: Time of the prediction, s.
        """
        q, qd = measured
        begin = max(begin, end - LONGEST_PREDICTION_S)
        times, k = [time for time, _ in self._efforts], 0
        tau = self._efforts[0][1] if times else model.gravity(q) + self.disturbance

        def acceleration(q: Array, qd: Array) -> Array:
            return model.forward(q, qd, model.without_friction(qd, tau - self.disturbance))

        steps = max(ceil((end - begin) / STEP_S), 1)
        h = max(end - begin, 0.0) / steps
        for i in range(steps):
            while k < len(times) and times[k] <= begin + (i + 0.5) * h:
                tau, k = self._efforts[k][1], k + 1
            qd_half = qd + h / 2.0 * acceleration(q, qd)
            q_half = q + h / 2.0 * qd
            q, qd = q + h * qd_half, qd + h * acceleration(q_half, qd_half)
        tau = self._efforts[-1][1] if times else tau
        return State(q, qd, acceleration(q, qd))
