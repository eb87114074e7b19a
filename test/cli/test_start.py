"""A verb imports only what it needs: the rest would take most of the time of a short one."""

import json
import subprocess
import sys

HEAVY = {"scipy", "yaml", "matplotlib", "asyncio"}
OWN = {
    "robot_dynamics.control.step",
    "robot_dynamics.control.controller",
    "robot_dynamics.trajectory.interpolation",
    "robot_dynamics.kinematics.inverse",
    "robot_dynamics.simulation.plant",
}


def test_a_short_verb_imports_no_more_than_it_needs():
    code = (
        "import contextlib, io, json, sys\n"
        "from robot_dynamics.cli import main\n"
        "with contextlib.redirect_stdout(io.StringIO()):\n"
        "    assert main(['torque', 'planar_2r']) == 0\n"
        "print(json.dumps([*sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found = set(json.loads(done.stdout))
    assert "robot_dynamics.cli.verbs.torque" in found
    assert (HEAVY | OWN) & found == set()
