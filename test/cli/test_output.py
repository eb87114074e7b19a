"""--json: what a program reads is what the library computes, and nothing else is on stdout."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from robot_dynamics import Dynamics
from robot_dynamics.cli import main
from robot_dynamics.cli.verbs import info
from robot_dynamics.formulations import FORMULATIONS
from robot_dynamics.kinematics import frame_pose
from robot_dynamics.robot import find_robot, read_urdf
from robot_dynamics.robot.denavit_hartenberg import denavit_hartenberg

ROUND_OFF = 1e-12  # float64, the same computation once more
Q = "0.3,-1,1.2,-0.4,0.8,0.2"


def answer(capsys, *words, status=0):
    """Return the output of a verb, read strictly: neither NaN nor Infinity is JSON."""

    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    assert main([*words, "--json"]) == status
    return json.loads(capsys.readouterr().out, parse_constant=refuse)


@pytest.fixture(scope="module")
def planar():
    return read_urdf(find_robot("planar_2r"))


def test_info_has_joints_masses_table_and_operations(capsys, planar):
    found = answer(capsys, "info", "planar_2r")
    assert found["mass"] == sum(link.inertia.mass for link in planar.links)
    assert [joint["name"] for joint in found["joints"]] == list(planar.joint_names)
    assert found["joints"][1]["upper"] == planar.joint("joint_2").limits.upper
    table = denavit_hartenberg(planar, planar.tips[0])
    assert [row["a"] for row in found["denavit_hartenberg"]] == [row.a for row in table.rows]
    count = Dynamics(planar).operation_count("inverse")
    assert found["operations"]["inverse"]["multiplications"] == count.multiplications
    assert found["warnings"] == []


def test_operations_of_many_joints_are_counted_where_asked(capsys, monkeypatch):
    monkeypatch.setattr(info, "MOST_JOINTS", 1)
    assert answer(capsys, "info", "planar_2r")["operations"] == {}
    assert answer(capsys, "info", "planar_2r", "--count")["operations"].keys() == {*info.COUNTED}
    assert main(["info", "planar_2r"]) == 0
    assert "equations: more than 1 joints; --count counts" in capsys.readouterr().out


@pytest.mark.thorough
def test_what_has_no_limit_is_null(capsys, tmp_path):
    path = tmp_path / "wheel.urdf"
    path.write_text(
        '<robot name="wheel"><link name="base"/><link name="rim"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="axle" type="continuous"><parent link="base"/><child link="rim"/>'
        '<axis xyz="0 0 1"/></joint></robot>'
    )
    (joint,) = answer(capsys, "info", str(path))["joints"]
    assert joint["upper"] is None and joint["effort"] is None
    assert answer(capsys, "torque", str(path))["limit"] == [None]


def test_torque_has_the_effort_and_parts_that_sum_to_it(capsys, planar):
    words = ("--q", "0.3,-0.8", "--qd", "1,2", "--qdd", "-3,4")
    found = answer(capsys, "torque", "planar_2r", *words)
    expected = Dynamics(planar).inverse([0.3, -0.8], [1.0, 2.0], [-3.0, 4.0])
    parts = np.sum([found[k] for k in ("gravity", "velocity", "acceleration")], axis=0)
    assert parts == pytest.approx(expected, abs=1e-10)  # of terms near 100 N m
    assert found["effort"] == pytest.approx(expected + found["friction"], rel=ROUND_OFF)


def test_ik_finds_the_positions_of_a_pose(capsys):
    pose = answer(capsys, "pose", "ur5", "--frame", "tool0", "--q", Q)
    R, p = frame_pose(read_urdf(find_robot("ur5")), pose["q"], "tool0")
    np.testing.assert_allclose(pose["rotation"], R, atol=ROUND_OFF)
    np.testing.assert_allclose(pose["position"], p, atol=ROUND_OFF)
    given = [",".join(map(repr, pose[name])) for name in ("position", "quaternion")]
    words = ("--frame", "tool0", "--position", given[0], "--quaternion", given[1])
    found = answer(capsys, "ik", "ur5", *words)
    solutions = np.array([solution["q"] for solution in found["solutions"]])
    assert solutions.shape == (8, 6)
    assert np.abs(solutions - pose["q"]).max(axis=1).min() < 1e-8  # far from singular


def test_ik_lists_whole_turns(capsys):
    words = ("ik", "ur5", "--frame", "tool0", "--position", "0.4,0.2,0.3", "--rpy", "3.14,0,0")
    once = answer(capsys, *words)["solutions"]
    turned = answer(capsys, *words, "--turns")["solutions"]
    different = {tuple(np.round(one["q"], 6)) for one in turned}
    assert len(turned) == len(different) == len(once) * 2**5  # two turns but the elbow
    for solution in turned:
        angles = np.remainder(np.array([one["q"] for one in once]) - solution["q"], 2.0 * np.pi)
        assert np.minimum(angles, 2.0 * np.pi - angles).max(axis=1).min() < ROUND_OFF


def test_ik_without_solution_says_why_and_fails(capsys):
    words = ("ik", "ur5", "--frame", "tool0", "--position", "5,0,0")
    found = answer(capsys, *words, status=1)
    assert found["solutions"] == []
    assert "out of reach" in found["reason"]


def test_kinematics_has_table_structure_and_branches(capsys):
    found = answer(capsys, "kinematics", "puma_gupta")
    assert len(found["table"]) == 6
    assert found["structure"] and len(found["branches"]) == 8


def test_compare_has_every_formulation(capsys):
    found = answer(capsys, "compare", "planar_2r")
    assert set(found["formulations"]) == set(FORMULATIONS)
    assert all(row["difference"] < ROUND_OFF for row in found["formulations"].values())


def test_an_error_is_a_line_on_stderr_and_no_object(capsys):
    assert main(["info", "planar_3r", "--json"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "did you mean 'planar_2r'?" in err


def test_simulate_has_the_errors_of_every_mode(capsys):
    found = answer(capsys, "simulate", "planar_2r", "--duration", "1", "--rate", "100")
    errors = {mode: numbers["rms_error"] for mode, numbers in found["modes"].items()}
    assert set(errors) == {"feedforward", "pd_gravity", "pd"}
    np.testing.assert_allclose(
        found["times_smaller"]["pd"], np.divide(errors["pd"], errors["feedforward"]), rtol=ROUND_OFF
    )


def test_simulate_has_the_errors_of_the_end_effector(capsys):
    words = (
        "--mode",
        "operational_space",
        "--frame",
        "tool0",
        "--duration",
        "0.5",
        "--rate",
        "100",
    )
    found = answer(capsys, "simulate", "ur5", *words)
    assert found["end_effector"] == "tool0"
    assert set(found["rms_error"]) == {"feedforward", "operational_space"}
    assert np.shape(found["peak_error"]["operational_space"]) == (6,)


def test_simplify_has_the_error_of_every_model(capsys, planar):
    found = answer(capsys, "simplify", "planar_2r")
    assert found["joint_names"] == list(planar.joint_names)
    full, *others = found["results"].values()
    np.testing.assert_allclose(full["peak_error"], 0.0, atol=1e-9)  # N m of a hundred
    assert others and all(len(result["peak_error"]) == planar.dof for result in others)


def test_doctor_has_a_remedy_for_what_is_missing(capsys):
    pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")
    main(["doctor", "--json"])
    found = json.loads(capsys.readouterr().out)
    everything = [*found["ros"], *found["real_time"]]
    assert {"middleware", "messages"} <= {finding["name"] for finding in found["ros"]}
    assert all(finding["remedy"] for finding in everything if finding["missing"])


@pytest.mark.thorough
def test_simulate_has_the_errors_on_a_moving_base(capsys):
    words = ("--duration", "1", "--rate", "500", "--base-motion", "sine:z:0.05:2")
    errors = answer(capsys, "simulate", "planar_2r", *words)["rms_error"]
    known, unknown = (np.array(errors[name]) for name in ("base as an input", "base unknown"))
    assert (known < 0.5 * unknown).all()  # the rest is of efforts that are held for a cycle


def test_a_terminal_that_lacks_a_character_shows_its_code(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(find_robot("planar_2r").read_text().replace("planar_2r", "Größe"))
    words = [sys.executable, "-m", "robot_dynamics", "equations", str(path), "--as", "c"]
    process = subprocess.run(
        words, env={**os.environ, "PYTHONIOENCODING": "ascii"}, capture_output=True, check=True
    )
    assert b" * robot: Gr\\xf6\\xdfe\n" in process.stdout
