"""A joint that is pushed to the end of its range is named as such."""

import numpy as np

from controller_bench import READY, Bench
from robot_dynamics.control import Settings, Status
from robot_dynamics.control.status import Cause


def stopped(model, lower):
    """A controller whose reference moves on while something holds the first joint."""
    settings = Settings(tracking_limit=np.array([0.2, 0.2]))
    bench = Bench(model, settings)
    bench.controller.settings_vector("lower")[0] = lower  # as of a robot of that range
    bench.run(READY)
    bench.move(-0.5, -0.7, seconds=1.0)
    held = bench.plant.q.copy()
    for _ in range(800):
        bench.run(1e-3)
        if bench.plant.q[0] < held[0] - 0.05:
            bench.plant.reset([held[0] - 0.05, bench.plant.q[1]], [0.0, bench.plant.qd[1]])
    assert bench.controller.status is Status.STOPPED
    return bench.controller


def test_a_joint_at_the_end_of_its_range(model):
    controller = stopped(model, 0.245)
    assert controller.cause is Cause.END_OF_RANGE
    assert "0.005 rad from the end of its range" in controller.stopped_by


def test_one_that_is_held_elsewhere(model):
    assert stopped(model, -3.0).cause in (Cause.TRACKING_ERROR, Cause.STANDING)
