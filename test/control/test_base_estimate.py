"""Motion of a base by an IMU and by odometry, along a motion that is known in closed form."""

import numpy as np
import pytest

from robot_dynamics.control.base_estimate import BaseEstimate
from robot_dynamics.robot import find_robot, read_urdf
from robot_dynamics.simulation.base_motions import sine

GRAVITY = np.array([0.0, 0.0, -9.81])
ROBOT = read_urdf(find_robot("planar_2r"))
PERIOD = 0.001


def numbers(motion):
    return motion.numbers(ROBOT)


def test_odometry_gives_the_motion_of_a_shaking_base_but_for_the_delay_of_the_filter():
    true = sine("y", 0.05, 1.0)
    estimate = BaseEstimate(GRAVITY, 0.005, 0.1)
    for now in np.arange(0.0, 2.3, PERIOD):
        motion = true(now)
        estimate.odometry(np.array(motion.orientation), np.array(motion.twist), now, now)
    # 6 ms of delay turn a sine of 1 Hz by 4 % of its amplitude
    scale = np.abs(numbers(true(0.25))[10])
    assert np.abs(numbers(estimate.at(now)) - numbers(true(now))).max() < 0.05 * scale


def test_an_imu_beside_the_origin_gives_gravity_less_the_acceleration_of_the_origin():
    estimate, place, w = BaseEstimate(GRAVITY, 0.001, 0.1), np.array([0.2, 0.0, 0.1]), 1.5
    spin = np.array([0.0, 0.0, w])
    force = -GRAVITY + np.cross(spin, np.cross(spin, place))  # a table that turns steadily
    for now in np.arange(0.0, 0.1, PERIOD):
        estimate.imu(force, spin, place, now, now)
    found = numbers(estimate.at(now))
    expected = np.concatenate([GRAVITY, np.zeros(3), spin, np.zeros(6)])
    assert found == pytest.approx(expected, abs=1e-12)


def test_a_base_whose_measurements_stop_is_still_under_gravity_in_the_last_direction():
    estimate = BaseEstimate(GRAVITY, 0.001, 0.1)
    tilted = np.array([3.0, 0.0, 8.0])
    for now in np.arange(0.0, 1.0, PERIOD):
        estimate.imu(tilted, np.array([0.0, 0.3, 0.0]), np.zeros(3), now, now)
    assert not estimate.stale(now + 0.09)
    assert estimate.stale(now + 0.11)
    found = numbers(estimate.at(now + 0.11))
    assert found[:3] == pytest.approx(-9.81 * tilted / np.linalg.norm(tilted))
    assert not found[3:].any()
    odometry = BaseEstimate(GRAVITY, 0.001, 0.1)
    odometry.odometry(np.array([1.0, 0.0, 0.0, 0.0]), np.ones(6), 0.0, 0.0)
    assert numbers(odometry.at(0.2)) == pytest.approx([*-GRAVITY, *np.zeros(12)])


def test_a_base_stands_until_the_first_measurement():
    assert numbers(BaseEstimate(GRAVITY, 0.1, 0.1).at(0.0)) == pytest.approx(
        [*GRAVITY, *[0.0] * 12]
    )
