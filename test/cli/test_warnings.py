"""Warnings on the command line."""

import json

import pytest

from robot_dynamics.cli import main

LOOSE = """<robot name="loose"><link name="base"/><link name="bob">
<inertial><origin xyz="1 0 0"/><mass value="2"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="hinge" type="revolute"><parent link="base"/><child link="bob"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" velocity="1"/>
<dynamics damping="0.1" stiction="3"/></joint></robot>"""


@pytest.fixture
def loose(tmp_path):
    path = tmp_path / "loose.urdf"
    path.write_text(LOOSE)
    return str(path)


def test_a_verb_says_in_one_line_how_many_warnings_info_prints(loose, capsys):
    assert main(["torque", loose]) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert main(["info", loose, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)["warnings"]
    assert len(printed) > 1
    assert any("attribute 'stiction' of <dynamics>" in text for text in printed)
    assert line == (
        f"WARNING: {len(printed)} warnings about the URDF, which `robot-dynamics info {loose}` "
        "prints"
    )


@pytest.mark.parametrize("words", ["info", "torque"])
def test_a_quiet_verb_prints_none(words, loose, capsys):
    assert main([words, loose, "-q"]) == 0
    assert capsys.readouterr().err == ""


def test_every_verb_says_that_a_loop_is_not_modelled(tmp_path, capsys):
    path = tmp_path / "closed.urdf"
    path.write_text(LOOSE.replace("</robot>", '<loop_joint name="strut"/></robot>'))
    assert main(["torque", str(path)]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert any(
        "loop_joint 'strut'" in line and "efforts are those of the open chain" in line
        for line in lines
    )
    assert len(lines) == 2  # and how many others `info` prints
