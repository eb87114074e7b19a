"""An arm in gravity compensation that flies off by itself is stopped."""

import numpy as np
import pytest

from controller_bench import READY, Bench
from robot_dynamics.control import Settings, Status
from robot_dynamics.control.status import Cause

LIMIT = np.array([3.0, 4.0])  # rad/s, of the URDF of the bench


@pytest.mark.parametrize("mode", ["gravity_compensation", "pd_gravity"])
def test_an_arm_whose_gravity_counts_twice_is_stopped_by_its_speed(model, mode):
    bench = Bench(model, Settings(mode)).run(READY)
    step = bench.plant.step
    bench.plant.step = lambda tau: step(tau + model.gravity(bench.plant.q))
    speeds = []
    for _ in range(3000):
        bench.run(1e-3)
        speeds.append(np.abs(bench.plant.qd))
    if mode == "gravity_compensation":
        assert bench.controller.status is Status.STOPPED
        assert bench.controller.cause is Cause.OVERSPEED
    # 1.2 times the limit stops it; it is braked at once
    assert (np.max(speeds, axis=0) < 1.6 * LIMIT).all()
    assert (np.max(speeds[-200:], axis=0) < 0.2).all()


def test_a_hand_may_lead_it_within_its_limits(model):
    bench = Bench(model, Settings("gravity_compensation")).run(READY)
    bench.push(0.4, -0.4, speed=2.5)
    assert bench.controller.cause is Cause.NONE
