"""The verb study: its output, its files, and one line for every error."""

import json
import os
import re
import resource
import subprocess
import sys

import numpy as np
import pytest

from robot_dynamics.cli import main
from robot_dynamics.control import Friction
from robot_dynamics.identification import Drives
from robot_dynamics.identification.export.parameter_file import write_parameters
from robot_dynamics.robot import find_robot, read_urdf
from robot_dynamics.trajectory.trajectory_files import read_trajectory

FEW = ["--runs", "64", "--duration", "0.4", "--threads", "1"]


def test_a_study_prints_its_limits_joints_and_worst_runs_and_leaves_a_table(tmp_path, capsys):
    out = tmp_path / "out"
    command = ["study", "planar_2r", "--payload", "0..2", "--mass-error", "10%", *FEW]
    assert main([*command, "--modes", "feedforward,pd", "--output", str(out)]) == 0
    shown = capsys.readouterr().out
    for word in ("planar_2r, feedforward: 64 runs", "planar_2r, pd: 64 runs", "error within 0.05"):
        assert word in shown
    assert "variance of the largest error: payload" in shown
    assert sorted(p.name for p in out.iterdir()) == ["runs.parquet", "study.png", "study.yaml"]
    assert main(["study", str(out / "study.yaml"), "--replay", "5"]) == 0
    assert "payload = " in capsys.readouterr().out
    assert (out / "run_5.png").stat().st_size > 1000
    for mode in ("feedforward", "pd"):  # as the page reads it
        assert read_trajectory(out / f"run_5_{mode}.csv", ["joint_1", "joint_2"]).times[-1] > 0.4


def test_few_runs_do_not_share_out_a_variance(capsys):
    assert main(["study", "planar_2r", "--payload", "0..2", *FEW, "--runs", "8"]) == 0
    assert "error: too few runs to share it out; --runs 50 or more" in capsys.readouterr().out


def test_a_study_of_the_end_effector_prints_and_judges_its_error(capsys):
    command = ["study", "planar_2r", "--payload", "0..2", *FEW, "--end-effector", "endpoint"]
    command += ["--modes", "cartesian_impedance", "--max-end-effector-position", "0.02"]
    assert main(command) == 0
    shown = capsys.readouterr().out
    for words in (
        "end effector within 20 mm",
        "end effector 'endpoint': median, 95 %",
        "position, mm",
    ):
        assert words in shown
    assert "variance of the largest error of the end effector: payload" in shown
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["modes"]["cartesian_impedance"]
    assert found["end_effector"]["frame"] == "endpoint"
    assert (
        found["worst"][0]["end_effector_peak_position"]
        == found["end_effector"]["peak_position"][-1]
    )
    assert 0 < found["held"]["end_effector"]["held"] < 64


def test_a_program_reads_what_a_study_says(capsys):
    assert main(["study", "planar_2r", "--payload", "0..2", *FEW, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["modes"]["feedforward"]
    assert found["runs"] == found["held"]["all"]["runs"] == 64
    largest = max(joint[-1] for joint in found["peak_error"])
    assert found["worst"][0]["error"] == pytest.approx(largest)
    assert set(found["variance"]) == {"payload"}


@pytest.mark.thorough
def test_a_run_is_recorded_with_joints_that_are_locked_where_they_stand(tmp_path, capsys):
    pytest.importorskip("mcap")
    motions = pytest.importorskip("robot_dynamics.recordings.recorded_motion")
    file = tmp_path / "run.mcap"
    command = ["study", "planar_2r", "--lock", "joint_2=0.5", "--payload", "0..2", *FEW]
    command += ["--output", str(tmp_path), "--replay", "3", "--modes", "feedforward,pd"]
    assert main([*command, "--record", str(file)]) == 0
    assert f"recording: {file}" in capsys.readouterr().out
    recorded = motions.read_motion(file)
    states = recorded.states_of(recorded.robot())
    assert len(states.position) == 2 * 400  # of both modes, a state a period
    assert (states.position[:, states.joint_names.index("joint_2")] == 0.5).all()
    passed = read_trajectory(tmp_path / "run_3_feedforward.csv").positions
    np.testing.assert_allclose(states.position[:400:10, :1], passed[:40], rtol=0.0, atol=1e-12)


def test_the_largest_bandwidth_is_printed_as_parameters_that_a_study_takes(tmp_path, capsys):
    command = ["study", "planar_2r", "--delay", "0..4ms", *FEW, "--max-error", "0.5"]
    assert main([*command, "--keep", "0.95"]) == 0
    shown = capsys.readouterr().out
    assert "controller_node:" in shown
    assert "gains:" in shown
    bandwidths = [float(line.split()[1]) for line in shown.splitlines() if "respect all" in line]
    assert len(bandwidths) > 3
    gains = tmp_path / "gains.yaml"
    gains.write_text(shown[shown.index("controller_node:") :])
    assert main([*command, "--gains", str(gains)]) == 0  # those that were found, and are as good
    held = re.findall(r"all limits \D*([\d.]+)", capsys.readouterr().out)
    assert float(held[0]) >= 95.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gains: {joint_1: {p: 1.0, d: 1.0}}", "holds no gains of joint 'joint_2'; write joint_2:"),
        ("joint_1: {p: x, d: 1}\njoint_2: {p: 1, d: 1}", "could not convert string to float: 'x'"),
        ("joint_1: {p: -1, d: 1}\njoint_2: {p: 1, d: 1}", "gains: kp"),
    ],
)
def test_gains_that_are_none_are_refused_with_their_file(text, message, tmp_path, capsys):
    file = tmp_path / "gains.yaml"
    file.write_text(text)
    assert main(["study", "planar_2r", *FEW, "--gains", str(file)]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"robot-dynamics study: {file}: {message}")
    assert error.count("\n") == 1


def test_a_study_follows_a_motion_from_a_file(tmp_path, capsys):
    motion = tmp_path / "motion.csv"
    motion.write_text("time,q.joint_1,q.joint_2\n0,0,0\n0.15,0.1,0.1\n0.3,0.2,-0.1\n")
    command = ["study", "planar_2r", *FEW, "--motion", str(motion), "--resolution", "0..1mrad"]
    assert main([*command, "--effort-rate", "1e4"]) == 0
    assert "variance of the largest error: resolution" in capsys.readouterr().out


@pytest.mark.thorough
def test_a_law_that_takes_a_shaking_base_for_still_errs_more(capsys):
    errors = []
    for known in ("motion", "still"):
        command = ["study", "planar_2r", *FEW, "--base-motion", "sine:x:0.5:2"]
        assert main([*command, "--known-base", known, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)["modes"]["feedforward"]
        errors.append(found["worst"][0]["error"])
    assert errors[1] > 5.0 * errors[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--base-motion", "sine:w:1:1"], "base motion 'sine:w:1:1': give sine:AXIS:AMPLITUDE:HZ"),
        (["--runs", "0"], "runs is 0; a study takes at least one"),
        (["--seed", "-1"], "seed is -1; give one from 0"),
        (["--step", "1"], "step is 1 s; give one above zero and up to the period of control"),
        (["--mass-error", "0+-60%"], "mass_error: the distribution reaches -1."),
        (["--payload", "heavy"], "--payload: 'heavy' is no distribution; write A..B"),
        (["--payload", "0..3ms"], "--payload: unit 'ms' in '0..3ms' is none of --payload (point "),
        (["--rate", "5kg"], "--rate: unit 'kg' in '5kg' is none of --rate (control rate); write "),
        (["--motion", "jump"], "no motion 'jump' in robot_dynamics.study"),
        (["--scheduler", "nowhere"], "no scheduler answers at nowhere"),
        (["--record", "run.mcap"], "--record writes one run; choose it with --replay"),
        (["--resume"], "--resume continues the study in a folder; name it with --output"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(options, message, capsys):
    given = ["study", "planar_2r", *FEW, *options]
    assert main(given) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"robot-dynamics study: {message}")
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("paylod: 0..2", "no option 'paylod' of a study; known are "),
        ("runs: many", "runs: 'many' is not a whole number"),
        ("runs: 2.5", "runs: 2.5 is not a whole number"),
        ("bandwidth: [1]", "bandwidth: [1] is not a number"),
    ],
)
def test_what_is_wrong_in_a_study_file_is_told_with_the_file(line, message, tmp_path, capsys):
    file = tmp_path / "study.yaml"
    file.write_text(f"robot: planar_2r\n{line}\n")
    assert main(["study", str(file)]) == 1
    assert f"{file}: {message}" in capsys.readouterr().err


@pytest.mark.thorough
def test_a_full_disk_is_told_in_one_line_and_leaves_nothing_half_written(tmp_path):
    def no_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    out = tmp_path / "out"
    done = subprocess.run(
        [sys.executable, "-m", "robot_dynamics", "study", "planar_2r", *FEW, "--output", str(out)],
        preexec_fn=no_room,
        # Byte code cut off by the limit would break every later import
        env=os.environ | {"ROBOT_DYNAMICS_CACHE": "", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("robot-dynamics study: ")
    assert "File too large" in done.stderr
    assert done.stderr.count("\n") == 1
    assert [p.name for p in out.rglob("*") if p.is_file()] == ["study.yaml"]


@pytest.mark.thorough
def test_identified_friction_is_that_of_studies_and_simulations(tmp_path, capsys):
    robot, file = read_urdf(find_robot("planar_2r")), tmp_path / "found.yaml"
    friction = Friction(np.full(2, 0.1), np.full(2, 5.0), memory=np.array([1.0, 0.75]))
    write_parameters(file, robot, Drives(friction, np.full(2, 0.05)))
    peaks = {}
    for given in ((), ("--parameters", str(file))):
        words = ["study", "planar_2r", "--runs", "2", "--duration", "1", "--modes", "pd"]
        assert main([*words, "--json", *given]) == 0
        studied = json.loads(capsys.readouterr().out)["modes"]["pd"]
        assert main(["simulate", "planar_2r", "--duration", "1", "--json", *given]) == 0
        simulated = json.loads(capsys.readouterr().out)
        peaks[given] = studied, simulated
    alone, with_file = peaks.values()
    assert alone[0] != with_file[0]
    assert alone[1] != with_file[1]
    assert main(["study", "planar_2r", "--parameters", str(tmp_path / "none.yaml")]) == 1
    assert capsys.readouterr().err.startswith(f"robot-dynamics study: {tmp_path / 'none.yaml'}: ")
