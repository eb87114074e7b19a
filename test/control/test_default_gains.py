"""Default gains of model libraries: no arm oscillates under them, at any update rate."""

import numpy as np
import pytest

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.control import Measured
from robot_dynamics.control.configuration import Defaults
from robot_dynamics.control.friction import Friction
from robot_dynamics.control.sampling.tuning import gains_for
from robot_dynamics.robot import find_robot
from robot_dynamics.simulation import LawController, with_mass_scaled
from robot_dynamics.simulation.compiled_plant import fastest_plant
from robot_dynamics.trajectory import State
from robot_dynamics.trajectory.motions import middle_pose

KICK = 2e-3  # rad/s or m/s: efforts stay below their limits
REST = 1e-3  # of the kick: 80 time constants of the default bandwidth later, but for rounding
SECONDS = 4.0
NAMES = ("ur5", "panda", "planar_2r")


def first(value, *others):
    """Parameters of which all but the first one are thorough."""
    return [value, *(pytest.param(x, marks=pytest.mark.thorough) for x in others)]


def default_models(dynamics, bandwidth):
    n = dynamics.robot.dof
    drives = Friction.none(n), np.zeros(n)
    return Defaults(dynamics, None, None, None, *drives, bandwidth).models()


def arm_named(name):
    return Dynamics(read_urdf(find_robot(name)))


@pytest.fixture(scope="module", params=first(*NAMES))
def arm(request):
    dynamics = arm_named(request.param)
    return dynamics, default_models(dynamics, 20.0)


def speeds(dynamics, model, mode, rate, masses, late):
    """Largest speed in each cycle of an arm that is pushed at rest."""
    robot, q0 = with_mass_scaled(dynamics.robot, masses), middle_pose(dynamics.robot)
    plant = fastest_plant(robot, q0, step=min(1.0 / rate, 4e-3) / 2.0)
    controller = LawController(model, mode, period=1.0 / rate)
    held = State(q0, 0.0 * q0, 0.0 * q0)
    plant.reset(q0, np.full(len(q0), KICK))
    commands = [dynamics.gravity(q0)] * late
    found = []
    for k in range(round(SECONDS * rate)):
        commands.append(controller(k / rate, held, Measured(plant.q, plant.qd)))
        for _ in range(round(1.0 / (rate * plant.step_time))):
            plant.step(commands[-1 - late])
        found.append(np.abs(plant.qd).max())
    return np.array(found)


@pytest.mark.parametrize("mode", first("feedforward", "pd_gravity"))
@pytest.mark.parametrize("late", first(1, 0, 2))
@pytest.mark.parametrize("rate", [100.0, 250.0, 500.0, 1000.0])
def test_an_arm_of_wrong_masses_comes_to_rest_with_efforts_up_to_two_cycles_late(
    arm, rate, late, mode
):
    dynamics, models = arm
    for masses in (0.9, 1.1):
        quarters = speeds(dynamics, models[rate], mode, rate, masses, late).reshape(4, -1)
        before, last = quarters.max(axis=1)[2:] / KICK
        # With the gains of the joints a slow loop takes long to carry the weight that is missing
        assert last < (REST if mode == "feedforward" else max(0.7 * before, REST))


@pytest.mark.thorough
def test_a_fast_loop_uses_the_gains_of_the_joints_where_they_hold_wrong_masses_better():
    by_joint = {
        name: [rate for rate, model in default_models(arm_named(name), 20.0).items()
               if not model.inertia_weighted]
        for name in NAMES
    }  # fmt: skip
    assert by_joint == {
        "ur5": [800.0, 1000.0, 2000.0, 4000.0],
        "panda": [],
        "planar_2r": [500.0, 800.0, 1000.0, 2000.0, 4000.0],
    }


def test_default_gains_fit_a_loop_whose_efforts_act_a_cycle_later():
    dynamics = arm_named("ur5")
    expected = gains_for(dynamics, period=1e-3, delay=1e-3)
    gains = default_models(dynamics, 20.0)[1000.0].gains
    np.testing.assert_array_equal(gains.kp, expected.kp)
    np.testing.assert_array_equal(gains.kd, expected.kd)
