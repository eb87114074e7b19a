"""The generalized momentum beside the efforts of inverse dynamics, on random robots."""

import numpy as np
import pytest
from hypothesis import given

from robot_dynamics.dynamics.kernels import equations_of
from robot_dynamics.dynamics.variant import Variant
from robot_dynamics.robot import merge_fixed
from strategies import random_inertia, random_state, robots, seeds

# float64: the worst of 1000 random robots is 2e-14 of the largest effort; one sign gives 1e-1
ROUND_OFF = 1e-11


@pytest.mark.parametrize("loaded", [False, True], ids=["bare", "loaded"])
@given(robots(), seeds())
def test_the_momentum_changes_by_the_efforts_and_its_own_rate(loaded, robot, seed):
    """dp/dt = tau + rate by the complex step, for the efforts of any motion under any load."""
    tree = merge_fixed(robot)
    q, qd, qdd = random_state(robot, seed)
    rng, variant, values = np.random.default_rng(seed), Variant(), {}
    if loaded:
        tip = tree.links[-1].name
        variant = Variant(wrench_at=tip, payload_at=tip, gravity=True)
        body = random_inertia(rng)
        second = body.second_moment[np.triu_indices(3)]
        values = {
            "wrench": rng.uniform(-20.0, 20.0, 6),
            "payload": np.array([body.mass, *body.first_moment, *second]),
            "gravity": rng.uniform(-10.0, 10.0, 3),
        }
    momentum = equations_of("momentum", tree, "newton_euler", variant).function
    tau = equations_of("inverse", tree, "newton_euler", variant).function(q, qd, qdd, **values)
    h = 1e-30
    moved = momentum(q + 1j * h * qd, qd + 1j * h * qdd, **values)
    rate = momentum(q, qd, **values)["rate"]
    allowed = ROUND_OFF * (1.0 + np.abs(tau).max() + np.abs(rate).max())
    np.testing.assert_allclose(np.imag(moved["p"]) / h, tau + rate, rtol=0.0, atol=allowed)
