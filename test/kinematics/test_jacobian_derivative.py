"""The derivative of Jacobians in time, and the acceleration that velocities make by themselves."""

import numpy as np
import pytest
from hypothesis import given

from oracles import pin_model
from robot_dynamics.errors import ArgumentError, UnknownNameError
from robot_dynamics.kinematics import (
    frame_drift,
    frame_jacobian,
    frame_jacobian_derivative,
    frame_pose,
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


TASKS = {
    "position only": (("x", "y", "z"), "root"),
    "free tool axis": (("x", "y", "z", "rx", "ry"), "frame"),
    "height and tool axis": (("z", "rx", "ry"), "root"),
}


@pytest.mark.parametrize("name", TASKS)
def test_a_partial_task_is_met_by_the_least_joint_accelerations_or_those_nearest_to_a_wish(name):
    task, axes = TASKS[name]
    robot = read_urdf(find_robot("ur5"))
    q, qd, _ = random_state(robot, 4)
    rng = np.random.default_rng(2)
    wanted, wish = rng.normal(size=len(task)), rng.normal(size=6)
    h = 1e-4  # s: differences of second order of the motion, error h^2 and 1e-16 / h^2

    def seen(preferred=None):
        qdd = joint_accelerations(
            robot, q, qd, wanted, "tool0", selection=task, axes=axes, preferred=preferred
        )
        X = [
            frame_pose(robot, q + s * h * qd + 0.5 * (s * h) ** 2 * qdd, "tool0")
            for s in (-1, 0, 1)
        ]
        back, R, on = (x.rotation for x in X)
        linear = (X[0].translation - 2 * X[1].translation + X[2].translation) / h**2
        skew = (on @ R.T - R @ back.T) / h**2  # of the mean rates of both halves
        angular = 0.5 * np.array(
            [skew[2, 1] - skew[1, 2], skew[0, 2] - skew[2, 0], skew[1, 0] - skew[0, 1]]
        )
        if axes == "frame":
            linear, angular = R.T @ linear, R.T @ angular
        rows = [("x", "y", "z", "rx", "ry", "rz").index(direction) for direction in task]
        return qdd, np.concatenate([linear, angular])[rows]

    qdd, found = seen()
    assert found == pytest.approx(wanted, abs=1e-5)
    other, found = seen(wish)
    assert found == pytest.approx(wanted, abs=1e-5)
    assert np.linalg.norm(qdd) < np.linalg.norm(other)
    assert np.linalg.norm(other - wish) < np.linalg.norm(qdd - wish)


def test_a_task_without_directions_with_one_twice_or_in_other_axes_is_refused():
    robot, at = read_urdf(find_robot("ur5")), np.zeros(6)
    for task in ((), ("x", "x")):
        with pytest.raises(ArgumentError, match="selection takes one direction or more of x y z"):
            joint_accelerations(robot, at, at, np.zeros(len(task)), "tool0", selection=task)
    with pytest.raises(UnknownNameError, match="no axes 'tool' in a selection"):
        joint_accelerations(robot, at, at, at, "tool0", axes="tool")
