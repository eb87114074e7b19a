from dataclasses import replace

import numpy as np
import pytest

from recorded_motion import Simulated
from robot_dynamics.cli import main
from robot_dynamics.identification import Recording
from robot_dynamics.robot import find_robot, read_urdf
from robot_dynamics.trajectory.trajectory_files import read_trajectory

ARM = Simulated.of("planar_2r")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for name, seed in (("run", 0), ("other", 5)):
        recording: Recording = ARM.recording(seed=seed, noise=0.005)
        np.savez(
            folder / f"{name}.npz",
            time=recording.time, q=recording.q, qd=recording.qd, tau=recording.tau,
        )  # fmt: skip
    return folder


def test_a_recording_becomes_a_urdf_that_another_recording_confirms(runs, capsys):
    out, report = runs / "fits.urdf", runs / "report.html"
    command = ["identify", "planar_2r", str(runs / "run.npz"), "--out", str(out)]
    assert main([*command, "--report", str(report)]) == 0
    assert "planar_2r: good" in capsys.readouterr().out
    page = report.read_text()
    assert "http" not in page and "data:image/png" in page and "Base parameters" in page
    assert main(["validate", str(out), str(runs / "other.npz")]) == 0
    assert main(["validate", "planar_2r", str(runs / "other.npz")]) == 3
    assert "unexplained" in capsys.readouterr().out
    assert read_urdf(out).joint_names == read_urdf(find_robot("planar_2r")).joint_names


def test_a_bad_recording_is_one_line_and_writes_nothing(runs, tmp_path, capsys):
    bad = tmp_path / "bad.npz"
    np.savez(bad, time=np.arange(100.0), q=np.zeros((100, 2)))
    out = tmp_path / "out.urdf"
    assert main(["identify", "planar_2r", str(bad), "--out", str(out)]) == 1
    assert capsys.readouterr().err.count("\n") == 1
    assert not out.exists()


def test_options_are_refused_by_name(runs, capsys):
    run = str(runs / "run.npz")
    assert main(["identify", "planar_2r", run, "--lock", "elbow"]) == 1
    assert "--lock: 'elbow' is not JOINT=VALUE" in capsys.readouterr().err
    assert main(["identify", "planar_2r", run, "--drive-gains", "1"]) == 1
    assert "--drive-gains: 1 numbers for 2 joints" in capsys.readouterr().err


def test_an_excitation_becomes_a_trajectory_file(tmp_path, capsys):
    out = tmp_path / "excitation.csv"
    command = ["excite", "planar_2r", "--duration", "6", "--trials", "30", "--out", str(out)]
    assert main(command) == 0
    assert "30 motions tried; condition number" in capsys.readouterr().out
    motion = read_trajectory(out, ARM.urdf.joint_names)
    assert motion.times[-1] == 6.0
    assert main([*command, "--box", "1,2"]) == 1
    assert "--box: '1,2' is not six numbers" in capsys.readouterr().err


def test_a_load_is_weighed(runs, tmp_path, capsys):
    out = runs / "fits.urdf"
    assert main(["identify", "planar_2r", str(runs / "run.npz"), "--out", str(out)]) == 0
    carrying = replace(ARM, true=ARM.true.with_payload(ARM.true.tips[0], 3.0))
    recording, path = carrying.recording(seed=3, noise=0.002), tmp_path / "loaded.npz"
    np.savez(path, time=recording.time, q=recording.q, qd=recording.qd, tau=recording.tau)
    capsys.readouterr()
    assert main(["payload", str(out), str(path)]) == 0
    said = capsys.readouterr().out
    assert float(said.split(": ")[1].split()[0]) == pytest.approx(3.0, rel=0.1)
    assert "the motion does not show" in said  # an arm in a plane
