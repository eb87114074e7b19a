"""A robot of each arrangement of up to twelve joints, with masses off by up to 40 %."""

import numpy as np
import pytest

from oracles import characteristic_examples, example_id, example_robot
from recorded_motion import Simulated, heavier
from robot_dynamics import Dynamics
from robot_dynamics.control import Friction
from robot_dynamics.identification import identify

NOISE = 0.005  # of the largest effort of each joint, in every sample
ROBOTS = [path for path in characteristic_examples() if example_robot(path).dof <= 12]


def base_values(urdf, true):
    """Numbers with which the regressor of the URDF has the efforts of the true robot.

    Those that its own equations choose may belong to other axes of a link.
    """
    states = np.random.default_rng(0).uniform(-2.0, 2.0, (3, 500, urdf.dof))
    Y = Dynamics(urdf).regressor(*states)
    tau = Dynamics(true).inverse(*states)
    return np.linalg.lstsq(Y.reshape(-1, Y.shape[2]), tau.ravel(), rcond=None)[0]


@pytest.mark.thorough
@pytest.mark.parametrize("path", ROBOTS, ids=example_id)
def test_a_robot_is_identified_to_within_the_noise(path):
    urdf = example_robot(path)
    n = urdf.dof
    friction = Friction(np.full(n, 0.3), np.full(n, 0.5), width=np.full(n, 0.02))
    simulated = Simulated(urdf, heavier(urdf), friction)
    found = identify(urdf, simulated.recording(rate=100.0, duration=15.0, noise=NOISE))
    assert found.report.verdict == "good"
    true = base_values(urdf, simulated.true)
    off = [abs(p.value - t) / p.deviation for p, t in zip(found.parameters, true, strict=True)]
    # Deviations are estimated, too: friction that is tried on a grid is no part of them
    assert np.mean(np.array(off) < 3.0) > 0.8
    other = simulated.recording(seed=5, rate=100.0, duration=8.0, noise=0.0)
    moving = np.abs(other.qd) > 0.1  # a step of friction is as wide as noise let it be seen
    error = np.where(moving, found.predict(other) - other.tau, 0.0)[100:-100]
    assert (np.sqrt(np.mean(error**2, axis=0)) < NOISE * np.abs(other.tau).max(axis=0)).all()
