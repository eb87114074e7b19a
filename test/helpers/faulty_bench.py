"""A bench in motion whose states are changed on their way to the controller."""

import numpy as np

from controller_bench import Q0, READY, STEP, Bench
from robot_dynamics.control import Measured, Settings
from robot_dynamics.control.limits import default_effort_rates

GOAL, SECONDS = np.array([1.3, 0.8]), 1.0
PLANNED = 15.0 / 8.0 * np.abs(GOAL - Q0) / SECONDS  # rad/s
LIMIT = np.array([3.0, 4.0])  # rad/s, of the URDF of the bench
SAFE = PLANNED + 0.1 * LIMIT
"""Largest speeds: those of the motion, and a tenth of the speed limits."""


class Faulty(Bench):
    """A bench whose states are changed before the controller gets them.

    `change(k, q, qd)` returns the state of a cycle, or None for none, k cycles after its start.
    """

    def fail(self, seconds, change, at=lambda now: now):
        speeds = []
        for k in range(round(seconds / STEP)):
            given_state = change(k, self.plant.q.copy(), self.plant.qd.copy())
            if given_state is not None:
                self.controller.set_state(Measured(*given_state), self.now, at=at(self.now))
            self._refer()
            command = self.controller.update(self.now)
            tau = self.efforts[-1] if command is None else command.tau
            self.plant.step(tau)
            self.efforts.append(tau)
            self.statuses.append(self.controller.status)
            speeds.append(np.abs(self.plant.qd))
            self.now += STEP
        return np.max(speeds, axis=0)


def moving(model, **given):
    """A bench in the middle of its motion."""
    rate = default_effort_rates(model.dynamics.robot, 20.0, 1.0)
    bench = Faulty(model, Settings(effort_rate=rate, **given)).run(READY)
    bench.move(*GOAL, seconds=SECONDS)
    bench.run(0.4)
    return bench
