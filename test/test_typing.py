"""What a type checker knows of a user's program."""

import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

import robot_dynamics
from robot_dynamics import Dynamics, Robot, read_urdf

PROGRAM = """
import numpy as np

from robot_dynamics import Dynamics, read_urdf

robot = read_urdf("arm.urdf").with_gravity((0.0, 0.0, -1.6))
arm = Dynamics(robot, formulation="kane")
q = np.zeros(robot.dof)
reveal_type(arm.inverse(q, q, q))
reveal_type(arm.pose(q).position)
reveal_type(arm.energy(q, q).T)
reveal_type(arm.inverse_derivatives(q, q, q).dtau_dq)
reveal_type(arm.forward_derivatives(q, q, q).dqdd_dtau)
reveal_type(robot.joint_names)
reveal_type(arm.operation_count("inverse").multiplications)
arm.pose(q).nowhere
arm.inverse(q, q)
"""


@pytest.mark.thorough
def test_a_strict_user_is_told_the_types_and_the_mistakes(tmp_path):
    pytest.importorskip("mypy", reason="mypy is not installed")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    package = Path(robot_dynamics.__file__).parents[1]
    options = [
        "--strict",
        "--follow-imports=silent",
        "--no-color-output",
        "--ignore-missing-imports",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "--cache-dir", str(tmp_path / "cache"), program],
        env={**os.environ, "MYPYPATH": str(package)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    array = "numpy.ndarray[builtins.tuple[Any, ...], numpy.dtype[Any]]"
    lines = [line.split(": ", 1)[1] for line in done.stdout.splitlines() if ": " in line]
    types = [line.split('"')[1] for line in lines if "Revealed type" in line]
    assert [kind.replace("builtins.", "") for kind in types] == [
        *[array.replace("builtins.", "")] * 5,
        "tuple[str, ...]",
        "int",
    ], done.stdout
    errors = [line for line in lines if line.startswith("error")]
    assert len(errors) == 2, done.stdout
    assert '"FramePlacement" has no attribute "nowhere"' in errors[0]
    assert 'Missing positional argument "qdd"' in errors[1]


@pytest.mark.parametrize("owner", [Dynamics, Robot])
def test_no_public_method_answers_anything(owner):
    methods = inspect.getmembers(owner, inspect.isfunction)
    public = [(name, method) for name, method in methods if not name.startswith("_")]
    assert public
    untyped = [
        name
        for name, method in public
        if inspect.signature(method).return_annotation in ("Any", inspect.Signature.empty)
    ]
    assert untyped == []
    assert inspect.signature(read_urdf).return_annotation == "Robot"
