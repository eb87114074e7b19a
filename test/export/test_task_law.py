"""Laws in task space as C, compiled by a C compiler and compared with the kernels."""

import ctypes
import re
import subprocess

import numpy as np
import pytest

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.cli import main
from robot_dynamics.compiler.kernel import compile_program
from robot_dynamics.control.end_effector import task_program
from robot_dynamics.control.target_motion import SHAPES, target_equations
from robot_dynamics.control.task_space import CONSISTENT, input_shapes
from robot_dynamics.export.task_law import task_law_source
from robot_dynamics.robot import find_robot

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-O1", "-shared", "-fPIC"]
DOUBLES = np.ctypeslib.ndpointer(np.float64, flags="C_CONTIGUOUS")


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    """An arm whose first joint has no speed limit, which is an infinite constant in C."""
    text, path = find_robot("ur5").read_text(), tmp_path_factory.mktemp("arm") / "arm.urdf"
    path.write_text(re.sub(r'velocity="[^"]*"', 'velocity="0"', text, count=1))
    return Dynamics(read_urdf(path))


@pytest.fixture(scope="module")
def library(arm, tmp_path_factory):
    folder = tmp_path_factory.mktemp("law")
    source, target = folder / "law.c", folder / "law.so"
    source.write_text(task_law_source(arm, "tool0", "cartesian_impedance"))
    subprocess.run(["cc", *STRICT, str(source), "-o", str(target), "-lm"], check=True)
    return ctypes.CDLL(str(target))


def call(function, inputs, outputs):
    results = [np.zeros(shape) for shape in outputs]
    function.argtypes, function.restype = [DOUBLES] * (len(inputs) + len(results)), None
    function(*(np.ascontiguousarray(array, dtype=np.float64) for array in inputs), *results)
    return results


def law_inputs(arm):
    rng, pose = np.random.default_rng(0), arm.pose(np.full(6, 0.3), "tool0")
    x = {name: rng.normal(size=shape) for name, shape in input_shapes(6).items()}
    x |= {"rotation": pose.rotation, "position": pose.position, "axes": np.eye(3)}
    x |= {name: np.abs(x[name]) for name in ("rotor", "fastest")}
    x |= {"selection": np.ones(6), "held": np.ones(6), "free_axis": np.zeros(3)}
    x |= {"numbers": np.array([1.0, 100.0, 0.1, 2.0, 5.0, 50.0]), "largest": np.full(6, 0.1)}
    return x | {"payload": np.array([1.0, 0.0, 0.0, 0.05, 0.01, 0.0, 0.0, 0.01, 0.0, 0.01])}


@pytest.mark.thorough
def test_the_law_in_c_is_the_law(arm, library):
    x = law_inputs(arm)
    kernel = compile_program(task_program(arm, "tool0", "cartesian_impedance", CONSISTENT, "tool0"))
    expected = kernel(*x.values())
    shapes = [result.shape for result in expected]
    found = call(library.ur5_cartesian_impedance, x.values(), shapes)
    for theirs, ours in zip(expected, found, strict=True):
        # The same operations; a C compiler may contract products and sums
        assert np.abs(theirs - ours).max() <= 1e-10 * max(1.0, np.abs(theirs).max())


@pytest.mark.thorough
def test_the_motion_of_the_target_in_c_is_that_of_the_node(library):
    rng = np.random.default_rng(1)
    x = {name: rng.uniform(0.1, 1.0, size=shape) for name, shape in SHAPES.items()}
    x |= {"rotation": np.eye(3), "goal_rotation": np.diag([1.0, -1.0, -1.0])}
    x |= {"follows": np.ones(1), "dt": np.full(1, 1e-3)}
    expected = target_equations(x)
    shapes = [result.shape for result in expected.values()]
    found = call(library.ur5_target_motion, x.values(), shapes)
    for name, ours in zip(expected, found, strict=True):
        assert np.abs(expected[name] - ours).max() < 1e-11, name  # round-off, times 1 / dt


def test_the_command_writes_a_file_and_refuses_what_is_no_hand(tmp_path, capsys):
    path = tmp_path / "law.c"
    words = ["export", "law", "planar_2r", "--mode", "operational_space", "--output", str(path)]
    assert main(words) == 0
    text = path.read_text()
    assert "void planar_2r_operational_space_default(" in text
    assert text.isascii()
    assert "input: of the target in the root link 'base_link'" in text
    capsys.readouterr()
    assert main(["export", "law", "ur5", "--frame", "nix"]) == 1
    assert "no frame 'nix' in robot 'ur5'" in capsys.readouterr().err
