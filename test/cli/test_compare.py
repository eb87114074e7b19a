"""robot-dynamics compare: one row for each formulation, all with the same torques."""

import re

import pytest

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.cli import main
from robot_dynamics.cli.verbs import compare
from robot_dynamics.formulations import FORMULATIONS
from robot_dynamics.robot import find_robot


def rows(text):
    cells = [re.split(r"\s{2,}", line.strip()) for line in text.splitlines()]
    return {row[0]: row[1:] for row in cells if row[0] in FORMULATIONS}


def test_every_formulation_agrees_and_has_its_operations(capsys):
    assert main(["compare", "planar_2r"]) == 0
    found = rows(capsys.readouterr().out)
    assert set(found) == set(FORMULATIONS)
    robot = read_urdf(find_robot("planar_2r"))
    for name, (difference, multiplications, additions, *_) in found.items():
        assert float(difference) < 1e-12  # float64; a wrong sign gives 1e-2
        count = Dynamics(robot, name).operation_count("inverse")
        assert (int(multiplications), int(additions)) == (count.multiplications, count.additions)


def test_only_those_that_are_named_are_compared(capsys):
    assert main(["compare", "planar_2r", "--formulations", "kane", "lagrange"]) == 0
    assert list(rows(capsys.readouterr().out)) == ["kane", "lagrange"]


def test_closed_forms_of_a_large_robot_are_left_out_and_named(capsys, monkeypatch):
    monkeypatch.setattr(compare, "MOST_JOINTS", 1)
    assert main(["compare", "planar_2r"]) == 0
    printed = capsys.readouterr().out
    assert set(rows(printed)) == set(FORMULATIONS) - set(compare.CLOSED_FORMS)
    assert "left out" in printed and "lagrange, dalembert" in printed


def test_an_unknown_formulation_is_refused_with_the_nearest_one(capsys):
    with pytest.raises(SystemExit) as end:
        main(["compare", "planar_2r", "--formulations", "khane"])
    assert end.value.code == 2
    assert "no 'khane'; did you mean 'kane'?" in capsys.readouterr().err
