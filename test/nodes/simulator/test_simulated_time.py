"""Simulated time: whole steps of the integration, along a clock or counted."""

import numpy as np
import pytest

pytest.importorskip("rclpy")  # nodes are made of it

from robot_dynamics.foundation.units import NS_PER_S
from robot_dynamics.nodes.simulator.plant_setup import MAX_STEPS_PER_CYCLE, PlantTime

MS = 1_000_000
START = 1_000 * NS_PER_S


@pytest.mark.parametrize(
    ("rate", "longest", "steps"),
    [(1000.0, 1e-3, 1), (500.0, 1e-3, 2), (300.0, 1e-3, 4), (2000.0, 1e-3, 1), (1000.0, 1e-5, 100)],
)
def test_a_cycle_has_the_fewest_steps_that_are_short_enough(rate, longest, steps):
    time = PlantTime(rate, longest, 0)
    assert time.steps == steps
    assert time.steps * time.step == pytest.approx(1.0 / rate)
    assert time.step <= longest * (1.0 + 1e-9)


def test_cycles_that_jitter_by_less_than_a_step_take_the_usual_steps_and_keep_up():
    time, random = PlantTime(500.0, 1e-3, START), np.random.default_rng(1)
    for cycle in range(1, 1000):
        now = START + 2 * MS * cycle
        assert time.follow(now + round(0.3 * MS * random.uniform(-1.0, 1.0))) == 2
        assert time.ns == now


@pytest.mark.parametrize("drift", [1e-3, -1e-3])
def test_a_clock_of_another_pace_is_followed_to_within_a_step(drift):
    time, taken = PlantTime(1000.0, 1e-3, START), 0
    for cycle in range(1, 5001):
        now = START + round(cycle * MS * (1.0 + drift))
        taken += time.follow(now)
        assert abs(time.ns - now) <= MS
    assert taken == pytest.approx(5000 * (1.0 + drift), abs=1.0)


def test_a_late_cycle_makes_up_for_the_steps_that_were_missed():
    time = PlantTime(1000.0, 1e-3, START)
    assert time.follow(START + 7 * MS) == 7
    assert time.ns == START + 7 * MS


def test_a_cycle_that_is_far_too_late_leaves_out_what_it_cannot_make_up_for():
    time, now = PlantTime(1000.0, 1e-3, START), START + 60 * NS_PER_S
    assert time.follow(now) == MAX_STEPS_PER_CYCLE
    assert time.ns == now


def test_a_clock_that_was_set_back_is_followed_without_a_step():
    time, now = PlantTime(1000.0, 1e-3, START), START - NS_PER_S
    assert time.follow(now) == 0
    assert time.ns == now


def test_cycles_that_are_counted_do_not_add_up_their_rounding():
    time = PlantTime(300.0, 1e-3, 0)
    for _ in range(3000):
        time.count()
    assert time.ns == 10 * NS_PER_S
