"""Recordings of real robots, where ROBOT_DYNAMICS_RECORDINGS says they are."""

import functools
import os
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics import Dynamics
from robot_dynamics.control import Gains, Model, effort_limits
from robot_dynamics.control.friction import MEASURED_JUMP, FrictionMemory
from robot_dynamics.identification import Recording, identify
from robot_dynamics.identification.online.payload_estimate import PayloadEstimate
from robot_dynamics.identification.online.residuals import FilteredMotion, Residuals, unexplained
from robot_dynamics.recordings.signals import signals
from robot_dynamics.robot import find_robot, read_urdf

FOLDER = os.environ.get("ROBOT_DYNAMICS_RECORDINGS")
if not FOLDER:
    pytest.skip("ROBOT_DYNAMICS_RECORDINGS names no folder of recordings", allow_module_level=True)

# Percent by joint that plain weighted least squares with viscous and Coulomb friction and offset
# leaves of the last 30 % when it is fitted on the first 70 %
PLAIN_UR10 = (16.7, 6.6, 5.8, 12.8, 13.3, 15.7)


@functools.cache
def split(name):
    """Robot, what was found on the first 70 %, and the last 30 %."""
    if name == "ur10":
        robot, file = read_urdf(find_robot("ur10")), "ur10/ur10_exciting_trajectory.db3"
    else:
        robot = read_urdf(find_robot("panda")).with_locked({"panda_finger_joint1": 0.0})
        file = "fer/panda_exciting_trajectory.db3"
    recording = Recording.read(Path(FOLDER) / file, robot)
    middle = 0.7 * recording.duration
    found = identify(robot, recording.between(0.0, middle))
    return robot, found, recording.between(middle, np.inf)


def percent(model, motion):
    residual = motion.tau - model.efforts(motion)
    return 100 * np.sqrt(np.sum(residual**2, axis=0) / np.sum(motion.tau**2, axis=0))


@pytest.mark.thorough
def test_a_ur10_fits_held_out_data_better_than_by_plain_least_squares_in_every_joint():
    _, found, last = split("ur10")
    error = 100 * np.sqrt(
        np.sum((found.predict(last) - last.tau) ** 2, axis=0) / np.sum(last.tau**2, axis=0)
    )
    assert (error < PLAIN_UR10).all(), error
    assert error.mean() < 0.9 * np.mean(PLAIN_UR10)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["ur10", "fer"])
def test_bodies_that_exist_fit_as_well_as_any_to_within_three_tenths_of_a_percent(name):
    _, found, last = split(name)
    motion = signals(last, found.cutoff)
    assert percent(found.model, motion).mean() < percent(found.free, motion).mean() + 0.3


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["ur10", "fer"])
def test_mass_matrix_is_positive_definite_at_ten_thousand_poses(name):
    robot = split(name)[1].robot
    q = np.random.default_rng(0).uniform(-np.pi, np.pi, (10_000, robot.dof))
    assert np.linalg.eigvalsh(Dynamics(robot).mass_matrix(q)).min() > 0.0


def test_joints_of_a_panda_are_found_under_another_prefix():
    robot, found, _ = split("fer")
    assert robot.joint_names[0] == "panda_joint1"
    assert found.report.fits[1].relative < 0.02  # the shoulder carries the arm


@pytest.mark.parametrize(("name", "frame"), [("ur10", "tool0"), ("fer", "panda_link8")])
def test_a_monitor_of_an_identified_arm_sees_neither_misfit_nor_load(name, frame):
    _, found, last = split(name)
    n, limit = found.robot.dof, effort_limits(found.robot)
    gains = Gains(np.zeros(n), np.zeros(n))
    model = Model(Dynamics(found.robot), gains, found.friction, rotor_inertia=found.rotor_inertia)
    motion = FilteredMotion(4.0, np.zeros(n, dtype=bool))
    residuals = Residuals(limit, window=5.0, share=0.05, patience=2.0)
    load, looked = PayloadEstimate(frame, limit, memory=10.0), 0.0
    qd = np.gradient(last.q, last.time, axis=0) if last.qd is None else last.qd
    way = FrictionMemory(found.friction, MEASURED_JUMP)
    for k, (t, *state) in enumerate(zip(last.time, last.q, qd, last.tau, strict=True)):
        way.follow(state[0])
        motion.feed(t, *state, way.direction)
        if motion.settled and k % 20 == 0:
            dt, looked = t - looked if looked else 0.0, t
            residuals.update(unexplained(model, motion).residual, dt)
            load.update(model, motion, dt)
    assert (residuals.shares < 0.02).all(), residuals.shares
    # Nothing was carried beyond what the fit saw; both weigh a load of 0.1 kg and more
    assert load.value.known
    assert load.value.mass < 0.1
