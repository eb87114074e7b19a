"""robot-dynamics rehearse: the first day in simulation, by real nodes in processes of their own."""

import json

import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from robot_dynamics.cli import main

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
    assert main(["rehearse", *words, "--json"]) == 0
    said = capsys.readouterr()
    assert said.err.startswith("planar_2r, 2 joints, 1.1 of its masses: hold\n")
    steps = {step["name"]: step for step in json.loads(said.out)["steps"]}
    assert list(steps) == [
        "hold",
        "motion",
        "stop in motion",
        "kill -9 of feedforward_node in motion",
    ]
    assert all(step["fault"] == "" for step in steps.values())
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


def test_random_faults_leave_an_arm_within_its_bounds(capsys):
    assert main(["rehearse", "planar_2r", "--faults", "256", "--rate", "500", "--json"]) == 0
    rows = {row["kind"]: row for row in json.loads(capsys.readouterr().out)["faults"]}
    assert sum(row["count"] for row in rows.values()) >= 256
    assert all(row["finite"] and row["step"] <= 1.0 + 1e-6 for row in rows.values())
    for kind in ("none", "position glitch", "two publishers", "two references", "reference jumps"):
        assert rows[kind]["worst"] < 0.1, kind  # of the speed limit, beyond the planned speed


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ([], "give --motion FILE, or --faults N"),
        (["--faults", "0"], "--faults takes 1 or more"),
        (["--faults", "5", "--motion", "mine.csv"], "give --motion FILE, or --faults N"),
    ],
)
def test_a_rehearsal_of_nothing_or_of_both_is_refused(words, line, capsys):
    assert main(["rehearse", "planar_2r", *words]) == 1
    assert line in capsys.readouterr().err
