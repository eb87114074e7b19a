"""The example of identification: excited, recorded, identified and followed through the nodes."""

import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics import Dynamics
from robot_dynamics.identification import Recording, identify
from robot_dynamics.robot import find_robot, read_urdf
from robot_dynamics.simulation import perturbed
from starvation import Watched, repeated_where_starved

ROOT = Path(__file__).parents[2]
WATCHED = Watched()
PATIENCE = 300.0
"""Bound of what takes half a minute on a machine that does nothing else, s."""


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["planar_2r", "ur5"])
@repeated_where_starved(WATCHED)
def test_a_robot_is_excited_recorded_and_identified_through_the_nodes(name, tmp_path, domain):
    pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")
    script = ROOT / "examples" / "identify_and_follow.py"
    done = WATCHED.run(
        [
            *(sys.executable, str(script), name),
            *("--excitation", "6", "--duration", "1.5", "--rate", "250"),
            *("--domain", str(domain), "--output", str(tmp_path)),
        ],
        PATIENCE,
        env={**os.environ, "PYTHONPATH": str(ROOT), "ROS_LOG_DIR": str(tmp_path / "log")},
    )
    assert done.returncode == 0, done.stderr
    assert "verdict on the motion followed: good" in " ".join(done.stdout.split())
    (whole,) = re.findall(r"([\d.]+)\s+times\s+in\s+all", done.stdout)
    assert float(whole) > 5.0  # in simulated time, so that a busy machine makes it no worse
    urdf = read_urdf(find_robot(name))
    found = identify(urdf, Recording.read(tmp_path / f"{name}_excitation.mcap", urdf))
    truth = Dynamics(perturbed(urdf, 0.4, seed=1)).base_parameters  # of the example
    for parameter, true in zip(found.parameters, truth, strict=True):
        assert abs(parameter.value - true.value) < 3.0 * parameter.deviation, parameter.name
    again = Dynamics(read_urdf(tmp_path / f"{name}_identified.urdf"))
    state = np.outer([0.3, -0.7, 0.5], np.ones(urdf.dof))
    efforts = found.model.dynamics.regressor(*state) @ found.model.base
    # Written and read in decimal, to the last digit
    np.testing.assert_allclose(again.inverse(*state), efforts, rtol=1e-9, atol=1e-9)
