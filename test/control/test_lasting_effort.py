"""Unknown friction and load: feedback becomes a lasting effort while a joint moves."""

from dataclasses import replace

import numpy as np
import pytest

from controller_bench import Q0, READY, STEP, Bench
from robot_dynamics.control import Friction, Settings, Status

UNKNOWN = Friction(np.array([0.5, 0.1]), np.array([3.0, 1.0]))  # N m s/rad and N m, of the plant
LIMITS = np.array([40.0, 15.0])  # N m, of the URDF


def mean_error(model, **settings):
    """The mean error in the second half of a slow motion of two seconds, rad."""
    bench = Bench(model, Settings(**settings), friction=UNKNOWN).run(READY)
    bench.move(0.9, 0.1, seconds=2.0)
    bench.run(0.8)
    errors = []
    for _ in range(80):
        bench.run(0.01)
        errors.append(bench.follower.sample(bench.now).q - bench.plant.q)
    assert bench.statuses[-1] is Status.TRACKING
    return np.abs(np.mean(errors, axis=0))


@pytest.mark.parametrize("inertia_weighted", [False, True])
def test_unknown_friction_leaves_a_fraction_of_its_error(model, inertia_weighted):
    given = replace(model, inertia_weighted=inertia_weighted, friction=None)
    assert (mean_error(given) < 0.65 * mean_error(given, integral_time=0.0)).all()


def test_it_is_at_most_a_tenth_of_the_effort_limit(model):
    bench = Bench(replace(model, friction=None), Settings()).run(READY)
    bench.move(0.9, 0.1, seconds=2.0)
    for _ in range(100):
        bench.run(0.01, brakes=True)
        assert (np.abs(bench.controller.field("integral")) <= 0.1 * LIMITS + 1e-9).all()


def test_at_rest_it_stays_and_nobody_who_holds_the_arm_raises_it(model):
    bench = Bench(replace(model, friction=None), Settings(), friction=UNKNOWN).run(READY)
    bench.move(0.9, 0.1, seconds=2.0)
    bench.run(2.3)
    raised = np.abs(bench.controller.field("integral")).copy()
    assert (raised > 0.2).all()
    there = bench.plant.q + [0.02, 0.0]
    for _ in range(2000):
        bench.plant.reset(there)
        bench.run(STEP)
    # Within what is left of the motion at its very end
    assert (np.abs(bench.controller.field("integral")) < 1.05 * raised).all()


def test_an_exact_model_needs_none(model):
    bench = Bench(model, Settings(), friction=model.friction, q=Q0).run(READY)
    bench.move(0.9, 0.1, seconds=2.0)
    for _ in range(20):
        bench.run(0.1)
        # The plant integrates by steps of a millisecond, and friction has a smooth crossing
        assert (np.abs(bench.controller.field("integral")) < 0.01 * LIMITS).all()
