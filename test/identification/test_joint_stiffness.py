"""Stiffness from both sides of elastic joints, in simulation."""

import numpy as np
import pytest

from elastic_arm import elastic
from robot_dynamics import Dynamics
from robot_dynamics.control import Friction, Model, gains_for
from robot_dynamics.control.laws import Measured
from robot_dynamics.errors import RecordingError
from robot_dynamics.identification import Recording
from robot_dynamics.identification.joint_stiffness import identify_elasticity
from robot_dynamics.simulation import ElasticController
from robot_dynamics.simulation.compiled_plant import CompiledPlant
from robot_dynamics.trajectory import excitation, interpolate

STIFFNESS = np.array([1e4, 1.2e4, 8e3, np.inf, 4e3, 3e3])
DAMPING = np.array([20.0, 30.0, 15.0, 0.0, 8.0, 5.0])
ENCODER = 5e-6
"""Standard deviation of the positions, rad: an encoder of 18 bits."""


@pytest.fixture(scope="module")
def sides():
    """The robot, and the recordings of its links and its motors at 500 Hz."""
    robot, rotors = elastic("ur5", STIFFNESS, DAMPING)
    arm = Dynamics(robot)
    model = Model(arm, gains_for(arm), rotor_inertia=rotors, encoders="motor")
    friction = Friction(
        np.full(6, 3.0), np.full(6, 2.0)
    )  # of the motors: the springs do not feel it
    plant = CompiledPlant(robot, friction=friction, rotor_inertia=rotors)
    motion = interpolate(excitation(robot, 8.0), smoothness=4)
    law = ElasticController(model, motion, period=1e-3)
    plant.reset(motion.sample(0.0).q)
    rows = []
    for k in range(8_000):
        t = 1e-3 * k
        if k % 2 == 0:
            rows.append((t, plant.q, plant.motor_q, plant.tau))
        plant.step(law(t, motion.sample(t), Measured(*plant.measured("motor"))))
    time, q, motor_q, tau = (np.array(column) for column in zip(*rows, strict=True))
    rng = np.random.default_rng(0)
    q, motor_q = (x + ENCODER * rng.standard_normal(x.shape) for x in (q, motor_q))
    motor_q = motor_q + 2e-3  # another zero
    return robot, Recording(time, q, None, tau), Recording(time, motor_q, None, tau)


def test_the_stiffness_is_found_with_its_error(sides):
    robot, links, motors = sides
    found = identify_elasticity(robot, links, motors)
    bends = np.isfinite(STIFFNESS)
    assert np.isinf(found.elasticity.stiffness[~bends]).all()
    K, error, real = (x[bends] for x in (found.elasticity.stiffness, found.deviation, STIFFNESS))
    assert (np.abs(K - real) < np.maximum(4.0 * error, 2e-3 * real)).all()
    # wrist_3 bears little: its twist is a hundredth of that of the others
    assert (np.abs(K / real - 1.0)[:3] < 0.01).all()
    assert (found.explained[[0, 1, 2]] > 0.99).all()
    np.testing.assert_allclose(found.offset[[0, 1, 2]], 2e-3, atol=5e-5)
    assert "wrist_1_joint: does not bend measurably" in found.table(robot)


def test_the_identified_robot_twists_as_the_recorded_one(sides):
    robot, links, motors = sides
    found = identify_elasticity(robot, links, motors).elasticity
    again = robot.with_joint_elasticity(*found)
    assert 0 in again.elastic_joints
    assert 3 not in again.elastic_joints


def test_recordings_of_other_times_are_refused(sides):
    robot, links, motors = sides
    later = Recording(motors.time + 1e-3, motors.q, None, motors.tau)
    with pytest.raises(RecordingError, match="its times are not those of recording; record both"):
        identify_elasticity(robot, links, later)
