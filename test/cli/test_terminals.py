"""Terminals that are not UTF-8, and machines without a folder that can be written."""

import io
import json
import os
import subprocess
import sys

import pytest

from robot_dynamics.cli import main

FOREIGN = """<robot name="größe"><link name="base"/><link name="рука">
<inertial><origin xyz="1 0 0"/><mass value="2"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="köln" type="revolute"><parent link="base"/><child link="рука"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" velocity="1" effort="9"/></joint></robot>"""


@pytest.fixture
def foreign(tmp_path):
    path = tmp_path / "foreign.urdf"
    path.write_text(FOREIGN, encoding="utf-8")
    return str(path)


def printed(monkeypatch, encoding, *words):
    """Standard output of a command on a terminal of an encoding."""
    raw = io.BytesIO()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding=encoding))
        patch.setattr(sys, "stderr", io.TextIOWrapper(io.BytesIO(), encoding=encoding))
        assert main(list(words)) == 0
        sys.stdout.flush()
        return raw.getvalue().decode(encoding)


@pytest.mark.parametrize("verb", ["info", "torque", "simulate"])
def test_a_terminal_that_lacks_characters_gets_their_codes(verb, foreign, monkeypatch):
    more = ["--duration", "0.2", "--rate", "100"] if verb == "simulate" else []
    assert r"k\xf6ln" in printed(monkeypatch, "ascii", verb, foreign, *more)
    assert "köln" in printed(monkeypatch, "utf-8", verb, foreign, *more)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_json_is_the_same_in_every_encoding(encoding, foreign, monkeypatch):
    found = json.loads(printed(monkeypatch, encoding, "info", foreign, "--json"))
    assert found["robot"] == "größe"
    assert list(found["links"]) == ["base", "рука"]


def test_a_picture_without_a_folder_for_matplotlib_is_named():
    code = (
        "import tempfile\n"
        "tempfile._candidate_tempdir_list = list\n"  # as where no folder can be written
        "from robot_dynamics.cli.output import picture_of\n"
        "from robot_dynamics.foundation.pictures import new_figure\n"
        "print(picture_of(new_figure))"
    )
    environment = {**os.environ, "MPLCONFIGDIR": "/proc/none"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout == (
        "no picture: Matplotlib has no folder that it can write; name one by the variable "
        "MPLCONFIGDIR\n"
    )
