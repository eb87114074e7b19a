"""robot-dynamics effort: what it fills in, and what it says of bad input."""

import numpy as np
import pytest

from oracles import pin_model
from robot_dynamics import read_urdf
from robot_dynamics.cli import main
from robot_dynamics.robot import find_robot
from robot_dynamics.trajectory import interpolate
from robot_dynamics.trajectory.trajectory_files import read_trajectory

CSV = "time,q.joint_2,q.joint_1\n0,0,0\n1,-0.5,0.8\n2,0,0\n"

# float64 on both sides, of up to 200 N m; a joint in another's place gives 100 N m
ROUND_OFF = 1e-9


@pytest.fixture
def motion(tmp_path):
    path = tmp_path / "motion.csv"
    path.write_text(CSV)  # in another order than the robot's
    return path


@pytest.mark.parametrize("suffix", [".csv", ".yaml"])
@pytest.mark.parametrize("options", [[], ["--keep-points"]], ids=["lines", "keep_points"])
def test_every_point_has_the_effort_of_pinocchio(motion, suffix, options, capsys):
    output = motion.with_suffix(f".out{suffix}")
    assert main(["effort", "planar_2r", str(motion), "--output", str(output), *options]) == 0
    assert str(output) in capsys.readouterr().out
    filled = read_trajectory(output)
    assert filled.joint_names == ("joint_2", "joint_1")
    oracle = pin_model(read_urdf(find_robot("planar_2r")))
    swap = [1, 0]
    states = interpolate(read_trajectory(motion)).sample(filled.times)
    for *state, tau in zip(*states, filled.effort, strict=True):
        expected = oracle.inverse(*(x[swap] for x in state))[swap]
        assert np.abs(tau - expected).max() < ROUND_OFF * 200.0
    assert (len(filled.times) == 3) == bool(options)


def test_between_points_a_straight_line_is_as_close_as_was_asked(motion, capsys):
    assert main(["effort", "planar_2r", str(motion), "--tolerance", "0.05"]) == 0
    filled = read_trajectory(motion.with_name("motion_with_effort.csv"))
    oracle = pin_model(read_urdf(find_robot("planar_2r")))
    t = np.linspace(0.0, 2.0, 501)
    for at, *state in zip(t, *interpolate(read_trajectory(motion)).sample(t), strict=True):
        expected = oracle.inverse(*(x[[1, 0]] for x in state))[[1, 0]]
        line = [np.interp(at, filled.times, column) for column in filled.effort.T]
        assert np.abs(line - expected).max() < 0.05 + 1e-3  # N m; it was asked at 1 kHz
    assert "motion_with_effort.csv" in capsys.readouterr().out


def test_joints_that_are_left_out_stand_where_one_says(tmp_path, capsys):
    path = tmp_path / "one.csv"
    path.write_text("time,q.joint_1\n0,0\n1,0.8\n2,0\n")
    assert main(["effort", "planar_2r", str(path)]) == 1
    assert "say where it stands: --lock joint_2=POSITION" in capsys.readouterr().err
    assert main(["effort", "planar_2r", str(path), "--keep-points", "--lock", "joint_2=-0.5"]) == 0
    filled = read_trajectory(tmp_path / "one_with_effort.csv")
    q, qd, qdd = (
        np.column_stack([x[:, 0], constant * np.ones(3)])
        for x, constant in zip(
            interpolate(read_trajectory(path)).sample(filled.times), (-0.5, 0, 0), strict=True
        )
    )
    oracle = pin_model(read_urdf(find_robot("planar_2r")))
    expected = [oracle.inverse(*state)[0] for state in zip(q, qd, qdd, strict=True)]
    np.testing.assert_allclose(filled.effort[:, 0], expected, atol=ROUND_OFF * 200.0)


def test_an_effort_beyond_its_limit_is_marked(tmp_path, capsys):
    path = tmp_path / "fast.csv"
    path.write_text("time,q.joint_1,q.joint_2\n0,0,0\n0.2,1.5,-1\n")
    assert main(["effort", "planar_2r", str(path)]) == 0
    assert "% !" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "output", "message"),
    [
        ("time,q.joint_1\n0,0\n1,1\n", "out.csv", "nothing for joint 'joint_2', one of 1 that"),
        ("time,q.joint_1,q.joint_3\n0,0,0\n", "out.csv", "no joint 'joint_3'"),
        ("q.joint_1\n0\n", "out.csv", "no header; the first row is"),
        (CSV, "out.txt", "out.txt: unknown kind of file; use .yaml or .csv"),
        (CSV, "no/such/folder.csv", "folder.csv: cannot be written (No such file or directory)"),
    ],
)
def test_a_mistake_is_one_line_and_nothing_is_written(tmp_path, capsys, text, output, message):
    path = tmp_path / "motion.csv"
    path.write_text(text)
    assert main(["effort", "planar_2r", str(path), "--output", str(tmp_path / output)]) == 1
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert {file.name for file in tmp_path.iterdir()} == {"motion.csv"}
