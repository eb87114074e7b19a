"""The verbs without any package but those that `pip install .` brings."""

import json
import subprocess
import sys

import numpy as np
import pytest

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.cli import VERBS
from robot_dynamics.robot import find_robot
from robot_dynamics.trajectory import excitation, interpolate

ALONE = """
import contextlib, io, json, sys

BASE = {"numpy", "scipy", "llvmlite", "lxml", "yaml", "_yaml", "robot_dynamics"}

class OnlyBase:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in BASE | sys.stdlib_module_names and not top.startswith("_sysconfigdata"):
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)

sys.meta_path.insert(0, OnlyBase())
from robot_dynamics.cli import main

found = []
for words in json.loads(sys.stdin.read()):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main(words)
        except SystemExit as end:
            status = end.code
    found.append([status, out.getvalue(), err.getvalue()])
print(json.dumps(found))
"""
RUNS = (
    "info planar_2r",
    "info planar_2r --json",
    "torque planar_2r",
    "kinematics planar_2r",
    "pose planar_2r",
    "ik planar_2r --position 1,0,1 --selection x,z",
    "equations planar_2r --as c",
    "equations planar_2r --as latex",
    "compare planar_2r --formulations newton_euler kane",
    "simplify planar_2r",
    "effort planar_2r {folder}/motion.csv --output {folder}/effort.csv",
    "excite planar_2r --trials 20 --duration 5 --output {folder}/excitation.csv",
    "identify planar_2r {folder}/run.csv --any-bodies --report {folder}/report.html",
    "validate planar_2r {folder}/run.csv --report {folder}/report.html",
    "simulate planar_2r --duration 0.5 --output {folder}/out",
    "study planar_2r --runs 4 --duration 0.5",
    "rehearse planar_2r --faults 2",
    "drivers",
    "forward planar_2r --duration 0.1",
    "table planar_2r",
    "urdf planar_2r",
    "paper gupta table-2",
    "export law planar_2r --mode operational_space",
)
NEED = {  # what a page, nodes, pictures and semidefinite programs need
    "payload planar_2r {folder}/run.csv": "identification",
    "simulate planar_2r --record {folder}/new.mcap": "view",
    "view planar_2r": "view",
    "replay {folder}/run.mcap": "view",
    "plot {folder}/run.mcap": "cli",
    "study planar_2r --runs 4 --output {folder}/study": "study",
    "paper gupta figure-8 --plot {folder}/figure.png": "cli",
    "demo planar_2r": "ros",
    "ros topics": "ros",
    "node controller_node": "ros",
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Status, standard output and error of every command, by the command."""
    folder = tmp_path_factory.mktemp("base")
    (folder / "motion.csv").write_text("time,q.joint_1,q.joint_2\n0,0,0\n1,0.3,-0.4\n2,0,0\n")
    write_run(folder / "run.csv")
    (folder / "run.mcap").write_bytes(b"")
    commands = [*RUNS, *NEED, "doctor"]
    words = [command.format(folder=folder).split() for command in commands]
    done = subprocess.run(
        [sys.executable, "-c", ALONE],
        input=json.dumps(words),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(zip(commands, json.loads(done.stdout.splitlines()[-1]), strict=True))


def write_run(path):
    robot = read_urdf(find_robot("planar_2r"))
    motion = interpolate(excitation(robot, 10.0))
    t = np.arange(0.0, 10.0, 0.005)
    q, qd, qdd = motion.sample(t)
    tau = Dynamics(robot).inverse(q, qd, qdd)
    names = [f"{kind}.{name}" for kind in ("q", "qd", "tau") for name in robot.joint_names]
    header = ",".join(["time", *names])
    np.savetxt(path, np.column_stack([t, q, qd, tau]), delimiter=",", header=header, comments="")


@pytest.mark.parametrize("command", RUNS)
def test_it_runs_without_extras(answers, command):
    status, out, err = answers[command]
    assert status == 0, err
    assert out.strip()


@pytest.mark.parametrize("command", NEED)
def test_what_needs_more_names_its_extra_in_one_line(answers, command):
    status, out, err = answers[command]
    assert (status, out) == (1, "")
    assert err.count("\n") == 1
    assert f"'robot_dynamics[{NEED[command]}]'" in err


def test_a_missing_picture_is_named_after_the_result(answers):
    out = answers["simulate planar_2r --duration 0.5 --output {folder}/out"][1]
    assert "times smaller than PD alone" in out
    assert "no picture: a picture needs matplotlib; install it with pip install" in out


def test_every_verb_is_tried(answers):
    assert {command.split()[0] for command in answers} == set(VERBS)
