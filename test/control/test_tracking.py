"""Tracking: the efforts of a law along a known motion, within limits."""

import numpy as np
import pytest

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.control import Measured, Model, Settings, gains_for
from robot_dynamics.control.tracking import Tracking
from robot_dynamics.errors import ArgumentError, ShapeError
from robot_dynamics.robot import find_robot
from robot_dynamics.trajectory.trajectory import State

REST, AWAY = np.zeros(2), np.array([1.0, -1.0])
ROUND_OFF = 1e-10  # of efforts of 1000 N m


@pytest.fixture(scope="module")
def model():
    dynamics = Dynamics(read_urdf(find_robot("planar_2r")))
    return Model(dynamics, gains_for(dynamics))


def effort(model, limit=None):
    """Efforts of an arm at rest, away from the desired positions."""
    tracking = Tracking(model, Settings("pd_gravity", fade=0.0), limit)
    return tracking.effort(State(AWAY, REST, REST), Measured(REST, REST), 1e-3)


def test_springs_and_gravity_act_up_to_the_limit(model):
    expected = model.dynamics.gravity(REST) + model.gains.kp * AWAY
    for limit in (np.inf, [5.0, 2000.0], 3.0):
        bound = np.clip(expected, -np.asarray(limit), np.asarray(limit))
        np.testing.assert_allclose(effort(model, limit), bound, rtol=0.0, atol=ROUND_OFF)


@pytest.mark.parametrize(
    ("limit", "error", "message"),
    [
        ([1.0, 2.0, 3.0], ShapeError, r"^limit has shape \(3,\) for 2 joints; give one number"),
        ([1.0, -2.0], ArgumentError, r"^limit\[1\] is -2.0; give a number, zero or more$"),
        (np.nan, ArgumentError, r"^limit\[0\] is nan; give a number, zero or more$"),
    ],
)
def test_a_limit_that_bounds_nothing_is_named(model, limit, error, message):
    with pytest.raises(error, match=message):
        effort(model, limit)
