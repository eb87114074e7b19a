"""What the last moments of an arm tell of it when its states have stopped."""

import numpy as np
import pytest

from robot_dynamics.control import Measured
from robot_dynamics.control.sampling.dead_reckoning import MOST_SHARE, DeadReckoning
from robot_dynamics.simulation import Plant

STEP = 1e-3
QD = np.array([0.8, -0.6])
# Differences over 50 ms of an arm whose efforts hold it at a steady speed
ACCURACY = 0.05  # N m


@pytest.fixture
def limit(model):
    return model.dynamics.robot.limits.effort


def observed(model, extra, steps=100, start=0.0):
    """An arm that goes on steadily, which takes `extra` more than its model says."""
    reckoning, q = DeadReckoning(2), np.array([0.2, 0.9])
    for k in range(steps):
        now = start + STEP * k
        reckoning.note_state(now, Measured(q, QD))
        reckoning.note_effort(now, model.feedforward(q, QD, np.zeros(2)) + extra)
        q = q + STEP * QD
    reckoning.note_state(start + STEP * steps, Measured(q, QD))
    return reckoning, q


def test_what_efforts_do_beyond_the_model_is_what_is_lost(model, limit):
    reckoning, _ = observed(model, extra := np.array([2.0, 1.0]))
    reckoning.estimate(model, limit)
    np.testing.assert_allclose(reckoning.disturbance, extra, atol=ACCURACY)


def test_what_went_against_the_motion_ends_with_it_and_a_load_stays(model, limit):
    reckoning, _ = observed(model, np.array([2.0, 1.0]))  # the second joint moves the other way
    reckoning.estimate(model, limit)
    np.testing.assert_allclose(reckoning.disturbance_at(QD), [2.0, 1.0], atol=ACCURACY)
    np.testing.assert_allclose(reckoning.disturbance_at(QD / 2.0), [1.0, 1.0], atol=ACCURACY)
    np.testing.assert_allclose(reckoning.disturbance_at(np.zeros(2)), [0.0, 1.0], atol=ACCURACY)


def test_a_collision_is_no_friction(model, limit):
    reckoning, _ = observed(model, 5.0 * limit)
    reckoning.estimate(model, limit)
    np.testing.assert_allclose(reckoning.disturbance, MOST_SHARE * limit)


def test_states_before_a_silence_tell_nothing(model, limit):
    reckoning, q = observed(model, np.array([2.0, 1.0]))
    reckoning.note_effort(5.0, np.zeros(2))
    reckoning.note_state(5.0, Measured(q, QD))
    reckoning.estimate(model, limit)
    assert not reckoning.disturbance.any()


def test_an_arm_is_predicted_where_its_efforts_take_it(model, limit):
    q, qd = np.array([0.3, 0.5]), np.array([0.5, -0.4])
    plant = Plant(model.dynamics.robot, q, dynamics=model.dynamics, step=STEP)
    plant.reset(q, qd)
    reckoning = DeadReckoning(2)
    tau = model.gravity(q) + [1.0, -0.5]
    for k in range(100):
        reckoning.note_effort(STEP * k, tau)
        plant.step(tau)
    state = reckoning.predicted_state(model, Measured(q, qd), 0.0, 0.1)
    # The midpoint rule in steps of 4 ms over 0.1 s, and friction that the model lacks: 0.3 N m
    np.testing.assert_allclose(state.q, plant.q, atol=0.01)
