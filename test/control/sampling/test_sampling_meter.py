"""What is measured of states that come: gaps and late moments say nothing about the time after."""

import pytest

from robot_dynamics.control.sampled_loop import Sampling
from robot_dynamics.control.sampling.tuning import SamplingMeter

PERIOD = 4e-3


def fed(meter, begin, seconds, age=0.0):
    """Feed states from a time on; when the next one is due."""
    count = round(seconds / PERIOD)
    for k in range(count):
        meter.feed(begin + k * PERIOD, age)
    return begin + count * PERIOD


def is_usual(meter):
    return meter.measured == pytest.approx(Sampling.of(PERIOD, 1e-3), rel=0.02)


def test_a_gap_in_the_states_is_neither_a_period_nor_an_age():
    meter = SamplingMeter(1e-3)
    now = fed(meter, 1.0, 1.0, 1e-3) + 1.0
    for _ in range(10):
        now = fed(meter, now, 0.1, 1e-3)
        assert is_usual(meter)


def test_a_second_in_which_all_states_are_late_is_forgotten_within_another():
    meter = SamplingMeter(1e-3)
    now = fed(meter, 1.0, 2.0, 1e-3)
    now = fed(meter, now, 1.0, 5e-2)
    assert meter.measured.delay > 5e-2
    fed(meter, now, 1.1, 1e-3)
    assert is_usual(meter)


def test_a_single_late_moment_changes_nothing():
    meter = SamplingMeter(1e-3)
    now = fed(meter, 1.0, 1.5, 1e-3)
    now = fed(meter, now, 0.1, 0.2)
    fed(meter, now, 0.5, 1e-3)
    assert is_usual(meter)
