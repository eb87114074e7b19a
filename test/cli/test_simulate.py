"""robot-dynamics simulate: what it says of motions that the effort limits do not allow."""

import json

import numpy as np
import pytest

from robot_dynamics.cli import main

PENDULUM = """<robot name="pendulum"><link name="base"/><link name="bob">
<inertial><origin xyz="1 0 0"/><mass value="2"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="hinge" type="revolute"><parent link="base"/><child link="bob"/><axis xyz="0 1 0"/>
<limit lower="-{half}" upper="{half}" velocity="10" effort="{effort}"/></joint></robot>"""
HOLDS = 2.0 * 9.81  # N m, level as in the middle of its range


def pendulum(folder, effort, half=1.0):
    path = folder / "pendulum.urdf"
    path.write_text(PENDULUM.format(effort=effort, half=half))
    return str(path)


def answer(capsys, *words):
    assert main(["simulate", *words, "--duration", "1", "--rate", "200", "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_default_motion_needs_at_most_four_fifths_of_the_limits(tmp_path, capsys):
    whole = answer(capsys, pendulum(tmp_path, 1e3))["needed_effort"][0]
    least = answer(capsys, pendulum(tmp_path, HOLDS * 2.0))
    assert whole > 1.5 * HOLDS  # it would not fit
    assert least["needed_effort"][0] <= 0.8 * HOLDS * 2.0
    assert least["modes"]["feedforward"]["saturated"] == [0.0]
    (sentence,) = least["remarks"]
    assert "tracking error with feedforward" in sentence
    assert " to " not in sentence  # one joint has one ratio


def test_an_impossible_motion_is_named_with_joint_and_share_of_saturated_cycles(tmp_path, capsys):
    found = answer(capsys, pendulum(tmp_path, 5.0))
    needed = found["needed_effort"][0]
    assert HOLDS < needed < 1.5 * HOLDS  # a small motion about the level pose
    first, *cut = found["remarks"]
    assert first == (
        f"the motion is impossible: joint 'hinge' needs {needed:.4g} N m, beyond its limit of "
        "5 N m; correct the limits in the URDF, or give another --motion"
    )
    assert found["modes"]["feedforward"]["saturated"][0] > 0.9
    assert cut[0].startswith("effort at its limit with feedforward, share of the cycles: hinge ")
    assert not any("times smaller" in line for line in found["remarks"])


def test_a_robot_without_effort_limits_says_so_with_the_efforts_that_it_needs(tmp_path, capsys):
    found = answer(capsys, pendulum(tmp_path, 0.0))
    needed = np.max(found["needed_effort"])
    assert found["remarks"][-1] == (
        "no effort limits for the robot in the URDF, so nothing is cut: the motion needs up to "
        f"{needed:.4g} N m"
    )


@pytest.mark.parametrize(("rate", "cycles"), [("1", "1"), ("1e9", "1e+09")])
def test_a_rate_that_makes_no_comparison_is_refused(tmp_path, capsys, rate, cycles):
    words = ["simulate", pendulum(tmp_path, 100.0), "--duration", "1", "--rate", rate]
    assert main(words) == 1
    said = capsys.readouterr().err
    assert f"a motion of 1 s has {cycles} cycles, and 10 to 4e+06 are taken" in said
