"""The hand follows the motion of the joints in a closed loop of laws in task space."""

import numpy as np
import pytest

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.cli.verbs.simulate import hand_errors
from robot_dynamics.control import Friction, Model, gains_for
from robot_dynamics.control.task import Task
from robot_dynamics.errors import UnknownNameError
from robot_dynamics.robot import find_robot
from robot_dynamics.simulation import LawController, Plant, simulate
from robot_dynamics.trajectory import interpolate, polynomial_345

ROBOT = read_urdf(find_robot("ur5"))
HAND, RATE = "tool0", 500.0
BEGIN = np.array([0.0, -1.2, 1.6, -1.9, -1.57, 0.0])  # far from singular poses
END = BEGIN + [0.3, 0.2, -0.3, 0.2, 0.3, -0.3]


@pytest.fixture(scope="module")
def model():
    arm = Dynamics(ROBOT)
    return Model(arm, gains_for(arm), Friction.of(ROBOT))


@pytest.mark.parametrize("mode", ["cartesian_impedance", "operational_space"])
def test_a_hand_with_an_exact_model_follows_as_well_as_the_cycle_allows(model, mode):
    motion = interpolate(polynomial_345(ROBOT.joint_names, BEGIN, END, 0.8))
    law = LawController(model, mode, period=1.0 / RATE, task=Task(model, HAND))
    log = simulate(Plant(ROBOT, step=1.0 / RATE), law, motion, rate=RATE)
    # An effort that stays for 2 ms at accelerations of a few rad/s^2
    assert np.abs(hand_errors(model, HAND, log)).max() < 1e-3
    assert np.abs(log.error).max() < 2e-3


def test_a_mode_of_joints_takes_no_task(model):
    with pytest.raises(UnknownNameError):
        LawController(model, "pd", period=1e-3, task=Task(model, HAND))
