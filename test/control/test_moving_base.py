"""Control laws of an arm on a base that moves: their efforts, and tracking with an IMU."""

from dataclasses import replace

import numpy as np
import pytest

from choices import first
from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.control import Controller, Measured, Model, Reference, Settings, gains_for
from robot_dynamics.control.base_estimate import BaseEstimate
from robot_dynamics.control.laws import ALL_MODES, pd_feedforward
from robot_dynamics.control.task import Task
from robot_dynamics.control.tracking import Tracking
from robot_dynamics.robot import find_robot
from robot_dynamics.robot.base_motion import BaseMotion
from robot_dynamics.simulation import Plant
from robot_dynamics.simulation.base_motions import read_base_motion
from robot_dynamics.trajectory.trajectory import State

ROBOT = read_urdf(find_robot("ur5"))
ROUND_OFF = 1e-9  # of efforts of 100 N m in kernels of a few thousand operations
BASE = BaseMotion(
    twist=(0.3, -0.2, 0.1, 0.4, -0.7, 0.9),
    acceleration=(1.0, -2.0, 0.5, 0.8, -0.6, 1.2),
    gravity=(1.0, 2.0, -9.0),
)


@pytest.mark.parametrize("mode", first(["feedforward", "cartesian_impedance"], ALL_MODES))
def test_the_efforts_of_a_law_have_the_motion_of_the_base(mode):
    dynamics = Dynamics(ROBOT)
    model = Model(dynamics, gains_for(dynamics))
    rng = np.random.default_rng(7)
    q, qd, q_d, qd_d, qdd_d = rng.uniform(-1.0, 1.0, (5, ROBOT.dof))

    def effort(model):
        task = Task(model, "tool0") if ALL_MODES[mode].in_task_space else None
        free = np.full(ROBOT.dof, np.inf)
        tracking = Tracking(model, Settings(mode, fade=0.0), free, task)
        desired = State(q_d, qd_d, qdd_d)
        tau = model.inverse(q_d, qd_d, qdd_d)
        return tracking.effort(desired, Measured(q, qd), 1e-3, tau)

    moving = Dynamics(ROBOT, base="moving")
    bias = moving.bias(q, qd, base=BASE).tau - dynamics.bias(q, qd)
    at_rest = moving.bias(q, 0.0 * qd, base=BASE).tau - dynamics.gravity(q)
    desired = moving.bias(q_d, qd_d, base=BASE).tau - dynamics.bias(q_d, qd_d)
    expected = {
        "feedforward": desired,
        "pd": 0.0,
        "pd_gravity": at_rest,
        "gravity_compensation": at_rest,
    }.get(mode, bias)
    found = effort(replace(model, base=BASE)) - effort(model)
    assert found == pytest.approx(expected, abs=ROUND_OFF)


@pytest.mark.parametrize("motion", first(["sine:ry:0.2:1"], ["sine:x:0.05:1", "sine:ry:0.2:1"]))
def test_an_imu_beside_the_origin_takes_most_of_the_error_by_a_shaking_base_away(motion):
    arm, base = read_urdf(find_robot("planar_2r")), read_base_motion(motion)
    dynamics, place, period = Dynamics(arm), np.array([0.1, 0.0, 0.2]), 0.002
    standing, q = Model(dynamics, gains_for(dynamics)), np.array([0.4, 0.8])

    def error(model, estimate=None):
        plant, errors = Plant(arm, q, base=base, step=period), []
        for t in np.arange(0.0, 1.5, period):
            if estimate is not None:
                gravity, v, w, a, wd = np.split(base(t).numbers(arm), (3, 6, 9, 12))
                force = a + np.cross(w, v) - gravity
                force += np.cross(wd, place) + np.cross(w, np.cross(w, place))
                estimate.imu(force, w, place, t, t)
                model = replace(model, base=estimate.at(t))
            tau = model.feedforward(q, 0.0 * q, 0.0 * q)
            measured = Measured(plant.q, plant.qd)
            plant.step(pd_feedforward(Reference(q, 0.0 * q, tau), measured, model.gains))
            errors.append(plant.q - q)
        return np.sqrt(np.mean(np.square(errors[250:]), axis=0))  # after the first transient

    unknown, known = error(standing), error(standing, BaseEstimate(arm.gravity, 0.004, 0.1))
    # 5 ms of delay turn a sine of 1 Hz by 3 % of its amplitude; a wrong sign doubles the error
    assert (known < 0.1 * unknown).all()


def test_a_base_that_moves_in_every_cycle_acts_at_once():
    """A fade that begins anew in every cycle would keep the efforts of the first one."""
    dynamics, q, period = Dynamics(ROBOT), np.full(ROBOT.dof, 0.3), 0.002
    model = Model(dynamics, gains_for(dynamics), base=BASE)
    controller, errors = Controller(model, Settings(mode="computed_torque")), []
    plant = Plant(ROBOT, q, base=read_base_motion("sine:ry:0.2:1"), step=period)
    for now in np.arange(0.0, 1.5, period):
        base = read_base_motion("sine:ry:0.2:1")(now)
        controller.change(model=replace(controller.model, base=base))
        controller.set_state(Measured(plant.q, plant.qd), now)
        command = controller.update(now)
        plant.step(command.tau)
        errors.append(plant.q - q)
    assert np.abs(errors[250:]).max() < 2e-3  # rad; the arm fell by radians


def test_gains_that_change_with_the_base_fade():
    dynamics, q = Dynamics(ROBOT), np.full(ROBOT.dof, 0.3)
    model = Model(dynamics, gains_for(dynamics), base=BASE)
    controller = Controller(model, Settings(mode="pd_gravity"))
    for now in (0.0, 0.002):
        controller.set_state(Measured(q, 0.0 * q), now)
        controller.update(now)
    edition = controller.field("edition").item()
    controller.change(model=replace(model, gains=gains_for(dynamics, bandwidth=5.0), base=BASE))
    controller.set_state(Measured(q, 0.0 * q), 0.004)
    controller.update(0.004)
    assert controller.field("edition").item() > edition
