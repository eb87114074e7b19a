"""The derivative of Jacobians in time, and the acceleration that velocities make by themselves."""

import numpy as np
import pytest
from hypothesis import given

from oracles import pin_model
from robot_dynamics.kinematics import (
    frame_drift,
    frame_jacobian,
    frame_jacobian_derivative,
    joint_accelerations,
)
from robot_dynamics.robot import find_robot, read_urdf
from strategies import random_state, robots, seeds


@given(robots(), seeds())
def test_derivative_and_drift_agree_with_pinocchio(robot, seed):
    q, qd, _ = random_state(robot, seed)
    frame = robot.links[-1].name
    oracle = pin_model(robot)
    Jd, drift = (f(q, qd, frame) for f in (oracle.frame_jacobian_derivative, oracle.frame_drift))
    # float64 on both sides, sums of some 100 terms; a wrong sign gives 1e-1
    size = 1e-12 * (10.0 + np.max(np.abs(Jd), initial=0.0) + np.max(np.abs(drift)))
    assert np.max(np.abs(frame_jacobian_derivative(robot, q, qd, frame) - Jd), initial=0.0) < size
    assert np.max(np.abs(frame_drift(robot, q, qd, frame) - drift)) < size


@given(robots(), seeds())
def test_derivative_times_velocities_is_the_drift(robot, seed):
    q, qd, _ = random_state(robot, seed)
    frame = robot.links[-1].name
    drift = frame_drift(robot, q, qd, frame)
    found = frame_jacobian_derivative(robot, q, qd, frame) @ qd
    assert np.max(np.abs(found - drift)) < 1e-12 * (10.0 + np.max(np.abs(drift)))


def test_joint_accelerations_make_the_wanted_acceleration():
    robot = read_urdf(find_robot("ur5"))
    q, qd, _ = random_state(robot, 4)
    wanted = np.array([0.3, -0.2, 0.5, 0.1, 0.4, -0.6])
    qdd = joint_accelerations(robot, q, qd, wanted, "tool0")
    J = frame_jacobian(robot, q, "tool0")
    found = J @ qdd + frame_jacobian_derivative(robot, q, qd, "tool0") @ qd
    assert found == pytest.approx(wanted, abs=1e-12)  # condition of J times round-off
    part = joint_accelerations(robot, q, qd, wanted[:3], "tool0", task=("x", "y", "z"))
    assert np.linalg.norm(part) < np.linalg.norm(qdd)  # the least of all that move the point so
    found = J @ part + frame_jacobian_derivative(robot, q, qd, "tool0") @ qd
    assert found[:3] == pytest.approx(wanted[:3], abs=1e-12)
