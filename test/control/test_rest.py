"""Rest of an arm: for a while, in position and effort, under the noise of its states."""

import numpy as np
import pytest

from choices import first
from controller_bench import READY, STEP, Bench
from robot_dynamics.control import Controller, Measured, Settings
from robot_dynamics.control.gains import DEFAULT_BANDWIDTH
from robot_dynamics.control.rest import REST_S, SPEED, Rest, holding_effort
from robot_dynamics.control.sampled_loop import Sampling
from robot_dynamics.control.sampling.tuning import Tuner

PERIOD = 0.01
LIMIT = np.array([100.0, np.inf])
GRAVITY = np.array([20.0, 5.0])
LONGEST_STOP_S = 3.0  # of controller_node
SEEDS = 8


def fed(motion, seconds=1.0, noise=0.0, period=PERIOD):
    """A `Rest` that saw q(t) for so long."""
    rest, rng = Rest(), np.random.default_rng(1)
    for t in np.arange(0.0, seconds, period):
        rest.feed(5.0 + t, np.array([0.3, motion(t)]) + rng.normal(0.0, noise, 2))
    return rest


def test_an_arm_that_stands_is_at_rest_after_a_while_and_not_before():
    assert fed(lambda _: 0.7, REST_S + 2 * PERIOD).lasts
    assert not fed(lambda _: 0.7, REST_S - PERIOD).lasts


@pytest.mark.parametrize(
    "motion",
    [
        lambda t: 0.2 * (t - 1.0) ** 2,  # a turning point at the end
        lambda t: 0.2 * (t - 0.5) ** 2,  # and in the middle
        lambda t: 1.3 * SPEED * t,  # creeping
        lambda t: 2e-3 * np.sin(40.0 * t),  # trembling
    ],
)
def test_a_turning_point_and_slow_motions_are_no_rest(motion):
    assert not fed(motion).lasts


def test_a_falling_arm_is_no_rest():
    """It leaves an unstable pose with 5 rad/s, as the arm of test_last_command does."""
    assert not fed(lambda t: 1e-4 * np.exp(5.0 * t)).lasts


def test_states_that_stopped_are_no_rest():
    rest = Rest()
    for _ in range(100):
        rest.feed(5.0, np.zeros(2))
    assert not rest.lasts


class NoisyBench(Bench):
    """A bench whose states have noise, some milliseconds apart."""

    def noise(self, seed, position, velocity, milliseconds):
        self.rng, self.sizes = np.random.default_rng(seed), (position, velocity)
        self.every, self.cycle = milliseconds, 0
        return self

    def run(self, seconds, until=lambda: False):
        for _ in range(round(seconds / STEP)):
            if self.cycle % self.every == 0:
                true = self.plant.q, self.plant.qd
                noisy = (
                    x + self.rng.normal(0.0, s, 2) for x, s in zip(true, self.sizes, strict=True)
                )
                self.controller.set_state(Measured(*noisy), self.now)
                self._refer()
                self.efforts.append(self.controller.update(self.now).tau)
                if until():
                    return True
            self.plant.step(self.efforts[-1])
            self.cycle += 1
            self.now += STEP
        return False


@pytest.mark.parametrize("milliseconds", first([4], [1, 4, 10]))
@pytest.mark.parametrize(
    ("position", "velocity"), first([(3e-4, 0.02)], [(0.0, 0.005), (1e-4, 0.01), (3e-4, 0.02)])
)
def test_an_arm_comes_to_rest_under_the_noise_of_its_states(
    model, position, velocity, milliseconds
):
    sampling = Sampling.of(1e-3 * milliseconds)
    fitting = Tuner(model.dynamics).model(model, model.gains, DEFAULT_BANDWIDTH, sampling)
    late = []
    for seed in range(SEEDS):
        bench = NoisyBench(fitting).noise(seed, position, velocity, milliseconds)
        bench.run(READY)
        bench.move(0.6, -0.4, seconds=0.6)
        bench.run(0.5)
        assert not bench.controller.rests
        bench.controller.halt()
        if not bench.run(LONGEST_STOP_S, until=lambda bench=bench: bench.controller.rests):
            late.append(seed)
        # Noise of positions moves the arm by feedback
        assert np.abs(bench.plant.qd).max() < 2.0 * SPEED + 5.0 * velocity + 20.0 * position
    assert not late


def test_encoders_of_twelve_bits_are_no_motion():
    count = 2.0 * np.pi / 4096
    rng = np.random.default_rng(2)
    rest = Rest()
    for t in np.arange(0.0, 1.0, PERIOD):
        rest.feed(t, count * np.round((0.3 + rng.normal(0.0, 1e-4, 2)) / count))
    assert rest.lasts


def test_an_arm_whose_effort_still_changes_is_not_at_rest(model):
    controller = Controller(model, Settings())
    q, now = np.array([0.3, -0.7]), 5.0
    for k in range(1000):
        now += 1e-3
        controller.set_state(Measured(q + 1e-6 * k, np.zeros(2)), now)
        controller.update(now)
        if k == 600:
            assert controller.rests
            payload = model.dynamics.robot.gravity * 3.0
            controller._arrived["gravity_goal"][:] = payload
            controller._set["load_ramp"][0] = 1.0
    assert not controller.rests


def test_the_last_effort_is_that_of_the_model_and_of_a_load_that_it_does_not_know():
    held = holding_effort(GRAVITY, GRAVITY + [12.0, 0.4], LIMIT, 1.0)
    np.testing.assert_allclose(held, GRAVITY + [12.0, 0.0], rtol=1e-12)
    held = holding_effort(GRAVITY, GRAVITY + [9.0, 0.1], LIMIT, 1.0)
    np.testing.assert_array_equal(held, GRAVITY)


def test_an_arm_that_has_not_come_to_rest_is_held_by_the_model_alone(model):
    controller = Controller(model, Settings())
    np.testing.assert_array_equal(controller.holding_effort(GRAVITY), GRAVITY)
