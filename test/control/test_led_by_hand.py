"""An arm led by hand behind a joint_trajectory_controller, which goes on holding the old pose.

The interfaces of the preceding controller become references by the kernel of ros2_control.
"""

import numpy as np
import pytest

from controller_bench import Q0, READY, STEP, Bench
from robot_dynamics.control import Reference, Settings, Status
from robot_dynamics.control.chained_reference import chained_reference

LED = np.array([1.18, 0.4])
"""Way on which a person leads the arm, rad."""


class ChainedBench(Bench):
    """An arm behind a joint_trajectory_controller, whose goals begin at the measured position."""

    def __init__(self, model, settings=None):
        super().__init__(model, settings)
        self._begin, self._displacement, self._since, self._lasts = Q0, 0.0 * Q0, self.now, np.inf
        self._velocities = 0.0
        self._smooth = True
        self.every, self._cycle = 1, 0

    def goal(self, q, seconds, smooth):
        """Begin a goal: a cubic at rest at both ends, or, of positions only, a straight line."""
        self._begin, self._displacement = self.plant.q.copy(), q - self.plant.q
        self._since, self._lasts, self._smooth = self.now, seconds, smooth

    def _interfaces(self, t):
        """Positions, velocities and accelerations that it writes for a time."""
        s = min(max((t - self._since) / self._lasts, 0.0), 1.0)
        moves = 0.0 < s < 1.0
        share, rate = s, moves / self._lasts
        if self._smooth:
            share, rate = s * s * (3.0 - 2.0 * s), 6.0 * s * (1.0 - s) / self._lasts
        return np.array(
            [
                self._begin + share * self._displacement,
                rate * self._displacement,
                np.full(2, np.nan),
            ]
        )

    def _refer(self):
        self._cycle += 1
        if self._cycle % self.every:
            return
        written = np.vstack([self._interfaces(self.now + STEP), np.full(2, np.nan)])
        found = chained_reference(written, self._velocities, STEP)
        self._velocities = found["with_velocities"]
        assert found["comes"]
        tau = self.model.feedforward(found["q"], found["qd"], found["qdd"])
        self.controller.set_reference(Reference(found["q"], found["qd"], tau), self.now)


def led(model, how):
    """An arm that a person led away in a mode, and which is to follow again."""
    bench = ChainedBench(model, Settings(mode=how)).run(READY)
    bench.push(*LED)
    bench.run(0.1)
    bench.statuses.clear()
    bench.controller.change(settings=Settings(mode="feedforward"))
    return bench


def test_the_arm_stays_where_a_person_led_it_and_no_cause_is_made_up(model):
    bench = led(model, "gravity_compensation").run(2.0)
    assert set(bench.statuses) == {Status.RESUMED}
    assert bench.controller.stopped_by is None
    np.testing.assert_allclose(bench.plant.q, Q0 + LED, atol=0.01)  # what dry friction leaves


@pytest.mark.parametrize("smooth", [True, False], ids=["smooth", "positions only"])
def test_a_new_goal_which_begins_at_the_arm_moves_it(model, smooth):
    bench = led(model, "gravity_compensation").run(1.0)
    stood = bench.plant.q.copy()
    # A tenth of the speed limits of 3 and 4 rad/s, ten times that of a reference at rest
    bench.goal(stood + [0.3, -0.4], seconds=1.0, smooth=smooth)
    bench.run(1.5)
    assert Status.STOPPED not in bench.statuses
    assert bench.statuses[-1] is Status.TRACKING
    np.testing.assert_allclose(bench.plant.q, stood + [0.3, -0.4], atol=0.01)


@pytest.mark.parametrize("every", [1, 10, 40], ids=["1 kHz", "100 Hz", "25 Hz"])
def test_a_goal_that_passes_the_arm_does_not_move_it(model, every):
    bench = led(model, "gravity_compensation").run(0.5)
    bench.every = every
    stood = bench.plant.q.copy()
    bench.goal(stood - [0.5, 0.0], seconds=STEP, smooth=False)  # elsewhere, and rests there
    bench.run(0.2)
    bench._begin, bench._displacement = stood - [0.5, 0.0], np.array([1.0, 0.0])
    bench._since, bench._lasts = bench.now, 1.0
    bench.run(1.5)
    assert set(bench.statuses) == {Status.RESUMED}
    np.testing.assert_allclose(bench.plant.q, stood, atol=0.01)
