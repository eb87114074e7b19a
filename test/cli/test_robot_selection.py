"""Options of every verb that takes a robot: --tip, --joints and arguments of a xacro file."""

import argparse
import json

import pytest

from oracles import example_folder
from robot_dynamics.cli import VERBS, main, parser

needs_panda = pytest.mark.skipif(
    example_folder() is None, reason="example-robot-data is not installed"
)


def robot_parsers(top):
    """Parsers below `top` that take a positional robot."""
    found = [top] if any(a.dest == "robot" and not a.option_strings for a in top._actions) else []
    for action in top._actions:
        if isinstance(action, argparse._SubParsersAction):
            found += [one for sub in action.choices.values() for one in robot_parsers(sub)]
    return found


WITHOUT_SELECTION = {"demo", "plot", "replay", "ros", "study"}
"""Verbs whose robot is another program's, or is chosen in a file."""


@pytest.mark.parametrize("verb", sorted(set(VERBS) - WITHOUT_SELECTION))
def test_every_verb_with_a_robot_takes_tip_and_joints(verb):
    (choices,) = (a for a in parser(verb)._actions if isinstance(a, argparse._SubParsersAction))
    for one in robot_parsers(choices.choices[verb]):
        assert {"--tip", "--joints"} <= set(one._option_string_actions), one.prog


@needs_panda
@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--tip", "panda_hand"], "not on the way to panda_hand"),
        (["--joints", ",".join(f"panda_joint{k}" for k in range(1, 8))], "not of --joints"),
    ],
)
def test_fingers_are_left_out_in_one_line(words, reason, capsys):
    assert main(["torque", "panda", *words, "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["joints"] == [f"panda_joint{k}" for k in range(1, 8)]
    assert err.splitlines()[-1] == f"left out: panda_finger_joint1 at 0.02 ({reason})"


@pytest.mark.thorough
@needs_panda
def test_a_locked_joint_stands_where_lock_says(tmp_path, capsys):
    words = ["panda", "--tip", "panda_hand", "--lock", "panda_finger_joint1=0.01", "--source"]
    assert main(["export", "model", *words, "-o", str(tmp_path / "arm.c")]) == 0
    out, err = capsys.readouterr()
    assert "left out" not in err
    assert "7 joints" in out
    command = (tmp_path / "arm.c").read_text().splitlines()[2]
    assert "--tip panda_hand --lock panda_finger_joint1=0.01" in command


def test_the_follower_before_a_tip_keeps_its_leader(tmp_path, capsys):
    body = (
        '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
        "</inertial>"
    )
    joints = "".join(
        f'<link name="{name}">{body}</link><joint name="{name}_joint" type="revolute">'
        f'<parent link="base"/><child link="{name}"/><axis xyz="0 0 1"/>{mimic}'
        '<limit lower="-1" upper="1" velocity="1" effort="9"/></joint>'
        for name, mimic in (
            ("leader", ""),
            ("follower", '<mimic joint="leader_joint"/>'),
            ("other", ""),
        )
    )
    path = tmp_path / "hand.urdf"
    path.write_text(f'<robot name="hand"><link name="base"/>{joints}</robot>')
    assert main(["torque", str(path), "--tip", "follower", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["joints"] == ["leader_joint"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--joints", "joint_9"], "--joints: no joint 'joint_9' in robot 'planar_2r'"),
        (["--tip", "hand"], "no frame 'hand' in robot 'planar_2r'"),
        (["--tip", "base_link"], "robot 'planar_2r' has no joint left; leave out fewer"),
    ],
)
def test_a_selection_that_leaves_no_robot_is_refused(words, message, capsys):
    assert main(["torque", "planar_2r", *words]) == 1
    assert message in capsys.readouterr().err


def test_arguments_of_a_xacro_file_may_stand_anywhere_behind_the_verb(capsys):
    # They reach the file: a URDF refuses them by its name
    for words in (["planar_2r", "name:=a", "--json"], ["planar_2r", "--json", "name:=a"]):
        assert main(["torque", *words]) == 1
        assert "planar_2r.urdf: takes no arguments (name:=a)" in capsys.readouterr().err


def test_the_same_holds_for_actions_of_a_verb(tmp_path, capsys):
    words = ["export", "model", "planar_2r", "name:=a", "-o", str(tmp_path / "a.so")]
    assert main(words) == 1
    assert "takes no arguments (name:=a)" in capsys.readouterr().err


@pytest.mark.parametrize(("position", "warned"), [("3", True), ("-2.9", True), ("2.8", False)])
def test_a_position_of_lock_outside_the_limits_is_said_with_the_range(position, warned, capsys):
    assert main(["urdf", "planar_2r", "--lock", f"joint_2={position}"]) == 0
    line = f"--lock: joint 'joint_2' at {position} is outside its limits, -2.8 to 2.8 rad"
    assert capsys.readouterr().err == (f"WARNING: {line}\n" if warned else "")
