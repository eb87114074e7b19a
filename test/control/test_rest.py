"""Rest of an arm: for a while, in position, velocity and effort."""

import numpy as np
import pytest

from robot_dynamics.control.rest import REST_S, Rest

LIMIT = np.array([100.0, np.inf])
PERIOD = 0.01
GRAVITY = np.array([20.0, 5.0])


def fed(motion, seconds=REST_S + PERIOD, effort=lambda _: GRAVITY):
    """A `Rest` that saw q(t) and its velocity for so long, every 10 ms."""
    rest = Rest(LIMIT)
    for t in np.arange(0.0, seconds, PERIOD):
        qd = (motion(t + 1e-6) - motion(t - 1e-6)) / 2e-6
        rest.feed(5.0 + t, np.array([0.3, motion(t)]), np.array([0.0, qd]), effort(t))
    return rest


def test_an_arm_that_stands_is_at_rest_after_a_while_and_not_before():
    assert fed(lambda _: 0.7).lasts
    assert not fed(lambda _: 0.7, REST_S - PERIOD).lasts


@pytest.mark.parametrize(
    "motion",
    [
        lambda t: 0.2 * (t - REST_S) ** 2,  # a turning point at the end
        lambda t: 0.2 * (t - REST_S / 2) ** 2,  # and in the middle
        lambda t: 0.01 * t,  # creeping
        lambda t: 2e-3 * np.sin(40.0 * t),  # trembling
    ],
)
def test_a_turning_point_and_slow_motions_are_no_rest(motion):
    assert not fed(motion).lasts


def test_an_effort_that_still_changes_is_no_rest():
    assert not fed(lambda _: 0.7, effort=lambda t: GRAVITY + [10.0 * t, 0.0]).lasts


def test_noise_of_the_sensors_is_no_motion():
    noise = np.random.default_rng(1)
    rest = Rest(LIMIT)
    for t in np.arange(0.0, REST_S + PERIOD, PERIOD):
        noisy = noise.normal(0.0, 2e-4, 2), noise.normal(0.0, 0.01, 2), noise.normal(0.0, 1.0, 2)
        rest.feed(t, 0.3 + noisy[0], noisy[1], GRAVITY + 0.2 * noisy[2])
    assert rest.lasts


def test_states_that_stopped_are_no_rest():
    rest = Rest(LIMIT)
    for _ in range(100):
        rest.feed(5.0, np.zeros(2), np.zeros(2), GRAVITY)
    assert not rest.lasts


def test_the_last_effort_is_that_of_the_model_and_of_a_load_that_it_does_not_know():
    rest = fed(lambda _: 0.7, effort=lambda _: GRAVITY + [12.0, 0.4])
    np.testing.assert_allclose(rest.holding_effort(GRAVITY), GRAVITY + [12.0, 0.0], rtol=1e-12)
    rubbed = fed(lambda _: 0.7, effort=lambda _: GRAVITY + [9.0, 0.1])
    np.testing.assert_array_equal(rubbed.holding_effort(GRAVITY), GRAVITY)
    np.testing.assert_array_equal(Rest(LIMIT).holding_effort(GRAVITY), GRAVITY)
