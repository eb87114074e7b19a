"""The end effector follows the motion of the joints in a closed loop of laws in task space."""

import numpy as np
import pytest

from choices import first
from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.cli.verbs.simulate import end_effector_errors
from robot_dynamics.control import Friction, Model, gains_for
from robot_dynamics.control.sampled_loop import Sampling
from robot_dynamics.control.sampling.tuning import Tuner
from robot_dynamics.control.task import Task
from robot_dynamics.errors import UnknownNameError
from robot_dynamics.robot import find_robot
from robot_dynamics.robot.endpoint import default_end_effector
from robot_dynamics.simulation import LawController, Plant, simulate
from robot_dynamics.simulation.compiled_plant import fastest_plant
from robot_dynamics.trajectory import excitation, interpolate, polynomial_345

ROBOT = read_urdf(find_robot("ur5"))
END_EFFECTOR, RATE = "tool0", 500.0
BEGIN = np.array([0.0, -1.2, 1.6, -1.9, -1.57, 0.0])  # far from singular poses
END = BEGIN + [0.3, 0.2, -0.3, 0.2, 0.3, -0.3]


@pytest.fixture(scope="module")
def model():
    arm = Dynamics(ROBOT)
    return Model(arm, gains_for(arm), Friction.of(ROBOT))


@pytest.mark.parametrize("mode", ["cartesian_impedance", "operational_space"])
def test_an_end_effector_with_an_exact_model_follows_as_well_as_the_cycle_allows(model, mode):
    motion = interpolate(polynomial_345(ROBOT.joint_names, BEGIN, END, 0.8))
    law = LawController(model, mode, period=1.0 / RATE, task=Task(model, END_EFFECTOR))
    log = simulate(Plant(ROBOT, step=1.0 / RATE), law, motion, rate=RATE)
    # An effort that stays for 2 ms at accelerations of a few rad/s^2
    assert np.abs(end_effector_errors(model, END_EFFECTOR, log)).max() < 1e-3
    assert np.abs(log.error).max() < 2e-3


NAMES = (
    "ur5",
    *(pytest.param(name, marks=pytest.mark.thorough) for name in ("ur3", "panda", "xarm7")),
)


@pytest.mark.parametrize(
    "mode", first(["operational_space"], ["cartesian_impedance", "operational_space"])
)
@pytest.mark.parametrize("name", NAMES)
def test_a_motion_through_singular_poses_is_followed_as_by_the_joint_law(name, mode):
    whole = read_urdf(find_robot(name))
    robot = whole.with_locked({joint: 0.0 for joint in whole.joint_names if "finger" in joint})
    arm, friction, end_effector = Dynamics(robot), Friction.of(robot), default_end_effector(whole)
    gains = gains_for(arm)
    model = Tuner(arm).model(Model(arm, gains, friction), gains, 20.0, Sampling.of(1e-3))
    motion = interpolate(excitation(robot, 6.0))  # stretches the arm, and aligns wrist axes

    def peaks(law):
        plant = fastest_plant(robot, step=1e-3, friction=friction)
        error = np.abs(end_effector_errors(model, end_effector, simulate(plant, law, motion))).max(
            axis=0
        )
        return np.array([np.linalg.norm(error[:3]), np.linalg.norm(error[3:])])

    by_joint = peaks(LawController(model, "feedforward", period=1e-3))
    of_end_effector = peaks(LawController(model, mode, period=1e-3, task=Task(model, end_effector)))
    assert (of_end_effector < 2.0 * by_joint + [1e-3, 5e-3]).all(), (of_end_effector, by_joint)


def test_a_mode_of_joints_takes_no_task(model):
    with pytest.raises(UnknownNameError):
        LawController(model, "pd", period=1e-3, task=Task(model, END_EFFECTOR))
