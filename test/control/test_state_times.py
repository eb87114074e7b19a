"""States without stamps: repeated and late ones are told by the ways of a moving arm."""

from collections import deque

import numpy as np
import pytest

from controller_bench import STEP
from faulty_bench import SAFE, Faulty, moving
from robot_dynamics.control import Settings, Status
from robot_dynamics.control.guard import Flaw

DELAY_S = 0.08


@pytest.fixture
def bench(model):
    """An arm under way whose states have no stamps."""
    bench = moving(model)
    bench.controller.arrived["unstamped"][0] = 1.0
    return bench


def test_states_that_stand_count_as_none_and_the_log_says_so(bench):
    stood = bench.plant.q.copy(), bench.plant.qd.copy()
    speeds = bench.fail(0.5, lambda k, q, qd: stood)
    assert (speeds < SAFE).all()
    assert bench.controller.status is Status.OPEN_LOOP
    assert bench.controller.field("absent")[0] == Flaw.REPEATED


def test_states_that_go_on_late_are_told_by_their_ways(bench):
    states = deque(maxlen=round(DELAY_S / STEP) + 1)

    def late(k, q, qd):
        states.append((q, qd))
        return states[0]

    speeds = bench.fail(0.5, late)
    assert (speeds < SAFE).all()
    # The first half millisecond of the way counts as time, the last may not
    assert bench.controller.field("lateness")[0] == pytest.approx(DELAY_S, abs=0.012)


def test_a_driver_at_half_the_rate_of_the_loop_loses_no_feedback(bench):
    last = []

    def half(k, q, qd):
        if k % 2 == 0:
            last[:] = q, qd
        return tuple(last)

    bench.fail(0.8, half)
    assert set(bench.statuses[-300:]) == {Status.TRACKING}
    assert bench.controller.field("behind_by")[0] == 0.0
    assert bench.controller.field("trust")[0] == 1.0


def test_an_arm_at_rest_repeats_its_states_and_stays_believed(model):
    bench = Faulty(model, Settings())
    bench.controller.arrived["unstamped"][0] = 1.0
    bench.run(0.5)
    here = bench.plant.q.copy(), np.zeros(2)
    bench.fail(1.0, lambda k, q, qd: here)
    assert bench.controller.status is Status.TRACKING


def test_a_joint_without_a_number_is_named(bench):
    controller, arrived = bench.controller, bench.controller.arrived
    for _ in range(200):
        arrived["state_q"][:], arrived["state_qd"][:] = bench.plant.q, [0.1, np.nan]
        arrived["state_new"][0] = 1.0
        controller.update(bench.now)
        bench.now += STEP
    assert controller.status is Status.OPEN_LOOP
    assert controller.field("absent")[0] == Flaw.UNREAD
    assert controller.field("absent_joint")[0] == 1.0
