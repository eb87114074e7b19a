"""Sensors that are late, noisy and have gaps."""

from dataclasses import fields

import numpy as np
import pytest

from robot_dynamics.errors import ArgumentError
from robot_dynamics.simulation.sensors import Imperfections, Reading, Sensor


def reports(imperfections, count=4000):
    """Return reports of joints whose true position is the index of the report."""
    sensor = Sensor(imperfections)
    return [sensor.report(np.full(2, float(k)), np.full(2, 2.0 * k)) for k in range(count)]


def test_a_perfect_sensor_tells_the_truth():
    for k, measured in enumerate(reports(None, 10)):
        assert measured.q.tolist() == [k, k]
        assert measured.qd.tolist() == [2.0 * k, 2.0 * k]


@pytest.mark.parametrize("field", [field.name for field in fields(Imperfections)])
def test_a_sensor_is_exact_unless_what_it_tells_may_differ_from_the_truth(field):
    assert Sensor(None).exact
    given = 1 if field in ("delay", "seed", "stream") else 0.3
    random = field in ("seed", "stream")  # say which noise there is, not how much
    assert Sensor(Imperfections(**{field: given})).exact == random


def test_a_late_sensor_tells_old_states():
    told = [measured.q[0] for measured in reports(Imperfections(delay=3), 8)]
    assert told == [0, 0, 0, 0, 1, 2, 3, 4]


def test_noise_has_the_size_that_is_asked_for():
    how = Imperfections(position_noise=np.array([0.5, 0.0]), velocity_noise=0.1, seed=3)
    told = reports(how)
    off = np.array([measured.q - k for k, measured in enumerate(told)])
    rates = np.array([measured.qd - 2.0 * k for k, measured in enumerate(told)])
    # The standard deviation of 4000 numbers is known to 1 / sqrt(8000), 1.1 %; four times that
    assert off[:, 0].std() == pytest.approx(0.5, rel=0.045)
    assert not off[:, 1].any()
    assert rates.std() == pytest.approx(0.1, rel=0.045)


def test_a_reading_comes_late_with_its_effort_and_its_time():
    sensor = Sensor(Imperfections(delay=2, effort_noise=0.1, seed=4))
    still = np.zeros(2)
    told = [sensor.read(Reading(still, still, np.full(2, float(k)), k)) for k in range(400)]
    assert [reading.time for reading in told[:5]] == [0, 0, 0, 1, 2]
    off = np.array([reading.tau - reading.time for reading in told])
    # The standard deviation of 800 numbers is known to 2.5 %; four times that
    assert off.std() == pytest.approx(0.1, rel=0.1)
    assert not any(reading.q.any() for reading in told)


def test_losses_are_as_frequent_as_asked_and_repeat_with_the_seed():
    lost = [measured is None for measured in reports(Imperfections(loss=0.1, seed=1))]
    again = [measured is None for measured in reports(Imperfections(loss=0.1, seed=1))]
    assert lost == again
    # 400 of 4000, give or take four times sqrt(360)
    assert abs(sum(lost) - 400) < 76


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": 1.0}, "loss is 1.0; give a share from 0 to below 1"),
        ({"delay": -1}, "delay is -1 reports; give zero or more"),
        ({"position_noise": -0.1}, "position_noise is -0.1; give a finite number, zero or more"),
        ({"velocity_noise": np.nan}, "velocity_noise is nan; give a finite number, zero or more"),
    ],
)
def test_impossible_imperfections_are_refused(options, message):
    with pytest.raises(ArgumentError) as refusal:
        Imperfections(**options)
    assert str(refusal.value) == message


def test_stamps_are_late_but_never_go_back():
    sensor = Sensor(Imperfections(time_jitter=3.0, seed=1))
    true = np.arange(200.0)
    told = np.array(
        [sensor.read(Reading(np.zeros(1), np.zeros(1), np.zeros(1), t)).time for t in true]
    )
    assert (np.diff(told) > 0.0).all()
    assert (told - true).min() >= 0.0 and (told - true).max() <= 3.0
    assert (told - true).std() > 0.5


def test_efforts_come_in_steps_too():
    sensor = Sensor(Imperfections(effort_resolution=0.5))
    told = sensor.read(Reading(np.zeros(2), np.zeros(2), np.array([0.7, -1.3])))
    assert told.tau.tolist() == [0.5, -1.5]
