"""An arm that waits for its reference says which joint is away, or that two sources send it."""

import numpy as np
import pytest

from controller_bench import READY, Bench
from robot_dynamics.control import Reference, Settings, Status
from robot_dynamics.control.guard import Flaw


def test_the_joint_that_is_farthest_away_is_named(model):
    bench = Bench(model, Settings()).run(READY)
    bench.follower.hold(bench.plant.q + [0.1, -0.6])
    bench.run(0.5)
    field = bench.controller.field
    assert bench.controller.status is Status.RESUMED
    assert field("reason")[0] == Flaw.AWAY
    assert field("reason_joint")[0] == 1.0
    assert field("reason_value")[0] == pytest.approx(0.6, abs=0.02)


def test_two_sources_are_told_by_their_leaps(model):
    bench = Bench(model, Settings()).run(READY)
    here, there, none = bench.plant.q.copy(), bench.plant.q + 0.5, np.zeros(2)
    for k in range(300):
        q = here if k % 2 else there
        bench.controller.set_reference(Reference(q, none, model.gravity(q)), bench.now)
        bench.run(1e-3, references=False)
    assert bench.controller.status is Status.RESUMED
    assert bench.controller.field("reason")[0] == Flaw.LEAPS


def test_a_reference_at_the_arm_is_followed_without_a_word(model):
    bench = Bench(model, Settings()).run(READY + 0.2)
    assert bench.controller.status is Status.TRACKING
    assert bench.controller.field("reason")[0] == Flaw.NONE
