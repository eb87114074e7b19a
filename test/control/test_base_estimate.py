"""Motion of a base by an IMU and by odometry, along a motion that is known in closed form."""

import re

import numpy as np
import pytest

from robot_dynamics.control.base_estimate import FADE_S, BaseEstimate
from robot_dynamics.errors import ArgumentError
from robot_dynamics.robot import find_robot, read_urdf
from robot_dynamics.simulation.base_motions import Sine

GRAVITY = np.array([0.0, 0.0, -9.81])
ROBOT = read_urdf(find_robot("planar_2r"))
PERIOD = 0.001
UP, STILL, HERE = -GRAVITY, np.zeros(3), np.zeros(3)


def numbers(motion):
    return motion.numbers(ROBOT)


def test_odometry_gives_the_motion_of_a_shaking_base_but_for_the_delay_of_the_filter():
    true = Sine("y", 0.05, 1.0)
    estimate = BaseEstimate(GRAVITY, 0.005, 0.1)
    for now in np.arange(0.0, 2.3, PERIOD):
        motion = true(now)
        estimate.odometry(np.array(motion.orientation), np.array(motion.twist), now, now)
    # 6 ms of delay turn a sine of 1 Hz by 4 % of its amplitude
    scale = np.abs(numbers(true(0.25))[10])
    assert np.abs(estimate.at(now) - numbers(true(now))).max() < 0.05 * scale


def test_an_imu_beside_the_origin_gives_gravity_less_the_acceleration_of_the_origin():
    estimate, place, w = BaseEstimate(GRAVITY, 0.001, 0.1), np.array([0.2, 0.0, 0.1]), 1.5
    spin = np.array([0.0, 0.0, w])
    force = UP + np.cross(spin, np.cross(spin, place))  # a table that turns steadily
    for now in np.arange(0.0, 0.1, PERIOD):
        estimate.imu(force, spin, place, now, now)
    expected = np.concatenate([GRAVITY, np.zeros(3), spin, np.zeros(6)])
    assert estimate.at(now) == pytest.approx(expected, abs=1e-12)


def test_a_base_whose_measurements_stop_fades_to_rest_under_gravity_in_the_last_direction():
    estimate = BaseEstimate(GRAVITY, 0.001, 0.1)
    tilted, spin = np.array([3.0, 0.0, 8.0]), np.array([0.0, 0.3, 0.0])
    moving = np.concatenate([-tilted, np.zeros(3), spin, np.zeros(6)])
    still = np.append(-9.81 * tilted / np.linalg.norm(tilted), np.zeros(12))
    for now in np.arange(0.0, 1.0, PERIOD):
        estimate.imu(tilted, spin, HERE, now, now)
    end = now + 0.1
    assert not estimate.stale(end - 0.01)
    assert estimate.at(end - 0.01) == pytest.approx(moving)
    assert estimate.stale(end + 0.01)
    estimate.at(end)
    assert estimate.at(end + FADE_S / 4.0) == pytest.approx(0.75 * moving + 0.25 * still)
    assert estimate.at(end + FADE_S) == pytest.approx(still)
    assert estimate.still == pytest.approx(still)
    estimate.imu(tilted, spin, HERE, end + 1.0, end + FADE_S)  # back, without a step
    assert estimate.at(end + 1.25 * FADE_S) == pytest.approx(0.25 * moving + 0.75 * still)
    assert estimate.at(end + 2.0 * FADE_S) is estimate.at(end + 2.0 * FADE_S)
    odometry = BaseEstimate(GRAVITY, 0.001, 0.1)
    odometry.odometry(np.array([1.0, 0.0, 0.0, 0.0]), np.ones(6), 0.0, 0.0)
    assert odometry.at(0.2) == pytest.approx([*UP, *np.zeros(12)])


def test_a_base_stands_until_the_first_measurement():
    estimate = BaseEstimate(GRAVITY, 0.1, 0.1)
    assert not estimate.received
    assert estimate.at(0.0) == pytest.approx([*GRAVITY, *[0.0] * 12])


FORCE = "linear_acceleration of {} m/s^2 is not within 3 to 100"
VELOCITY = "a velocity is not finite, or above 50 m/s, 35 rad/s"
STAMP = "the stamp is not after that of the message before"


@pytest.mark.parametrize(
    "force, spin, stamp, fault",
    [
        ((0.0, np.nan, 9.81), (0.0, 0.0, 0.0), 1.01, FORCE.format("nan")),
        ((0.0, 0.0, 1.0), (0.0, 0.0, 0.0), 1.01, FORCE.format("1")),
        ((0.0, 200.0, 0.0), (0.0, 0.0, 0.0), 1.01, FORCE.format("200")),
        (UP, (np.nan, 0.0, 0.0), 1.01, VELOCITY),
        (UP, (0.0, 90.0, 0.0), 1.01, VELOCITY),
        (UP, (0.0, 0.0, 30.0), 1.01, "a velocity jumps"),
        (UP, (0.0, 0.0, 0.0), 1.0, STAMP),
        (UP, (0.0, 0.0, 0.0), 0.98, STAMP),
    ],
)
def test_an_implausible_measurement_is_refused_and_changes_nothing(force, spin, stamp, fault):
    estimate = BaseEstimate(GRAVITY, 0.01, 0.1)
    estimate.imu(np.array([1.0, 2.0, 9.0]), STILL, HERE, 1.0, 1.0)
    before = estimate.at(1.0)
    with pytest.raises(ArgumentError, match=re.escape(fault)):
        estimate.imu(np.array(force), np.array(spin), HERE, stamp, 1.01)
    assert estimate.at(1.05) is before
    assert estimate.stale(1.105)  # and does not count as a message


def test_a_clock_that_is_set_back_begins_anew():
    estimate = BaseEstimate(GRAVITY, 0.01, 0.1)
    estimate.imu(UP, STILL, HERE, 1000.0, 1.0)
    estimate.imu(np.array([0.0, 3.0, 9.0]), STILL, HERE, 5.0, 1.01)
    assert estimate.at(1.02)[:3] == pytest.approx([0.0, -3.0, -9.0])


def test_odometry_without_a_unit_quaternion_is_refused():
    estimate = BaseEstimate(GRAVITY, 0.01, 0.1)
    with pytest.raises(ArgumentError, match="orientation is a quaternion of length 0, not 1"):
        estimate.odometry(np.zeros(4), np.zeros(6), 0.0, 0.0)
