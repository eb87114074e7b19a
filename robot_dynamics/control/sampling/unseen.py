"""Unseen: where an arm is, and what its efforts lack, when its states have stopped.

What the last states and efforts tell, an open loop has to go by. Above all they tell what the
model does not know: friction, an unknown load. A model that is believed without it takes an arm
with a little friction for one that races away, and throws it in stopping what is not there.
"""

from __future__ import annotations

from collections import deque
from math import ceil

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.control.laws import Measured
from robot_dynamics.control.model import Model
from robot_dynamics.trajectory.trajectory import State

NOTE_PERIOD_S = 4e-3
"""Time from one state that is noted to the next, s."""

WINDOW_S = 0.05
"""Time before the last state over which efforts are weighed against the motion, s."""

STEP_S = 4e-3
"""Step in which the motion of an arm that nobody sees is predicted, s."""

LONGEST_PREDICTION_S = 1.0
"""Time over which it is predicted at most: a cycle must bear the work."""

MOST_SHARE = 0.2
"""Part of the effort limit that may be lost to friction or load; more is a collision."""

MOVES = 0.01
"""Speed from where on an effort that is lost may be friction, rad/s or m/s."""


class Unseen:
    """Efforts and states of the last moments of an arm of n joints.

    Args:
        n: Number of joints.

    Attributes:
        lost: Efforts that went into what the model does not know, shape (n,), N m or N.
    """

    def __init__(self, n: int) -> None:
        self._none = np.zeros(n)
        self._efforts: deque[tuple[float, Array]] = deque(maxlen=1024)
        self._states: deque[tuple[float, Array, Array, Array]] = deque()
        self.forget()

    def forget(self) -> None:
        """Start again."""
        self._efforts.clear()
        self._states.clear()
        self.lost = self._qd = self._none

    def commanded(self, now: float, tau: Array) -> None:
        """Note the efforts, shape (n,), that act from a time on, s."""
        self._efforts.append((now, tau))

    def seen(self, now: float, measured: Measured) -> None:
        """Note a state, which answers the efforts before it."""
        states = self._states
        if states and now - states[-1][0] > WINDOW_S:  # what was before a silence tells nothing
            states.clear()
        if self._efforts and not (states and states[-1][0] <= now < states[-1][0] + NOTE_PERIOD_S):
            # Copies: whoever measures may write into the same arrays
            states.append((now, measured.q.copy(), measured.qd.copy(), self._efforts[-1][1]))
            while len(states) > 2 and states[1][0] < now - WINDOW_S:
                states.popleft()
        self._efforts.clear()

    def weigh(self, model: Model, limit: Array) -> None:
        """Find out what is `lost`: commanded over the last moments, less what the motion took.

        Args:
            model: The arm.
            limit: Largest efforts, shape (n,), N m or N, of which a share is believed.
        """
        self.lost = self._qd = self._none
        if len(self._states) < 2:
            return
        (begin, _, qd_0, _), (_, q, qd, _) = self._states[0], self._states[len(self._states) // 2]
        end, _, qd_1, _ = self._states[-1]
        took = model.feedforward(q, qd, (qd_1 - qd_0) / (end - begin))
        lost = np.mean([tau for *_, tau in list(self._states)[1:]], axis=0) - took
        self.lost = np.clip(lost, -MOST_SHARE * limit, MOST_SHARE * limit)
        self._qd = qd_1

    def lacking(self, qd: Array) -> Array:
        """What to add to the efforts of the model on the way to rest, shape (n,).

        What may be friction, for it went against the motion, ends with the motion; else it would
        push a joint that rests. A load stays.

        Args:
            qd: Velocity on that way, shape (n,), rad/s or m/s.
        """
        speed = np.abs(self._qd)
        friction = (self.lost * self._qd > 0.0) & (speed > MOVES)
        share = np.divide(np.abs(qd), speed, out=np.ones_like(speed), where=friction)
        return self.lost * np.minimum(share, 1.0)

    def predicted(self, model: Model, measured: Measured, begin: float, end: float) -> State:
        """Where the efforts take the arm: its equations of motion, by the midpoint rule.

        Over a tenth of a second an arm in motion is where no constant acceleration takes it.

        Args:
            model: The arm.
            measured: Its last measured state.
            begin: Time of that, s.
            end: Until when, s.
        """
        q, qd = measured
        begin = max(begin, end - LONGEST_PREDICTION_S)
        times, k = [time for time, _ in self._efforts], 0
        tau = self._efforts[0][1] if times else model.gravity(q) + self.lost

        def acceleration(q: Array, qd: Array) -> Array:
            return model.forward(q, qd, model.without_friction(qd, tau - self.lost))

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
