"""robot-dynamics compare: one row for each formulation, all with the same torques."""

import json
import re

import pytest

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.cli import main
from robot_dynamics.cli.verbs import compare
from robot_dynamics.formulations import FORMULATIONS
from robot_dynamics.papers.counts.printed_counts import ARMS
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


@pytest.mark.thorough
def test_arms_of_the_publications_have_our_counts_beside_the_printed_ones(capsys):
    words = ("--papers", "--formulations", "augmented_body", "zero_reference", "--json")
    assert main(["compare", *words]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found["arms"]) == set(ARMS)
    assert max(row["difference"] for arm in found["arms"].values() for row in arm.values()) < 1e-12
    printed = [tuple(row.values()) for row in found["printed"]]
    assert printed == [  # as the papers have them
        ("zero_reference", "Gupta: [Gupta1986]", "any arm", 816, 708),
        ("augmented_body", "Renaud: [Renaud1987], example", "renaud_6r", 181, 127),
        ("augmented_body", "Renaud, grouped: [Renaud1987], example", "renaud_6r", 164, 115),
    ]
    general = {name: count["multiplications"] for name, count in found["any arm"].items()}
    for arm in found["arms"].values():  # numbers and zeros of an arm only take operations away
        for name, row in arm.items():
            assert row["multiplications"] < general[name]


def test_printed_counts_stand_below_ours_in_the_column_of_their_arm(capsys, monkeypatch):
    monkeypatch.setattr(compare, "ARMS", ("renaud_6r",))
    assert main(["compare", "--papers", "--formulations", "augmented_body"]) == 0
    lines = capsys.readouterr().out.splitlines()
    heading, _, ours, renaud, grouped = lines[1:6]
    end = heading.index("renaud_6r") + len("renaud_6r")
    for line, count in ((renaud, "181 / 127"), (grouped, "164 / 115")):
        assert line[:end].endswith(count) and "Renaud" in line
    robot = Dynamics(read_urdf(find_robot("renaud_6r")), "augmented_body")
    count = robot.operation_count("inverse")
    assert ours.endswith(f"{count.multiplications} / {count.additions}")
    assert "4.5 ms on a PDP 11/45" in "\n".join(lines)


@pytest.mark.parametrize("words", [(), ("planar_2r", "--papers")])
def test_either_a_robot_or_the_arms_of_the_publications_are_compared(words, capsys):
    assert main(["compare", *words]) == 1
    assert "name a robot to compare the formulations on, or --papers" in capsys.readouterr().err
