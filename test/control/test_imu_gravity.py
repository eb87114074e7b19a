"""Gravity by an accelerometer: behind a low-pass, and refused where it is none."""

import numpy as np
import pytest

from robot_dynamics.control.imu_gravity import check_imu, gravity_by_imu
from robot_dynamics.control.refusals import REFUSALS

DOWN = np.array([0.0, 0.0, -9.81])


def test_gravity_turns_to_the_opposite_of_the_measurement_with_the_time_constant():
    force, gravity = np.array([4.0, -2.0, 8.6]), DOWN
    for _ in range(1000):
        gravity = gravity_by_imu(gravity, force, 1e-3, 0.5)
    # The step response of a first-order low-pass after two time constants
    np.testing.assert_allclose(gravity, DOWN - (1.0 - np.exp(-2.0)) * (DOWN + force), rtol=1e-12)


@pytest.mark.parametrize("passed", [0.0, -1.0])
def test_a_first_measurement_only_begins_the_low_pass(passed):
    assert gravity_by_imu(DOWN, np.ones(3), passed, 0.5) == pytest.approx(DOWN)


@pytest.mark.parametrize(
    ("force", "refused"),
    [
        ([0.0, 0.0, 9.81], False),
        ([0.0, 19.9, 0.0], False),
        ([0.0, 0.0, 1.0], True),  # in units of g
        ([0.0, 21.0, 0.0], True),
        ([0.0, np.nan, 9.81], True),
        ([np.inf, 0.0, 9.81], True),
    ],
)
def test_a_measurement_that_is_no_gravity_is_refused(force, refused):
    found = check_imu(np.array(force))
    name = list(REFUSALS)[int(found["refused"])]
    assert name == ("implausible_imu" if refused else "none")
    assert not refused or found["value"] == pytest.approx(np.linalg.norm(force), nan_ok=True)
