"""A verb imports only what it needs: the rest would take most of the time of a short one."""

import json
import subprocess
import sys
from itertools import pairwise

from robot_dynamics.cli.verbs.info import MOST_JOINTS

HEAVY = {"scipy", "yaml", "matplotlib", "asyncio"}
OWN = {
    "robot_dynamics.control.step",
    "robot_dynamics.control.controller",
    "robot_dynamics.trajectory.interpolation",
    "robot_dynamics.kinematics.inverse",
    "robot_dynamics.simulation.plant",
}


SEARCHES = {
    "robot_dynamics.reduction.reduced_robot",
    "robot_dynamics.compiler.graph.packing",
    "llvmlite",
}
"""Of the fewest operations and of machine code, which take seconds for a humanoid."""


def modules_of(*words):
    """Names of the modules that a verb has imported."""
    code = (
        "import contextlib, io, json, sys\n"
        "from robot_dynamics.cli import main\n"
        "with contextlib.redirect_stdout(io.StringIO()):\n"
        f"    assert main({words!r}) == 0\n"
        "print(json.dumps([*sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def test_a_short_verb_imports_no_more_than_it_needs():
    found = modules_of("torque", "planar_2r")
    assert "robot_dynamics.cli.verbs.torque" in found
    assert (HEAVY | OWN) & found == set()


LINK = """<link name="{0}"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
JOINT = """<joint name="to_{1}" type="revolute"><parent link="{0}"/><child link="{1}"/>
<origin xyz="0.2 0 0"/><axis xyz="0 1 0"/>
<limit lower="-3" upper="3" velocity="1" effort="1000"/></joint>"""


def test_info_of_a_robot_with_many_strong_joints_searches_and_compiles_nothing(tmp_path):
    names, path = [f"l{k}" for k in range(MOST_JOINTS + 2)], tmp_path / "long.urdf"
    joints = (JOINT.format(a, b) for a, b in pairwise(names))
    links = map(LINK.format, names)
    path.write_text(f'<robot name="long">{"".join(links)}{"".join(joints)}</robot>')
    found = modules_of("info", str(path))
    assert "robot_dynamics.statics.gravity_capacity" in found
    assert (HEAVY | OWN | SEARCHES) & found == set()
