"""Closed loops of elastic arms: exact, quasi-static and rigid feedforward beside each other."""

import numpy as np
import pytest

from choices import first
from elastic_arm import arm_of, elastic
from robot_dynamics import Dynamics
from robot_dynamics.control import Friction, Model, gains_for
from robot_dynamics.simulation import ElasticController, LawController, simulate
from robot_dynamics.simulation.compiled_plant import CompiledPlant
from robot_dynamics.study.plan import quintic
from robot_dynamics.trajectory import interpolate

PERIOD = 1e-3


def rms_error(plant, law, motion, encoders="motor"):
    return np.sqrt(np.mean(simulate(plant, law, motion, encoders=encoders).error ** 2))


@pytest.mark.parametrize("stiffness", first([5e3], [5e3, 3e4]))
@pytest.mark.parametrize("name", first(["panda"], ["ur5", "panda"]))
def test_elastic_feedforward_follows_where_a_rigid_one_winds_up(name, stiffness):
    robot, rotors = elastic(name, stiffness, 5.0)
    arm = Dynamics(robot)
    gains, none = gains_for(arm), Friction.none(robot.dof)
    rigid = Model(Dynamics(arm_of(name)), gains, rotor_inertia=rotors)
    model = Model(arm, gains, rotor_inertia=rotors, encoders="motor")
    plant = CompiledPlant(robot, friction=none, rotor_inertia=rotors)
    usual, smooth = (interpolate(quintic(robot, 1.5), smoothness=s) for s in (2, 4))
    of_rigid = rms_error(plant, LawController(rigid, "feedforward", period=PERIOD), smooth)
    quasi_static = rms_error(plant, ElasticController(model, usual, period=PERIOD), usual)
    exact = rms_error(plant, ElasticController(model, smooth, period=PERIOD), smooth)
    # measured: rigid 0.7 to 5 mrad, quasi-static an eighth or less, exact 2 urad or less
    assert quasi_static < of_rigid / 5.0
    assert exact < of_rigid / 100.0
    assert exact < 5e-6


@pytest.mark.parametrize("encoders", ["link", "both"])
def test_the_reference_fits_encoders_on_either_side(encoders):
    robot, rotors = elastic("ur5", 3e4, 60.0)
    arm = Dynamics(robot)
    gains = gains_for(arm, bandwidth=5.0)
    model = Model(arm, gains, rotor_inertia=rotors, encoders=encoders)
    plant = CompiledPlant(robot, friction=Friction.none(6), rotor_inertia=rotors)
    motion = interpolate(quintic(robot, 1.5), smoothness=4)
    law = ElasticController(model, motion, period=PERIOD)
    assert rms_error(plant, law, motion, encoders) < 1e-5
