"""Stiffness from the resonances of one side, in simulation."""

import numpy as np
import pytest

from elastic_arm import elastic
from robot_dynamics import Dynamics
from robot_dynamics.control import Friction
from robot_dynamics.control.gains import ideal_gains
from robot_dynamics.errors import RecordingError
from robot_dynamics.identification import Recording, identify_resonance
from robot_dynamics.simulation.compiled_plant import CompiledPlant
from robot_dynamics.trajectory.motions import middle_pose

STIFFNESS = np.array([1e4, 1.2e4, 8e3, np.inf, 4e3, 3e3])
DAMPING = np.array([20.0, 30.0, 15.0, 0.0, 8.0, 5.0])
ENCODER = 5e-6
"""Standard deviation of the positions, rad: an encoder of 18 bits."""

RATE, SECONDS = 500.0, 12.0
NOISE = 0.15
"""Standard deviation of the efforts that shake the arm, relative to the effort limits."""


@pytest.fixture(scope="module")
def shaken():
    """The robot, its rotors, and the recordings of both sides of an arm under random efforts."""
    robot, rotors = elastic("ur5", STIFFNESS, DAMPING)
    friction = Friction(np.full(6, 3.0), np.full(6, 1.0))
    plant = CompiledPlant(robot, friction=friction, rotor_inertia=rotors)
    arm, q0 = Dynamics(robot), middle_pose(robot)
    gains, held = ideal_gains(arm, 6.0), arm.gravity(q0)
    plant.reset(q0)
    start = plant.motor_q.copy()
    rng, rows = np.random.default_rng(0), []
    size = NOISE * np.minimum(robot.limits.effort, 150.0)
    for k in range(round(SECONDS * 1000.0)):
        q, qd = plant.measured("motor")
        if k % 2 == 0:
            push = size * rng.standard_normal(6)
            tau = held + push + gains.kp * (start - q) - gains.kd * qd
        if k % 2 == 0:
            rows.append((1e-3 * k, plant.q, plant.motor_q, tau))
        plant.step(tau)
    time, q, motor_q, tau = (np.array(column) for column in zip(*rows, strict=True))
    q, motor_q = (x + ENCODER * rng.standard_normal(x.shape) for x in (q, motor_q))
    sides = {"link": q, "motor": motor_q}
    return robot, rotors, {side: Recording(time, x, None, tau) for side, x in sides.items()}


@pytest.mark.parametrize("side", ["motor", pytest.param("link", marks=pytest.mark.thorough)])
def test_the_resonances_of_one_side_tell_stiffness_and_rotors(shaken, side):
    robot, rotors, recordings = shaken
    found = identify_resonance(robot, recordings[side], side)
    K = found.elasticity.stiffness
    # The resonance of wrist_3 is at 300 Hz, and friction takes most of the efforts of the wrist
    seen = np.isfinite(K) & (np.arange(6) < 5)
    assert seen.tolist() == [True, True, True, False, True, False]
    K, error, real = (x[seen] for x in (K, found.deviation, STIFFNESS))
    assert (np.abs(K - real) < np.maximum(4.0 * error, 0.02 * K)).all()
    assert (error < 0.07 * K).all()
    assert (np.abs(found.rotor_inertia / rotors - 1.0)[:3] < 0.05).all()
    assert "wrist_1_joint: does not bend measurably, rotor inertia 0." in found.table(robot)


def test_a_large_motion_is_refused(shaken):
    robot, _, recordings = shaken
    one = recordings["motor"]
    q = one.q + np.linspace(0.0, 1.0, len(one.time))[:, None] * np.eye(6)[2]
    with pytest.raises(RecordingError, match="joint 'elbow_joint' moves by"):
        identify_resonance(robot, Recording(one.time, q, None, one.tau))
