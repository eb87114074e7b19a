"""Robots of the package robot_descriptions, from a local cache."""

import json
import os
import shutil
import subprocess
import sys

import pytest

pytest.importorskip("robot_descriptions")

from robot_dynamics.errors import UnknownNameError
from robot_dynamics.robot.catalogue import described_robots, find_robot, known_robots, share_folder

PATIENCE = 120.0
REPOSITORY = "example-robot-data"  # where robot_descriptions has finger_edu from
NAME = "finger_edu"


@pytest.fixture
def cached(tmp_path):
    """The environment of a machine that has fetched one repository: a robot of ours stands in."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    made = tmp_path / "made"
    urdf = made / "robots" / "finger_edu_description" / "robots" / "finger_edu.urdf"
    urdf.parent.mkdir(parents=True)
    shutil.copy(share_folder() / "urdf" / "planar_2r.urdf", urdf)
    git = ("git", "-C", str(made), "-c", "user.name=x", "-c", "user.email=x@example.org")
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "robot")):
        subprocess.run([*git, *words], check=True)
    said = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    commit = said.stdout.strip()
    place = tmp_path / "cache" / f"{REPOSITORY}-{commit}" / REPOSITORY
    shutil.copytree(made, place)
    cache = {"ROBOT_DESCRIPTIONS_CACHE": str(tmp_path / "cache")}
    return {**os.environ, **cache, "ROBOT_DESCRIPTION_COMMIT": commit}


def info(name, environment):
    words = [sys.executable, "-m", "robot_dynamics", "info", name, "--json"]
    return subprocess.run(
        words, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


def test_a_robot_is_found_by_the_name_of_its_description(cached):
    done = info(f"{NAME}_description", cached)
    assert done.returncode == 0, done.stderr
    assert [joint["name"] for joint in json.loads(done.stdout)["joints"]] == ["joint_1", "joint_2"]


def test_a_robot_that_cannot_be_fetched_is_one_clear_line(cached, tmp_path):
    (tmp_path / "file").write_text("no folder")
    environment = {**cached, "ROBOT_DESCRIPTIONS_CACHE": str(tmp_path / "file")}
    done = info(f"{NAME}_description", environment)
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = [x for x in done.stderr.splitlines() if x.startswith("robot-dynamics")]
    assert f"robot_descriptions cannot fetch {NAME}_description: " in line
    assert "Traceback" not in done.stderr


def test_names_are_those_with_a_urdf_and_hide_none_that_has_a_file():
    described = described_robots()
    assert "gen2_description" in described
    assert "aloha_mj_description" not in described  # has no URDF
    assert not described & set(known_robots())


def test_a_name_that_is_nearly_one_is_suggested():
    with pytest.raises(UnknownNameError, match=r"did you mean 'gen2_description'\?"):
        find_robot("gen2_descriptio")
