"""Completion of partial words in a shell."""

import os
import subprocess
import sys

import pytest

from robot_dynamics.cli import VERBS

PATIENCE = 120.0


def completed(line, folder):
    """Return the completions of a line, as argcomplete's shell function requests them."""
    answer = folder / "answer"
    asked = {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(answer),
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
        "COMP_TYPE": "9",
    }
    done = subprocess.run(
        [sys.executable, "-m", "robot_dynamics"],
        env={**os.environ, **asked},
        cwd=folder,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, b""), done.stderr
    return {word.strip() for word in answer.read_text().splitlines()}


@pytest.fixture(autouse=True)
def _installed():
    pytest.importorskip("argcomplete")


def test_verbs_are_completed(tmp_path):
    offered = completed("robot-dynamics ", tmp_path)
    assert set(VERBS) <= offered
    assert completed("robot-dynamics doc", tmp_path) == {"doctor"}


def test_options_are_those_of_the_verb(tmp_path):
    assert completed("robot-dynamics torque --qd", tmp_path) == {"--qd", "--qdd"}
    assert completed("robot-dynamics info planar_2r --conv", tmp_path) == {"--convention"}


def test_choices_of_an_option_are_completed(tmp_path):
    assert completed("robot-dynamics torque --formulation kan", tmp_path) == {"kane"}


def test_a_robot_is_a_known_name_or_a_file(tmp_path):
    (tmp_path / "planar_arm.urdf").write_text("<robot/>")
    expected = {"planar_2r", "planar_arm.urdf"}
    assert completed("robot-dynamics info planar", tmp_path) == expected
    assert completed("robot-dynamics replay planar", tmp_path) == {"planar_arm.urdf"}
