"""robot-dynamics kinematics, pose and ik: what they print, and what they say of bad input."""

import json
import re

import numpy as np
import pytest

from robot_dynamics.cli import main
from robot_dynamics.kinematics import frame_pose
from robot_dynamics.robot import find_robot, read_urdf

IK = ("ik", "ur5", "--frame", "tool0", "--position")
Q = "0.3,-1,1.2,-0.4,0.8,0.2"

WITHOUT_INERTIA = """
<robot name="bare">
  <link name="base"/><link name="upper"/><link name="fore"/>
  <joint name="shoulder" type="continuous">
    <parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
  </joint>
  <joint name="elbow" type="continuous">
    <parent link="upper"/><child link="fore"/><origin xyz="2 0 0"/><axis xyz="0 0 1"/>
  </joint>
</robot>
"""


def run(capsys, *words):
    """Exit status, standard output and error of a command line."""
    status = main(list(words))
    out, err = capsys.readouterr()
    return status, out, err


def values(text, name):
    """The numbers of the line that begins with a name."""
    (line,) = re.findall(rf"^{re.escape(name)}: (.*)$", text, re.MULTILINE)
    return line


def test_kinematics_shows_table_structure_solver_and_branches(capsys):
    status, out, _ = run(capsys, "kinematics", "ur5", "--frame", "tool0")
    assert status == 0
    assert re.search(r"shoulder_lift_joint +0\.425 +0 ", out)
    assert "structure: three parallel axes: shoulder_lift_joint, elbow_joint, wrist_1_joint" in out
    assert "solver: closed form" in out
    assert "shoulder- elbow- wrist-" in out


def test_ik_takes_what_pose_prints_and_finds_the_positions(capsys):
    _, pose, _ = run(capsys, "pose", "ur5", "--frame", "tool0", "--q", Q)
    R, p = frame_pose(read_urdf(find_robot("ur5")), [float(x) for x in Q.split(",")], "tool0")
    assert [float(x) for x in values(pose, "position, m").split(",")] == pytest.approx(p)
    for option, line in (("--rpy", "rpy, rad"), ("--quaternion", "quaternion x,y,z,w")):
        status, out, _ = run(
            capsys,
            *("ik", "ur5", "--frame", "tool0", "--position", values(pose, "position, m")),
            *(option, values(pose, line)),
        )
        assert status == 0
        rows = [
            re.split(r" {2,}", x.strip())
            for x in out.splitlines()
            if x.strip().startswith("shoulder")
        ]
        assert len(rows) == 8
        found = np.array([[float(x) for x in row[1:7]] for row in rows])
        assert np.abs(found - [float(x) for x in Q.split(",")]).max(axis=1).min() < 2e-6  # printed
    assert R.shape == (3, 3)


def test_ik_takes_a_matrix_an_inner_joint_and_lists_whole_turns(capsys):
    matrix = "1,0,0,0,-1,0,0,0,-1"
    end_effector = ("--frame", "panda_hand", "--position", "0.4,0.1,0.5", "--rotation", matrix)
    status, out, _ = run(
        capsys, "ik", "panda", *end_effector, "--given", "panda_joint4", "--redundant", "-2"
    )
    assert status == 0
    assert all("-2.000000" in line for line in out.splitlines() if line.strip().startswith("shou"))
    status, out, _ = run(capsys, *IK, "0.4,0.2,0.3", "--rotation", matrix, "--turns")
    assert status == 0
    assert len(re.findall(r"^ *shoulder", out, re.MULTILINE)) == 8 * 2**5  # two turns but the elbow
    status, out, _ = run(capsys, "ik", "panda", *end_effector, "--solver", "numeric")
    assert status == 0
    assert out.startswith("structure: numeric")
    assert out.endswith("this is one solution, found by a search: more may exist\n")


def test_ik_leaves_directions_free(capsys):
    """A tool that may turn about its axis ends with that axis along -z of the root."""
    down = ("0.4,0.2,0.3", "--rpy", "3.14159265358979,0,1", "--selection", "x,y,z,rx,ry")
    status, out, _ = run(capsys, *IK, *down, "--axes", "frame", "--json")
    assert status == 0
    (solution,) = json.loads(out)["solutions"]
    R, p = frame_pose(read_urdf(find_robot("ur5")), solution["q"], "tool0")
    assert [*R[:, 2], *p] == pytest.approx([0.0, 0.0, -1.0, 0.4, 0.2, 0.3], abs=1e-9)


def test_ik_says_what_is_missed_and_fails(capsys):
    status, out, _ = run(capsys, "ik", "ur5", "--frame", "tool0", "--position", "5,0,0")
    assert status == 1
    assert "no solution: out of reach for 'elbow_joint'" in out


def test_a_urdf_without_inertias_has_kinematics(capsys, tmp_path):
    path = tmp_path / "bare.urdf"
    path.write_text(WITHOUT_INERTIA)
    status, out, _ = run(capsys, "ik", str(path), "--position", "0,2,0", "--rpy", "0,0,0.5")
    assert status == 0
    assert "1.570796" in out
    status, _, err = run(capsys, "torque", str(path))
    assert status == 1
    assert "joint 'shoulder': moves no inertia about its axis" in err


WHICH_END_EFFECTOR = (
    "robot 'baxter' has 23 tips (dummyhead1, display, head_camera_link, right_arm_itb, "
    "right_hand_camera_link, right_hand_camera_axis_link, ...), and no rule says which one is the "
    "end effector; name its frame by --frame"
)


@pytest.mark.parametrize(
    "words",
    [
        ("pose", "panda"),
        ("kinematics", "panda"),
        ("ik", "panda", "--position", "0.4,0,0.4", "--redundant", "0"),
        ("equations", "panda", "--kernel", "pose"),
    ],
)
def test_the_frame_of_every_verb_is_the_end_effector_and_is_named(words, capsys):
    status, _, err = run(capsys, *words)
    assert status == 0
    assert "frame: panda_hand_tcp (--frame names another)" in err.splitlines()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("pose", "ur5", "--frame", "tool"), "no frame 'tool' in robot 'ur5'"),
        (("pose", "baxter"), WHICH_END_EFFECTOR),
        (("kinematics", "baxter"), WHICH_END_EFFECTOR),
        (("ik", "baxter", "--position", "0,0,0"), WHICH_END_EFFECTOR),
        (("equations", "baxter", "--with", "payload"), WHICH_END_EFFECTOR),
        (("study", "baxter", "--payload", "0..1"), WHICH_END_EFFECTOR),
        (("ik", "ur5", "--frame", "tool0", "--position", "0,0"), "--position: 2 numbers where 3"),
        (("ik", "ur5", "--frame", "tool0", "--position", "0,0,nan"), "is not a finite number"),
        (
            ("ik", "ur5", "--frame", "tool0", "--position", "0,0,0", "--quaternion", "1,1,0,0"),
            "--quaternion: its length is 1.41421 and must be 1",
        ),
        (
            (*IK, "0,0,0", "--rotation", "1,0,0,0,1,0,0,0,2"),
            "rotation is no rotation matrix: its columns must be unit vectors",
        ),
        ((*IK, "0,0,0", "--rotation", "1,0,0,0,1,0"), "--rotation: 6 numbers where 9 are needed"),
        (
            (*IK, "0,0,0", "--selection", "x,x"),
            "selection takes one direction or more of x y z rx ry rz, each once, or six numbers",
        ),
        ((*IK, "0,0,0", "--redundant", "0.3"), "no joint of this arm is redundant"),
        (
            ("ik", "panda", "--frame", "panda_hand", "--position", "0.4,0,0.5"),
            "redundant: give the position of joint 'panda_joint7' beside the pose",
        ),
        (
            ("ik", "panda", "--frame", "panda_hand", "--position", "0.4,0,0.5", "--given", "elbow"),
            "no joint 'elbow' in the chain to 'panda_hand'",
        ),
        (
            ("ik", "panda", "--frame", "panda_rightfinger", "--position", "0,0,0"),
            "follows joint 'panda_finger_joint1'",
        ),
    ],
)
def test_bad_input_ends_in_one_clear_line(words, message, capsys):
    status, _, err = run(capsys, *words)
    assert status == 1
    (line,) = [line for line in err.splitlines() if line.startswith("robot-dynamics")]
    assert message in line
