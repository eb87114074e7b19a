"""An arm in gravity compensation that flies off by itself is stopped."""

import numpy as np
import pytest

from controller_bench import READY, Bench
from robot_dynamics.control import Settings, Status
from robot_dynamics.control.status import Cause

LIMIT = np.array([3.0, 4.0])  # rad/s, of the URDF of the bench

CAUSES = {
    "its gravity": (lambda model, q: model.gravity(q), Cause.GRAVITY_TWICE),
    "any effort": (lambda model, q: np.array([3.0, -2.0]), Cause.OVERSPEED),
}


@pytest.mark.parametrize("added", CAUSES)
@pytest.mark.parametrize("mode", ["gravity_compensation", "pd_gravity"])
def test_an_arm_that_is_driven_from_outside_is_stopped_by_its_speed(model, mode, added):
    effort, cause = CAUSES[added]
    bench = Bench(model, Settings(mode)).run(READY)
    step = bench.plant.step
    bench.plant.step = lambda tau: step(tau + effort(model, bench.plant.q))
    speeds = []
    for _ in range(3000):
        bench.run(1e-3)
        speeds.append(np.abs(bench.plant.qd))
    if mode == "gravity_compensation":
        assert bench.controller.status is Status.STOPPED
        assert bench.controller.cause is cause
    # 1.2 times the limit stops it; it is braked at once
    assert (np.max(speeds, axis=0) < 1.6 * LIMIT).all()
    assert (np.max(speeds[-200:], axis=0) < 0.2).all()


def test_a_person_may_lead_it_within_its_limits(model):
    bench = Bench(model, Settings("gravity_compensation")).run(READY)
    bench.push(0.4, -0.4, speed=2.5)
    assert bench.controller.cause is Cause.NONE
