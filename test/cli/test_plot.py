"""robot-dynamics plot: what a picture of a recorded run shows."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("mcap", reason="recordings come with the extra 'view'")

from robot_dynamics.cli import main
from robot_dynamics.cli.verbs.plot import figure
from robot_dynamics.recordings.recorded_motion import read_motion
from robot_dynamics.robot import find_robot


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Three runs with a second between them."""
    path = tmp_path_factory.mktemp("plot") / "run.mcap"
    words = ["simulate", "planar_2r", "--duration", "0.5", "--rate", "200", "--record", str(path)]
    assert main(words) == 0
    return path


def test_runs_are_apart_and_the_legend_is_beside_the_axes(run):
    motion = read_motion(run)
    picture = figure(motion, motion.robot())
    assert len(picture.axes) == 6
    for axis in picture.axes:
        assert axis.get_legend() is None
        for line in axis.get_lines():
            if not np.ptp(line.get_xdata()) <= 1.0:  # not the lines of limits
                assert np.isnan(line.get_xdata()).sum() >= 2
    (legend,) = picture.legends
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels[:2] == ["measured", "desired"]
    assert len(set(labels)) == len(labels)


def test_some_joints_are_drawn_alone(run, tmp_path, capsys):
    motion = read_motion(run)
    picture = figure(motion, motion.robot(), ["joint_2"])
    assert [axis.get_ylabel() for axis in picture.axes] == ["joint_2\nrad", "mrad", "N m"]
    out = tmp_path / "run.png"
    assert main(["plot", str(run), "-o", str(out), "--joints", "joint_2"]) == 0
    assert out.read_bytes().startswith(b"\x89PNG")
    assert main(["plot", str(run), "-o", str(out), "--joints", "joint_3"]) == 1
    assert "no joint 'joint_3' in robot 'planar_2r'" in capsys.readouterr().err


def test_only_recorded_joints_have_a_row(run):
    motion = read_motion(run)
    whole = motion.topics["joint_states"]
    first = replace(whole.ordered(["joint_1"]), effort=np.full((len(whole.stamp), 1), np.nan))
    partly = replace(motion, topics={"joint_states": first})
    picture = figure(partly, motion.robot())
    assert [axis.get_ylabel() for axis in picture.axes] == ["joint_1\nrad", "mrad", "N m"]


def test_a_recording_of_another_robot_or_no_recording_is_refused(run, tmp_path, capsys):
    other = tmp_path / "other.urdf"
    other.write_text(find_robot("planar_2r").read_text().replace("joint_", "axis_"))
    assert main(["plot", str(run), "--robot", str(other)]) == 1
    assert "says nothing of joint" in capsys.readouterr().err
    table = tmp_path / "run.csv"
    table.write_text("time\n0\n")
    assert main(["plot", str(table)]) == 1
    assert "is no bag; give a .mcap or .db3 file" in capsys.readouterr().err
