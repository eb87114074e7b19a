"""What the README tells a reader to type works as it stands there."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics.trajectory.trajectory_files import read_trajectory
from ros_system import PATIENCE, wait_for

README = Path(__file__).parents[2] / "README.md"
GOAL = [0.8, -0.5]


def block(language, containing):
    """The only code block of that language that contains a text."""
    blocks = [text.split("\n", 1) for text in README.read_text().split("```")[1::2]]
    (found,) = [text for kind, text in blocks if kind == language and containing in text]
    return found


def test_the_first_example_runs_from_urdf_to_torque():
    pytest.importorskip("pinocchio", reason="example-robot-data is not installed")
    names = {}
    exec(block("python", "with_payload"), names)
    tau = names["M"] @ names["qdd"] + names["b"]
    # qdd solves for the efforts, in float64: M is well conditioned without fingers
    assert np.allclose(names["tau"], tau, atol=1e-10)


def test_the_motion_file_is_a_trajectory(tmp_path):
    path = tmp_path / "motion.csv"
    path.write_text(block("csv", "time"))
    waypoints = read_trajectory(path, ["joint_1", "joint_2"])
    assert waypoints.times.tolist() == [0.0, 2.0, 4.0]
    assert waypoints.positions[1].tolist() == GOAL


def test_the_published_message_is_a_trajectory(tmp_path):
    path = tmp_path / "message.yaml"
    command = block("", "ros2 topic pub")
    path.write_text(command[command.index('"') + 1 : command.rindex('"')])
    waypoints = read_trajectory(path, ["joint_1", "joint_2"])
    assert waypoints.times.tolist() == [2.0]
    assert waypoints.positions[0].tolist() == GOAL


def test_the_python_example_moves_the_robot(tmp_path, domain):
    pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")
    from robot_dynamics.nodes.runtime.composition import composed

    environment = {**os.environ, "ROS_DOMAIN_ID": str(domain), "ROS_LOG_DIR": str(tmp_path)}
    with composed("planar_2r", rate=250.0, domain=domain, trajectory_node={"wait": True}) as nodes:
        example = [sys.executable, "-c", block("python", "JointTrajectory")]
        subprocess.run(example, env=environment, check=True, timeout=PATIENCE)
        # Of a robot that started at zero
        wait_for(lambda: np.allclose(nodes.simulator.plant.q, GOAL, atol=2e-2), f"arm at {GOAL}")
