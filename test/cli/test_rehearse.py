"""robot-dynamics rehearse: the first day in simulation, by real nodes in processes of their own."""

import json
import re

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from choices import first
from driven_arm import STATES, urdf
from robot_dynamics import read_urdf
from robot_dynamics.cli import main
from robot_dynamics.recordings.recorded_motion import read_motion
from robot_dynamics.robot import find_robot
from robot_dynamics.simulation import fault_sweep
from robot_dynamics.simulation.fault_sweep import FaultSweep
from robot_dynamics.simulation.simd.fault_stages import KINDS

MOTION = "time,q.joint_1,q.joint_2\n0.0,0.1,0.2\n1.0,0.3,0.0\n2.0,0.1,0.2\n"

LISTS = """
/**:
  controller_node:
    ros__parameters:
      joints: [joint_1, joint_2]
      limits:
        joint_1: {soft_margin: 0.1, tracking_error: 0.3}
"""


@pytest.mark.thorough
def test_an_arm_holds_moves_stops_and_is_held_after_its_feedforward_is_killed(tmp_path, capsys):
    motion, config = tmp_path / "mine.csv", tmp_path / "first_day.yaml"
    motion.write_text(MOTION)
    config.write_text(LISTS)
    words = ["planar_2r", "--motion", str(motion), "--config", str(config), "--rate", "250"]
    status = main(["rehearse", *words, "--json"])
    said = capsys.readouterr()
    assert said.err.startswith("planar_2r, 2 joints, 1.1 of its masses: hold\n")
    steps = {step["name"]: step for step in json.loads(said.out)["steps"]}
    assert list(steps) == [
        "hold",
        "motion",
        "stop in motion",
        "kill -9 of feedforward_node in motion",
    ]
    for step in steps.values():  # a busy machine is named as the reason
        assert re.fullmatch(r"(.*; the machine is too slow: .*)?", step["fault"])
    assert status == any(step["fault"] for step in steps.values())
    # The motion turns at about 0.4 rad/s at most; an arm that nothing holds reaches 5 rad/s
    assert steps["motion"]["speed"] > 0.1
    assert steps["kill -9 of feedforward_node in motion"]["speed"] < 1.0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--config", "{folder}/none.yaml"], "--config {folder}/none.yaml: no such file; give a "),
        (["--config", "{folder}/bad.yaml"], "--config {folder}/bad.yaml: not a parameter file of "),
        (["--motion", "{folder}/none.csv"], "{folder}/none.csv: cannot be read"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_line_before_any_node_starts(
    tmp_path, capsys, words, message
):
    (tmp_path / "mine.csv").write_text(MOTION)
    (tmp_path / "bad.yaml").write_text("controller_node: 5\n")
    given = ["--motion", str(tmp_path / "mine.csv"), *words]
    assert main(["rehearse", "planar_2r", *(word.format(folder=tmp_path) for word in given)]) != 0
    said = capsys.readouterr().err
    assert message.format(folder=tmp_path) in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("robot", ["planar_2r", pytest.param("ur5", marks=pytest.mark.thorough)])
def test_random_faults_leave_an_arm_within_its_bounds(robot, capsys):
    assert main(["rehearse", robot, "--faults", "1024", "--json"]) == 0
    said = capsys.readouterr()
    rows = {row["kind"]: row for row in json.loads(said.out)["faults"]}
    seed, rate, number = max(rows.values(), key=lambda row: row["worst"])["scenario"]
    assert f"--scenario {seed}:{rate:g}:{number} repeats it" in said.err.splitlines()[-1]
    assert sum(row["count"] for row in rows.values()) >= 1024
    assert all(row["finite"] and row["step"] <= 1.0 + 1e-6 for row in rows.values())
    # Nothing tells a frozen sensor, or a brake that soon opens again, from a joint that sticks
    for kind in rows.keys() - {"frozen joint", "brakes"}:
        # Of the speed limit, beyond the planned speed. A late state leaves little feedback against
        # friction, and light joints of a UR5 then reach 0.12
        assert rows[kind]["worst"] < 0.15, kind


@pytest.mark.thorough
def test_a_scenario_is_repeated_alone_as_it_was_among_others_and_recorded(capsys, tmp_path):
    sweep = FaultSweep(read_urdf(find_robot("planar_2r")))
    outcome, run = sweep.run(3, 250.0), tmp_path / "run.mcap"
    number = int(outcome.excess.argmax())
    again = sweep.replay(3, 250.0, number)
    after = again.log.t >= again.begins
    fastest, planned = np.array([6.0, 8.0]), np.abs(again.motion.sample(again.log.t).qd)
    speeds = np.abs(again.log.qd)[after][1:].max(axis=0)
    assert tuple(KINDS)[outcome.kind[number]] == again.kind
    # The samples of the motion may miss its fastest moment
    excess = ((speeds - planned.max(axis=0)) / fastest).max()
    np.testing.assert_allclose(excess, outcome.excess[number], rtol=0.0, atol=1e-4)
    words = ["rehearse", "planar_2r", "--scenario", f"3:250:{number}", "--record", str(run)]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert again.kind in said and "tracking the reference" in said
    np.testing.assert_array_equal(read_motion(run).states.position, again.log.q)


def test_parameters_of_a_file_change_what_the_sweep_finds(capsys, tmp_path):
    file = tmp_path / "slow.yaml"
    file.write_text("controller_node: {ros__parameters: {limits.joint_1.effort: 1.0, port: 5}}")
    words = ["rehearse", "planar_2r", "--faults", "64", "--rate", "250", "--json"]
    found = []
    for more in ([], ["--config", str(file)]):
        assert main([*words, *more]) == 0
        said = capsys.readouterr()
        found.append({row["kind"]: row["outside"] for row in json.loads(said.out)["faults"]})
    assert "not swept: port" in said.err
    assert found[1]["none"] > found[0]["none"] + 0.5  # such an arm does not hold its weight


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ([], "give --motion FILE, --faults N, or --scenario SEED:RATE:NUMBER"),
        (["--faults", "0"], "--faults takes 1 or more"),
        (["--faults", "5", "--motion", "mine.csv"], "give --motion FILE, --faults N, or"),
        (["--faults", "5", "--record", "run.mcap"], "choose it with --scenario"),
        (["--scenario", "0:500:5000"], "a batch has the numbers 0 to 1023"),
        (["--faults", "5", "--config", "{folder}/none.yaml"], "none.yaml: cannot be read"),
        (["--faults", "5", "--config", "{folder}/no_node.yaml"], "no parameters of a controller"),
        (["--faults", "5", "--config", "{folder}/mode.yaml"], "mode: fast is not allowed"),
        (["--faults", "5", "--config", "{folder}/number.yaml"], "mode: 5 is not allowed"),
        (["--faults", "5", "--config", "{folder}/task.yaml"], "controls the end effector"),
        (["--faults", "5", "--config", "{folder}/rate.yaml"], "rate holds 'fast'; give a number"),
        (["--faults", "5", "--config", "{folder}/slow.yaml"], "rate is 0.1 Hz"),
        (["--faults", "5", "--config", "{folder}/bandwidth.yaml"], "bandwidth: wide"),
        (["--faults", "5", "--config", "{folder}/joint.yaml"], "no joint 'elbow'"),
        (["--faults", "5", "--config", "{folder}/gain.yaml"], "unstable at this update rate"),
    ],
)
def test_a_rehearsal_that_cannot_be_is_refused_in_one_line(words, line, capsys, tmp_path):
    (tmp_path / "no_node.yaml").write_text(
        "a: {b: {ros__parameters: {}}, c: {ros__parameters: {}}}"
    )
    for name, text in {
        "mode": "mode: fast",
        "number": "mode: 5",
        "task": "mode: cartesian_impedance",
        "rate": "rate: fast",
        "slow": "rate: 0.1",
        "bandwidth": "bandwidth: wide",
        "joint": "gains.elbow.p: 5.0",
        "gain": "gains: {joint_1: {d: 1.0e+6}}",
    }.items():
        own = f"/**/controller_node: {{ros__parameters: {{{text}}}}}"
        (tmp_path / f"{name}.yaml").write_text(own)
    given = [word.format(folder=tmp_path) for word in words]
    assert main(["rehearse", "planar_2r", *given]) == 1
    said = capsys.readouterr().err
    assert line in said and said.count("\n") == 1


@pytest.mark.thorough
def test_the_configuration_of_a_driver_is_swept_at_its_rate(tmp_path, capsys):
    robot, config = tmp_path / "arm.urdf", tmp_path / "cm.yaml"
    robot.write_text(urdf("openarm_hardware/OpenArm_v10HW", STATES, None, 1000.0, 7))
    assert main(["export", "config", str(robot), "-o", str(config)]) == 0
    sweep = ["rehearse", str(robot), "--joints", "joint1,joint2,joint3,joint4,joint5,joint6,joint7"]
    capsys.readouterr()
    assert main([*sweep, "--faults", "64", "--config", str(config), "--json"]) == 0
    found, err = capsys.readouterr()
    assert "not swept" not in err
    assert {row["scenario"][1] for row in json.loads(found)["faults"]} == {100.0}


@pytest.mark.thorough
@pytest.mark.parametrize("adds", ["gravity", "friction", "velocity_terms"])
def test_what_a_robot_adds_itself_is_left_out_of_controller_and_arm(tmp_path, capsys, adds):
    config = tmp_path / "own.yaml"
    config.write_text(f"controller_node: {{ros__parameters: {{compensate_{adds}: false}}}}")
    given = ["rehearse", "ur5", "--faults", "64", "--config", str(config), "--json"]
    assert main(given) == 0
    rows = json.loads(capsys.readouterr().out)["faults"]
    still = [row for row in rows if row["kind"] == "none"]
    # An arm whose gravity counted on one side only would fall, 3 rad/s in half a second
    assert all(row["worst"] < 0.1 for row in still)


@pytest.mark.thorough
@pytest.mark.parametrize("added", first([False], [True, False]))
def test_an_arm_moves_by_its_velocities_as_its_robot_compensates_them(monkeypatch, added):
    monkeypatch.setattr(fault_sweep, "MASS_ERROR", 0.0)
    monkeypatch.setattr(fault_sweep, "UNKNOWN_FRICTION", 0.0)
    robot = read_urdf(find_robot("ur5"))
    sweep = FaultSweep(robot, {"compensate_velocity_terms": not added})
    assert not sweep.unused
    kinds = sweep.run(3, 500.0, count=64).kind
    number = int(np.flatnonzero(kinds == list(KINDS).index("none"))[0])
    # Coriolis efforts on one side only leave 15 mrad
    assert np.abs(sweep.replay(3, 500.0, number).log.error).max() < 1e-3


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("plugin", "parameters", "line"),
    [
        ("ur_robot_driver/URPositionHardwareInterface", "compensate_gravity: true",
         "holds its weight by itself; set compensate_gravity: false"),
        ("openarm_hardware/OpenArm_v10HW", "command_interfaces: [effort]",
         "would pull it to their position command; set feedback: drive"),
    ],
)  # fmt: skip
def test_what_counts_twice_by_the_driver_of_the_arm_is_refused(
    tmp_path, capsys, plugin, parameters, line
):
    robot, config = tmp_path / "arm.urdf", tmp_path / "own.yaml"
    robot.write_text(urdf(plugin, STATES))
    config.write_text(f"arm_controller: {{ros__parameters: {{{parameters}}}}}")
    assert main(["rehearse", str(robot), "--faults", "8", "--config", str(config)]) == 1
    said = capsys.readouterr().err
    assert line in said and "Traceback" not in said
