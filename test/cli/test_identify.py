import json
import re
from dataclasses import replace

import numpy as np
import pytest

from recorded_motion import Simulated
from robot_dynamics import Dynamics
from robot_dynamics.cli import main
from robot_dynamics.control import Actuators, Friction
from robot_dynamics.identification import Recording, read_parameters
from robot_dynamics.robot import find_robot, read_urdf
from robot_dynamics.robot.urdf.transmissions import read_transmissions
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


@pytest.mark.thorough
def test_a_robot_that_is_not_to_be_used_is_written_only_when_asked_for(runs, tmp_path, capsys):
    """Efforts that have nothing to do with the motion."""
    good = np.load(runs / "run.npz")
    bad, out, report = (tmp_path / name for name in ("bad.npz", "out.urdf", "report.html"))
    tau = np.random.default_rng(0).normal(size=good["tau"].shape)
    tau = np.cumsum(tau, axis=0) - np.linspace(0.0, 1.0, len(tau))[:, None] * tau.sum(axis=0)
    np.savez(bad, time=good["time"], q=good["q"], qd=good["qd"], tau=tau)
    command = ["identify", "planar_2r", str(bad), "--out", str(out)]
    assert main([*command, "--report", str(report)]) == 3
    said = capsys.readouterr()
    assert "do not use the model of joint 'joint_2'" in said.out
    assert "planar_2r: do not use" in said.out and f"wrote {report}\n" in said.out
    assert f"{out} was not written, as the verdict is not to use it; record again" in said.err
    assert report.exists() and not (out.exists() or out.with_suffix(".yaml").exists())
    assert main([*command, "--anyway"]) == 3
    assert out.exists() and capsys.readouterr().err == ""


TRANSMISSION = """
  <transmission name="differential">
    <plugin>transmission_interface/DifferentialTransmission</plugin>
    <actuator name="left" role="actuator1">
      <mechanical_reduction>2</mechanical_reduction>
    </actuator>
    <actuator name="right" role="actuator2">
      <mechanical_reduction>2</mechanical_reduction>
    </actuator>
    <joint name="joint_1" role="joint1"><mechanical_reduction>1</mechanical_reduction></joint>
    <joint name="joint_2" role="joint2"><mechanical_reduction>1</mechanical_reduction></joint>
  </transmission>
</robot>"""


def test_an_arm_with_coupled_drives_is_told_what_a_urdf_cannot_hold(tmp_path, capsys):
    """Motors that rub by 0.5 and 0.9 N m turn both joints; the recording is theirs."""
    urdf, out = tmp_path / "arm.urdf", tmp_path / "fits.urdf"
    urdf.write_text(find_robot("planar_2r").read_text().replace("</robot>", TRANSMISSION))
    motors = Actuators.of_transmissions(read_urdf(urdf), read_transmissions(urdf))
    arm = replace(ARM, friction=Friction.none(2))
    joints = arm.recording(noise=0.0)
    p, pd = (x @ motors.matrix.T for x in (joints.q, joints.qd))
    coulomb = np.array([0.5, 0.9])
    noise = 0.02 * np.random.default_rng(0).normal(size=p.shape)
    f = motors.from_joints(joints.tau) + coulomb * np.tanh(pd / 0.05) + noise
    np.savez(tmp_path / "run.npz", time=joints.time, q=p, qd=pd, tau=f)
    command = ["identify", str(urdf), str(tmp_path / "run.npz"), "--motor-side", "--json"]
    assert main([*command, "--out", str(out)]) == 0
    said = capsys.readouterr()
    assert "WARNING: drives move several joints" in said.err
    told = {name: float(part) for name, part in re.findall(r"(joint_\d) ([\d.]+) %", said.err)}
    assert told.keys() == {"joint_1", "joint_2"} and max(told.values()) > 1.0
    # Drives are scaled to move as their joints: by 2 and -2
    assert json.loads(said.out)["friction"]["coulomb"] == pytest.approx(2.0 * coulomb, rel=0.05)


def test_options_are_refused_by_name(runs, capsys):
    run = str(runs / "run.npz")
    assert main(["identify", "planar_2r", run, "--lock", "elbow"]) == 1
    assert "--lock: 'elbow' is not JOINT=VALUE" in capsys.readouterr().err
    assert main(["identify", "planar_2r", run, "--drive-gains", "1"]) == 1
    assert "--drive-gains: 1 number for 2 joints" in capsys.readouterr().err


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
    assert "no motion of this arm shows hy, Ixx, Ixy, Ixz, Iyz, Izz about" in said  # in a plane
    np.savez(path, **{x: getattr(ARM.recording(seed=3), x) for x in ("time", "q", "qd", "tau")})
    assert main(["payload", str(out), str(path)]) == 0
    assert capsys.readouterr().out.startswith("no load found at endpoint: ")


@pytest.mark.thorough
def test_an_excitation_is_run_recorded_and_identified_by_the_commands_that_it_prints(
    tmp_path, capsys, monkeypatch
):
    pytest.importorskip("mcap")
    monkeypatch.chdir(tmp_path)
    assert main(["excite", "planar_2r", "--duration", "8", "--trials", "5", "--out", "e.csv"]) == 0
    printed = capsys.readouterr().out
    lines = [line.partition("robot-dynamics ")[2].split() for line in printed.splitlines()]
    run = next(line for line in lines if line[:1] == ["simulate"])
    assert run == [*("simulate", "planar_2r", "--motion", "e.csv", "--record", "run.mcap")]
    assert main([*run, "--mass-error", "30"]) == 0
    identify = next(line for line in lines if line[:1] == ["identify"])
    assert main(identify) == 0
    found, model = (
        {b.name: b.value for b in Dynamics(read_urdf(source)).base_parameters}
        for source in ("planar_2r_identified.urdf", find_robot("planar_2r"))
    )
    for name in ("link_1.hx", "link_2.hx"):  # 1 %: what low-pass and friction of the fit leave
        assert found[name] == pytest.approx(1.3 * model[name], rel=0.01)


@pytest.mark.thorough
def test_a_motion_that_leaves_joints_out_says_how_to_lock_them(tmp_path, capsys):
    motion = tmp_path / "motion.csv"
    motion.write_text("time,q.joint_2\n0,0\n1,0.3\n")
    command = ["simulate", "planar_2r", "--motion", str(motion), "--rate", "100"]
    assert main(command) == 1
    assert capsys.readouterr().err == (
        f"robot-dynamics simulate: {motion}: nothing for joint 'joint_1'; give every joint its "
        "positions, or say where it stands: --lock joint_1=POSITION\n"
    )
    assert main([*command, "--lock", "joint_1=0.1"]) == 0
    motion.write_text("time,q.joint_2,q.joint_1\n0,0,0\n1,0.3,0.1\n")  # in another order
    assert main(command) == 0
    motion.write_text("time,q.joint_2,q.joint_1\n0,0,0\n4000,0.3,0.1\n")
    assert main(command) == 1
    assert "lasts 4000 s; give at most 3600 s" in capsys.readouterr().err


def test_stiffness_goes_into_the_parameter_file_that_other_verbs_read(tmp_path, capsys):
    """Both sides of springs of 8e3 and 4e3 N m/rad in a motion without noise."""
    stiffness, parameters = np.array([8e3, 4e3]), tmp_path / "soft.yaml"
    parameters.write_text(
        "/**: {ros__parameters: {rotor: {joint_1: {inertia: 4.0}, joint_2: {inertia: 0.5}}, "
        "friction: {joint_2: {viscous: 7.0}}}}"
    )
    exact = replace(ARM, true=ARM.urdf, friction=Friction.none(2))
    run = exact.recording(seed=0, noise=0.0)
    twist = run.tau / stiffness
    for name, q in (("links", run.q), ("motors", run.q + twist + 1e-3)):
        np.savez(tmp_path / f"{name}.npz", time=run.time, q=q, tau=run.tau)
    command = ["identify", "planar_2r", str(tmp_path / "links.npz"), "--only", "stiffness"]
    command += ["--motors", str(tmp_path / "motors.npz"), "--out", str(tmp_path / "soft.urdf")]
    assert main([*command, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["elasticity"]["stiffness"] == pytest.approx(stiffness, rel=0.01)
    assert said["files"] == [str(parameters)]
    drives = read_parameters(parameters, ARM.urdf)
    assert drives.elasticity.stiffness == pytest.approx(stiffness, rel=0.01)
    assert drives.rotor_inertia.tolist() == [4.0, 0.5]
    assert drives.friction.viscous[1] == 7.0
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert re.search(r"joint_1: stiffness [\d.]+ \+- [\d.e-]+, damping", shown)
    assert f"wrote {parameters}" in shown
    assert main([*command[:5], "--report", "x.html"]) == 1
    assert "--report is of a full identification" in capsys.readouterr().err
