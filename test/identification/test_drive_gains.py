"""Drive gains of efforts that are currents, from a load that is known."""

import json
from dataclasses import replace

import numpy as np
import pytest

from recorded_motion import Simulated
from robot_dynamics.cli import main
from robot_dynamics.control.actuators import Actuators
from robot_dynamics.errors import RecordingError
from robot_dynamics.identification import Recording, identify_drive_gains
from robot_dynamics.spatial import Inertia

COM, INERTIA = np.array([0.05, 0.1, 0.08]), 0.01 * np.eye(3)


def currents(name, gains, mass=3.0, noise=0.01):
    """The URDF's robot, and recordings of currents without and with a load at its tip."""
    arm = Simulated.of(name)
    carrying = replace(arm, true=arm.true.with_payload(arm.urdf.tips[0], mass, COM, INERTIA))
    recordings = arm.recording(noise=noise), carrying.recording(seed=3, noise=noise)
    return arm.urdf, *(replace(one, tau=one.tau / gains) for one in recordings)


def test_gains_are_found_to_within_their_deviations():
    true = np.array([-8.0, 12.0, 15.0, -20.0, 25.0, 30.0])
    robot, empty, loaded = currents("ur5", true)
    load = Inertia.from_com(3.0, COM, INERTIA)
    found = identify_drive_gains(robot, empty, loaded, load, robot.tips[0])
    assert (np.abs(found.values - true) < 3.0 * found.deviation).all()
    assert (found.deviation < 0.01 * np.abs(true)).all()
    np.testing.assert_array_equal(found.on(empty).tau, empty.tau * found.values)


def test_gains_of_coupled_motors_are_those_of_the_motors():
    robot, empty, loaded = currents("planar_2r", 1.0)
    motors = Actuators.of_coupling(robot.joint_names, [[50.0, 0.0], [40.0, 40.0]])
    true = np.array([0.5, 0.7])
    asked = [
        replace(one, tau=motors.to_joints((one.tau @ np.linalg.inv(motors.matrix)) / true))
        for one in (empty, loaded)
    ]
    load = Inertia.from_com(3.0, COM, INERTIA)
    found = identify_drive_gains(robot, *asked, load, robot.tips[0], actuators=motors)
    np.testing.assert_allclose(found.values, true, rtol=0.02)  # friction is that of joints
    np.testing.assert_allclose(found.on(asked[0]).tau, empty.tau, rtol=0.02, atol=0.5)


def test_a_load_that_is_too_light_is_refused():
    robot, empty, loaded = currents("planar_2r", np.array([10.0, 20.0]), mass=1e-4)
    load = Inertia.from_com(1e-4, COM, 0.0 * INERTIA)
    with pytest.raises(RecordingError, match="does not determine the gain of any drive; take"):
        identify_drive_gains(robot, empty, loaded, load, robot.tips[0])


def test_currents_alone_give_the_ratios_of_the_gains_and_say_that_no_more_is_known(
    tmp_path, capsys
):
    true = np.array([10.0, -20.0])
    _, empty, _ = currents("planar_2r", true)
    run = save(tmp_path / "run.npz", empty)
    out = tmp_path / "fits.urdf"
    assert main(["identify", "planar_2r", run, "--currents", "--json", "--out", str(out)]) == 3
    said = json.loads(capsys.readouterr().out)
    reference = ("joint_1", "joint_2").index(said["reference"])
    ratios, deviation = np.array(said["ratios"]), np.array(said["deviation"])
    assert (np.abs(ratios - true / true[reference]) <= 3.0 * deviation).all()
    assert deviation.max() < 0.05
    assert not out.exists()
    assert main(["identify", "planar_2r", run, "--currents"]) == 3
    assert "not determined without a known load: the gains themselves" in capsys.readouterr().out
    assert main(["identify", "planar_2r", run, "--currents", "--drive-gains", "1,1"]) == 1
    assert "--currents is for unknown gains without a load" in capsys.readouterr().err


def save(path, recording: Recording):
    np.savez(path, time=recording.time, q=recording.q, qd=recording.qd, tau=recording.tau)
    return str(path)


def test_the_command_line_identifies_currents_by_a_known_load(tmp_path, capsys):
    _, *recordings = currents("planar_2r", np.array([10.0, -20.0]), noise=0.003)
    names = ("empty.npz", "loaded.npz")
    empty, loaded = (save(tmp_path / n, r) for n, r in zip(names, recordings, strict=True))
    out = str(tmp_path / "fits.urdf")
    command = ["identify", "planar_2r", empty, "--out", out, "--loaded", loaded]
    load = ",".join(str(x) for x in (3.0, *COM, 0.01, 0, 0, 0.01, 0, 0.01))
    assert main([*command, "--load", load]) == 0
    said = capsys.readouterr().out
    assert "planar_2r: good" in said
    gains = said.partition("--drive-gains=")[2].split()[0]
    np.testing.assert_allclose([float(x) for x in gains.split(",")], [10.0, -20.0], rtol=0.02)
    assert main(["validate", out, loaded, f"--drive-gains={gains}"]) == 3  # the load is not in it
    assert main(command) == 1
    assert "--loaded and --load belong together" in capsys.readouterr().err
    assert main([*command, "--load", "3,0"]) == 1
    assert "--load: '3,0' is not KG, KG,X,Y,Z" in capsys.readouterr().err


TRUE = np.array([-8.0, 12.0, 15.0, -20.0, 25.0, 30.0])


@pytest.mark.thorough
def test_gains_are_found_by_the_mass_of_a_load_alone_and_with_them_its_mass_centre():
    robot, empty, loaded = currents("ur5", TRUE)
    load = Inertia.from_com(3.0, np.zeros(3), np.zeros((3, 3)))
    found = identify_drive_gains(robot, empty, loaded, load, robot.tips[0], load_known="mass")
    assert found.missing == ()
    assert (np.abs(found.values - TRUE) < 3.0 * found.deviation).all()
    assert (found.deviation < 0.02 * np.abs(TRUE)).all()
    for name, expected in zip(("hx", "hy", "hz"), 3.0 * COM, strict=True):
        value, deviation = found.load[name]
        assert abs(value - expected) < 3.0 * deviation < 0.1


def test_a_drive_that_shows_nothing_leaves_the_others_and_may_be_given(tmp_path, capsys):
    true = np.array([10.0, -20.0])
    robot, *recordings = currents("planar_2r", true)
    noise = np.random.default_rng(5)
    for recording in recordings:
        recording.tau[:, 1] = 0.01 * noise.normal(size=len(recording.tau))
    load = Inertia.from_com(3.0, COM, INERTIA)
    found = identify_drive_gains(robot, *recordings, load, robot.tips[0])
    assert found.missing == ("joint_2",)
    assert np.isnan(found.values[1]) and np.isinf(found.deviation[1])
    assert abs(found.values[0] - true[0]) < 3.0 * found.deviation[0]
    assert "not determined: the gains of joint_2" in str(found)
    with pytest.raises(RecordingError, match="the gain of drive 'joint_2' is not determined"):
        found.on(recordings[0])
    files = [save(tmp_path / f"{k}.npz", one) for k, one in enumerate(recordings)]
    words = ["identify", "planar_2r", files[0], "--loaded", files[1], "--load", "3,0.05,0.1,0.08"]
    assert main([*words, "--output", str(tmp_path / "fits.urdf")]) == 3
    said = capsys.readouterr().out
    assert "give the gains that are known: --drive-gains joint_2=GAIN" in said
    assert not (tmp_path / "fits.urdf").exists()


def test_a_gain_that_is_given_stays():
    robot, empty, loaded = currents("ur5", TRUE)
    load = Inertia.from_com(3.0, COM, INERTIA)
    given = np.array([np.nan, TRUE[1], *[np.nan] * 4])
    found = identify_drive_gains(robot, empty, loaded, load, robot.tips[0], known=given)
    assert (found.values[1], found.deviation[1]) == (TRUE[1], 0.0)
    np.testing.assert_allclose(found.values, TRUE, rtol=2e-3)  # of 1 % noise
