"""Detection of oscillations, and gains that follow the rate of the states, without an arm."""

from typing import NamedTuple

import numpy as np
import pytest

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.control import Gains, Model
from robot_dynamics.control.fields import Facts, Layout
from robot_dynamics.control.oscillation import OSCILLATION, look
from robot_dynamics.control.sampling.loop_tuning import FASTER_FOR_S, LoopTuning
from robot_dynamics.robot import find_robot

STEP = 4e-3  # s


class Found(NamedTuple):
    size: float
    frequency: float


def oscillation_of(error, seconds=2.0, speed=0.0):
    """The first oscillation in an error, a function of time in s; None if there is none."""
    layout = Layout(OSCILLATION, 1)
    state = {name: layout.of(layout.initial(), name) for name in layout}
    for t in np.arange(0.0, seconds, STEP):
        now = {"now": t, "entered": float(t == 0.0), "has_feedback": 1.0, "cause": 0.0}
        seen = {"error": np.array([error(t)]), "compared": np.array([[0.0], [speed]])}
        seen |= {"qd": np.array([speed]), "velocity": np.array([np.inf])}
        state.update(look(Facts(state, now, seen)))
        if state["oscillates"]:
            return Found(float(state["oscillating_size"]), float(state["oscillating_rate"]))
    return None


@pytest.mark.parametrize("half_period", [0.02, 0.05, 0.12])
@pytest.mark.parametrize("growth", [0.0, 3.0])  # 1/s
def test_an_even_error_that_lasts_is_an_oscillation(half_period, growth):
    found = oscillation_of(
        lambda t: 0.1 + 5e-3 * np.exp(growth * t) * np.sin(np.pi * t / half_period)
    )
    assert 0.5 / found.frequency == pytest.approx(half_period, abs=STEP)
    grown = np.exp(growth * 5.5 * half_period)  # six turns, the first after half a wave
    assert found.size == pytest.approx(1e-2 * grown, rel=0.3)


def test_what_dies_out_is_none():
    assert oscillation_of(lambda t: 0.1 * np.exp(-3.0 * t) * np.sin(np.pi * t / 0.1)) is None


@pytest.mark.parametrize("lag", [1e-3, 1.4e-3])
def test_states_that_come_unevenly_by_a_millisecond_are_none_in_motion(lag):
    even = lambda t: lag * np.sin(np.pi * t / 0.02)  # noqa: E731
    assert oscillation_of(even, speed=1.0) is None
    assert oscillation_of(even) is not None


@pytest.mark.thorough
def test_pushes_in_pairs_are_none():
    numbers = np.random.default_rng(0)
    times = np.cumsum(np.tile([0.03, 0.15], 500))
    sizes = numbers.uniform(2e-3, 2e-2, 1000) * (-1.0) ** np.arange(1000)
    assert oscillation_of(lambda t: np.interp(t, times, sizes), seconds=times[-1]) is None


def test_a_growing_oscillation_is_told_before_it_is_large():
    looked_at = []

    def error(t):
        looked_at.append(5e-4 * np.exp(40.0 * t) * np.sin(np.pi * t / 0.03))
        return looked_at[-1]

    assert oscillation_of(error) is not None
    assert np.abs(looked_at).max() < 0.2  # six turns would have taken it to 1 rad


@pytest.fixture
def tuning():
    """The tuning of an arm whose states have come at 1 kHz, and its model."""
    dynamics = Dynamics(read_urdf(find_robot("planar_2r")))
    wanted = Gains(np.full(2, 400.0), np.full(2, 40.0))
    model = Model(dynamics, wanted)
    tuning = LoopTuning(dynamics, wanted, model.bandwidth, 1e-3)
    for k in range(2000):
        tuning.feed(1e-3 * k, 0.0)
    model, _ = tuning.retune(model)
    return tuning, model


def lines_of(tuning, model, periods, *, rest):
    """Lines of a loop whose states come at these periods, s, each for `rest` s; looks at 10 Hz."""
    lines, now, bandwidths = [], 2.0, []
    for period in periods:
        for k in range(round(rest / period)):
            tuning.feed(now, 0.0)
            now += period
            if k % round(0.1 / period) == 0 and (new := tuning.retune(model)):
                model, line = new
                lines += [line] if line else []
        bandwidths.append(model.bandwidth)
    return lines, bandwidths


def test_gains_fall_at_once_rise_after_a_while_and_each_change_is_told_once(tuning):
    lines, bandwidths = lines_of(*tuning, [0.02, 1e-3, 1e-3, 1e-3], rest=1.6)
    assert len(lines) == 2
    assert bandwidths[0] == bandwidths[1] < bandwidths[2]  # 1.6 s are less than FASTER_FOR_S
    assert "states come every 20 ms" in lines[0]
    assert "gains are as given" in lines[1]


def test_a_loop_whose_rate_comes_and_goes_changes_gains_ever_less_often(tuning):
    rest = 1.75 * FASTER_FOR_S
    lines, _ = lines_of(*tuning, [0.02, 1e-3] * 10, rest=rest)
    assert len(lines) == 3  # down, up after FASTER_FOR_S, down; the next rise takes twice as long
