"""An identified robot improves tracking."""

import pytest

from recorded_motion import Simulated
from robot_dynamics import Dynamics
from robot_dynamics.control import Friction, Model, gains_for
from robot_dynamics.identification import identify
from robot_dynamics.simulation import simulate
from robot_dynamics.simulation.closed_loop import LawController
from robot_dynamics.simulation.compiled_plant import fastest_plant
from robot_dynamics.trajectory import excitation, interpolate


@pytest.mark.thorough
def test_a_wrong_urdf_is_followed_five_times_better_once_it_is_identified():
    arm = Simulated.of("planar_2r")  # masses off by up to 40 %
    found = identify(arm.urdf, arm.recording(noise=0.005))
    motion = interpolate(excitation(arm.urdf, 3.0))
    plant = fastest_plant(arm.true, friction=arm.friction)

    def errors(robot, friction, rotors=None):
        dynamics = Dynamics(robot)
        model = Model(dynamics, gains_for(dynamics), friction, rotor_inertia=rotors)
        return simulate(plant, LawController(model, "feedforward", period=1e-3), motion).rms_error

    before = errors(arm.urdf, Friction.of(arm.urdf))
    after = errors(found.robot, found.friction, found.rotor_inertia)
    assert (before > 5.0 * after).all(), before / after
