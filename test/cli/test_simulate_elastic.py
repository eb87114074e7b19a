"""`simulate` of elastic joints: a table of the ways to know their springs."""

import json

import pytest

from choices import first
from robot_dynamics.cli import main

SOFT = """
/**:
  ros__parameters:
    rotor: {joint_1: {inertia: 4.0, ratio: 1.0}, joint_2: {inertia: 0.5, ratio: 1.0}}
    elasticity:
      joint_1: {stiffness: 8000.0, damping: 40.0}
      joint_2: {stiffness: 4000.0, damping: 10.0}
"""


@pytest.fixture
def soft(tmp_path):
    path = tmp_path / "soft.yaml"
    path.write_text(SOFT)
    return ["simulate", "planar_2r", "--parameters", str(path), "--duration", "2"]


@pytest.mark.parametrize("encoders", first(["motor"], ["motor", "both"]))
def test_the_more_of_the_springs_is_known_the_smaller_the_error(soft, capsys, encoders):
    assert main([*soft, "--encoders", encoders, "--json"]) == 0
    errors = json.loads(capsys.readouterr().out)["rms_error"]
    for exact, quasi_static, rigid in zip(*errors.values(), strict=True):
        assert exact < quasi_static < rigid


def test_the_table_names_the_joints_whose_gains_are_lowered(soft, capsys):
    assert main(soft) == 0
    shown = capsys.readouterr().out
    assert "gains are lowered for elastic joints: joint_1 to " in shown
    assert "of p (resonance " in shown
    for word in ("exact", "quasi-static", "rigid", "joint_2"):
        assert word in shown


def test_what_a_table_cannot_show_is_refused(soft, capsys, tmp_path):
    assert main([*soft, "--output", str(tmp_path)]) == 1
    assert "elastic joints print a table; leave out --mode" in capsys.readouterr().err
