"""What the README tells a reader to type works as it stands there."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics.cli import main, parser
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


def commands():
    """The lines of the README that begin with robot-dynamics, as their words."""
    return [
        shlex.split(line, comments=True)[1:]
        for line in README.read_text().splitlines()
        if line.startswith("robot-dynamics ")
    ]


@pytest.mark.parametrize("words", commands(), ids=lambda words: " ".join(words[:3]))
def test_every_command_is_understood(words):
    arguments = parser(words[0]).parse_args(words)
    assert arguments.verb == words[0]


@pytest.mark.parametrize("verb", ["info", "torque", "equations"])
def test_quick_commands_run_as_they_stand(verb, capsys):
    pytest.importorskip("pinocchio", reason="example-robot-data is not installed")
    for words in commands():
        if words[0] == verb:
            assert main(words) == 0, words
            assert capsys.readouterr().out


def test_the_equations_are_those_that_the_command_prints(capsys):
    assert main(["equations", "planar_2r", "--letters"]) == 0
    assert capsys.readouterr().out.rstrip().endswith(block("text", "tau1 =").rstrip())
