"""References that come unevenly late are followed as those that come in time."""

import numpy as np
import pytest

from controller_bench import READY, STEP, Bench
from robot_dynamics.control import Settings, Status
from robot_dynamics.control.reference_history import ReferenceHistory

LATEST_CYCLES = 15  # as on a machine that is busy; the history goes on for 20 ms
GOAL = [1.2, 0.2]
AT_MOST = 0.015
"""Largest error, rad: efforts are late by 10 ms in the mean, in which the acceleration of this path
changes by 0.5 rad/s^2, and these soft gains answer 1 rad/s^2 with 20 mrad and more."""


class LateReferences:
    """A bench whose references, one in 5 ms, come up to `LATEST_CYCLES` late, in order."""

    def __init__(self, bench, seed):
        self.bench, self._rng = bench, np.random.default_rng(seed)
        self._sent, self._history = [], ReferenceHistory(0.02)
        self._last = None

    def run(self, seconds):
        bench = self.bench
        largest = 0.0
        for k in range(round(seconds / STEP)):
            now = bench.now
            if k % 5 == 0:
                due = bench.follower.sample(now)
                late = self._rng.integers(0, LATEST_CYCLES + 1) * STEP
                tau = bench.model.feedforward(*due)
                self._sent.append((now + late, now, np.array((due.q, due.qd)), tau))
            arrived = [sent for sent in self._sent if sent[0] <= now + STEP / 10.0]
            if arrived:
                _, stamp, state, tau = max(arrived, key=lambda sent: sent[1])
                self._history.add(stamp, state)
                self._last = now, stamp, state, tau
                self._sent = [sent for sent in self._sent if sent[1] > stamp]
            if self._last:
                came, stamp, state, tau = self._last
                segment = self._history.around(now, tau)
                bench.controller.set_reference(segment, came, present=state, age=came - stamp)
            bench.run(STEP, references=False)
            if bench.controller.status is Status.TRACKING:
                off = bench.plant.q - bench.follower.sample(now + STEP).q
                largest = max(largest, np.abs(off).max())
        return largest


@pytest.mark.parametrize("seed", range(3))
def test_references_that_come_unevenly_late_are_one_motion(model, seed):
    bench = Bench(model, Settings())
    late = LateReferences(bench, seed)
    late.run(READY + 0.2)
    assert bench.controller.status is Status.TRACKING
    begun = bench.controller.field("began")[0]
    bench.move(*GOAL, seconds=1.0)
    assert late.run(1.3) < AT_MOST
    assert bench.controller.status is Status.TRACKING
    assert bench.controller.field("began")[0] == begun  # nothing was joined anew
