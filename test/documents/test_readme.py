"""What README and pages tell a reader to type works as it stands there."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

from benchmark.record import quoted_numbers, with_numbers
from robot_dynamics.cli import main, parser
from robot_dynamics.trajectory.trajectory_files import read_trajectory
from ros_system import PATIENCE, wait_for

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
LAUNCH = ROOT / "docs" / "launch.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
GOAL = [0.8, -0.5]


def blocks(page, language):
    """The code blocks of that language."""
    found = [text.split("\n", 1) for text in page.read_text().split("```")[1::2]]
    return [dedent(text) for kind, text in found if kind == language]


def block(language, containing, page=README):
    """The only code block of that language that contains a text."""
    (found,) = [text for text in blocks(page, language) if containing in text]
    return found


def test_the_first_example_runs_from_urdf_to_torque(capsys):
    pytest.importorskip("pinocchio", reason="example-robot-data is not installed")
    names = {}
    exec(block("python", "with_payload"), names)
    # As numbers: a zero may have either sign
    printed = capsys.readouterr().out.strip().splitlines()
    (shown,) = re.findall(r"# (\[.*\])", block("python", "with_payload"))
    assert [float(x) for x in printed[-1].strip("[]").split()] == [
        float(x) for x in shown.strip("[]").split()
    ]
    tau = names["M"] @ names["qdd"] + names["b"]
    # qdd solves for the efforts, in float64: M is well conditioned without fingers
    assert np.allclose(names["tau"], tau, atol=1e-10)


def test_the_speed_in_the_readme_is_that_of_the_benchmark():
    quoted = with_numbers("{{ 1/kernels.inverse }} {{ 1/kernels.inverse_kept }}", quoted_numbers())
    # If this fails: write the numbers of benchmark/records/kernels.md into README.md
    assert re.findall(r"([\d.]+) times faster", README.read_text()) == quoted.split()


@pytest.mark.thorough  # four seconds
def test_the_errors_in_the_readme_are_those_of_the_simulation(capsys):
    pytest.importorskip("pinocchio", reason="example-robot-data is not installed")
    measured = []
    for words in ([], ["--mass-error", "10"]):
        assert main(["simulate", "panda", "--json", *words]) == 0
        modes = json.loads(capsys.readouterr().out)["modes"]
        errors = [1e3 * modes[mode]["rms_error"][2] for mode in ("feedforward", "pd_gravity")]
        measured += [f"{errors[0]:.2g}", f"{errors[1]:.3g}"]
    assert re.findall(r"([\d.]+) mrad", README.read_text()) == measured


def test_the_arguments_of_the_launch_file_are_those_of_the_page():
    pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")
    from robot_dynamics.nodes.bringup.arguments import ARGUMENTS

    declared = {name: default for name, default, *_ in ARGUMENTS}
    section = LAUNCH.read_text().split("## Arguments")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \|", section, re.M)
    assert {name: default.strip("`") for name, default in rows} == declared


def test_the_motion_file_is_a_trajectory(tmp_path):
    path = tmp_path / "motion.csv"
    path.write_text(block("csv", "time", LAUNCH))
    waypoints = read_trajectory(path, ["joint_1", "joint_2"])
    assert waypoints.times.tolist() == [0.0, 2.0, 4.0]
    assert waypoints.positions[1].tolist() == GOAL


def test_the_published_message_is_a_trajectory(tmp_path):
    path = tmp_path / "message.yaml"
    command = block("", "ros2 topic pub", LAUNCH)
    path.write_text(command[command.index('"') + 1 : command.rindex('"')])
    waypoints = read_trajectory(path, ["joint_1", "joint_2"])
    assert waypoints.times.tolist() == [2.0]
    assert waypoints.positions[0].tolist() == GOAL


def test_the_python_example_moves_the_robot(tmp_path, domain):
    pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")
    from robot_dynamics.nodes.composition import composed

    environment = {**os.environ, "ROS_DOMAIN_ID": str(domain), "ROS_LOG_DIR": str(tmp_path)}
    # A busy machine delays messages, which would end the motion
    patient = {"controller_node": {"state_timeout": 5.0, "reference_timeout": 5.0}}
    patient["simulator_node"] = {"command_timeout": 5.0}
    wait = {"trajectory_node": {"wait": True}}
    with composed("planar_2r", rate=250.0, domain=domain, **patient, **wait) as nodes:
        example = [sys.executable, "-c", block("python", "JointTrajectory", LAUNCH)]
        subprocess.run(example, env=environment, check=True, timeout=PATIENCE)
        # Of a robot that started at zero
        wait_for(lambda: np.allclose(nodes.simulator.plant.q, GOAL, atol=2e-2), f"arm at {GOAL}")


def commands(*pages):
    """The lines in code blocks that begin with robot-dynamics, as their words; once each."""
    lines = [
        line
        for page in pages
        for text in blocks(page, "")
        for line in text.replace("\\\n", " ").splitlines()
        if line.startswith("robot-dynamics ")
    ]
    return list(
        dict.fromkeys(
            tuple(shlex.split(line.partition(" > ")[0], comments=True)[1:]) for line in lines
        )
    )


@pytest.mark.parametrize("words", commands(*PAGES), ids=" ".join)
def test_every_command_is_understood(words):
    arguments = parser(words[0]).parse_args(words)
    assert arguments.verb == words[0]


def made():
    """The lines of the README that call make, in code blocks and in sentences; once each."""
    return sorted(
        set(re.findall(r"(?:^|`)(make [a-z]+(?: \w+=\w+)?)(?=`| +#)", README.read_text(), re.M))
    )


@pytest.mark.skipif(shutil.which("make") is None, reason="no make on the PATH")
@pytest.mark.parametrize("line", made())
def test_what_is_to_be_made_is_understood(line):
    done = subprocess.run(
        [*line.split(), "--dry-run"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    for command in re.findall(r"bin/robot-dynamics (.*)", done.stdout):
        assert parser("demo").parse_args(shlex.split(command)).verb == "demo"


@pytest.mark.parametrize("verb", ["info", "torque", "equations"])
def test_quick_commands_run_as_they_stand(verb, capsys):
    pytest.importorskip("pinocchio", reason="example-robot-data is not installed")
    for words in commands(README, ROOT / "docs" / "first-steps.md"):
        if words[0] == verb:
            assert main([*words]) == 0, words
            assert capsys.readouterr().out


def test_the_equations_are_those_that_the_command_prints(capsys):
    assert main(["equations", "planar_2r", "--symbolic"]) == 0
    assert capsys.readouterr().out.rstrip().endswith(block("text", "tau1 =").rstrip())
