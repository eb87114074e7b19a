"""Paths of poses: their points and ends, and invalid files."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from robot_dynamics.errors import ArgumentError, TrajectoryError
from robot_dynamics.spatial import Pose
from robot_dynamics.trajectory.motions import circle_law
from robot_dynamics.trajectory.pose_paths import (
    circle,
    pose_of,
    pose_spline,
    read_poses,
    straight_line,
)

A = pose_of([0.3, -0.2, 0.5, 0.1, 0.2, 0.3])
B = pose_of([0.1, 0.4, 0.6, -0.5, 0.4, 1.3])


def test_a_line_is_straight_and_turns_about_one_axis():
    path = straight_line(A, B, 2.0)
    displacement = path.positions - A.translation
    along = (B.translation - A.translation) / np.linalg.norm(B.translation - A.translation)
    assert np.abs(displacement - np.outer(displacement @ along, along)).max() < 1e-15
    turns = Rotation.from_matrix(path.rotations @ A.rotation.T).as_rotvec()
    assert np.abs(np.cross(turns, turns[-1])).max() < 1e-14
    assert path.positions[-1] == pytest.approx(B.translation, abs=1e-15)
    assert path.rotations[-1] == pytest.approx(B.rotation, abs=1e-14)


def test_a_line_starts_and_ends_at_rest():
    path = straight_line(A, B, 2.0, rate=1000.0)
    speed = np.linalg.norm(np.gradient(path.positions, path.times, axis=0), axis=1)
    assert speed[[0, -1]].max() < 1e-5 * speed.max()
    assert speed.max() == pytest.approx(1.875 * np.linalg.norm(B.translation - A.translation) / 2.0)


def test_a_circle_carries_the_end_effector_round_its_axis_by_guptas_law():
    centre, axis = np.array([0.1, 0.0, 0.4]), np.array([0.0, 0.0, 2.0])
    path = circle(A, centre, axis, 6.0)
    psi = circle_law(path.times, (2.0, 2.0, 2.0)).angle
    for k in range(0, len(psi), 29):
        turn = Rotation.from_rotvec([0.0, 0.0, psi[k]])
        expected = centre + turn.apply(A.translation - centre)
        assert path.positions[k] == pytest.approx(expected, abs=1e-15)
        assert path.rotations[k] == pytest.approx(turn.as_matrix() @ A.rotation, abs=1e-15)
    still = circle(A, centre, axis, 6.0, turning=False)
    assert np.array_equal(still.positions, path.positions)
    assert np.all(still.rotations == A.rotation)


@pytest.mark.parametrize("times", [[0.0, 1.0, 2.5, 3.0], [0.0, 0.1, 5.0, 5.1]])
def test_a_spline_passes_its_poses_in_time_and_rests_at_both_ends(times):
    rng = np.random.default_rng(5)
    R = Rotation.from_rotvec(rng.uniform(-0.7, 0.7, (4, 3))).as_matrix()
    p = rng.uniform(-1.0, 1.0, (4, 3))
    path = pose_spline(times, R, p, rate=2000.0)
    for k, time in enumerate(times):
        at = int(np.argmin(np.abs(path.times - time)))
        assert path.times[at] == pytest.approx(time, abs=1e-9)
        assert path.positions[at] == pytest.approx(p[k], abs=1e-9)
        assert path.rotations[at] == pytest.approx(R[k], abs=1e-9)
    speed = np.linalg.norm(np.diff(path.positions, axis=0), axis=1)
    assert speed[[0, -1]].max() < 0.05 * speed.max()


def test_a_file_of_poses_is_read_with_angles_or_with_quaternions(tmp_path):
    angles, quaternions = tmp_path / "angles.csv", tmp_path / "quaternions.csv"
    angles.write_text("time,x,y,z,roll,pitch,yaw\n0,1,2,3,0.1,0.2,0.3\n1.5,2,2,3,0,0,0\n")
    q = Rotation.from_matrix(pose_of([0, 0, 0, 0.1, 0.2, 0.3]).rotation).as_quat()
    cells = ",".join(map(repr, map(float, q)))
    quaternions.write_text(f"time,x,y,z,qx,qy,qz,qw\n0,1,2,3,{cells}\n1.5,2,2,3,0,0,0,1\n")
    for path in map(read_poses, (angles, quaternions)):
        assert path.times == pytest.approx([0.0, 1.5])
        assert path.positions == pytest.approx(np.array([[1.0, 2.0, 3.0], [2.0, 2.0, 3.0]]))
        expected = pose_of([0, 0, 0, 0.1, 0.2, 0.3]).rotation
        assert path.rotations[0] == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the columns of a file of poses are time, x, y, z and either roll, pitch, yaw or qx"),
        ("time,x,y,z\n0,1,2,3\n", "got time, x, y, z"),
        ("time,x,y,z,roll,pitch,yaw\n0,1,2,3,0,0,0\n", "needs two poses or more, got 1"),
        ("time,x,y,z,roll,pitch,yaw\n0,1,2,nan,0,0,0\n", "pose 0 is not 7 finite numbers: 0, 1"),
        ("time,x,y,z,roll,pitch,yaw\n0,1,2,3,0,0,0\n0,1,2,3,0,0,0\n", "times must increase from 0"),
        ("time,x,y,z,qx,qy,qz,qw\n0,1,2,3,0,0,0,0\n1,1,2,3,0,0,0,1\n", "a quaternion is zero"),
    ],
)
def test_a_file_that_is_no_path_is_refused_in_one_line(tmp_path, text, said):
    file = tmp_path / "poses.csv"
    file.write_text(text)
    with pytest.raises(TrajectoryError) as refused:
        read_poses(file)
    assert str(refused.value).startswith(f"{file}: ")
    assert said in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: straight_line(A, B, 0.0), "duration must be a positive number, got 0.0"),
        (lambda: circle(A, [0, 0, 0], [0, 0, 0], 1.0), "axis has no length"),
        (lambda: pose_spline([0.0], [np.eye(3)], [[0, 0, 0]]), "times must increase from 0"),
        (lambda: pose_of([1, 2, 3]), r"pose must be finite numbers of shape (6,)"),
    ],
)
def test_bad_paths_are_refused_by_name(call, said):
    with pytest.raises((ArgumentError, Exception)) as refused:
        call()
    assert said in str(refused.value)


def test_a_pose_of_six_numbers_has_the_angles_of_a_urdf():
    assert Pose(np.eye(3), np.array([1.0, 2.0, 3.0])) == pose_of([1, 2, 3, 0, 0, 0])
    turned = pose_of([0, 0, 0, 0.1, 0.2, 0.3]).rotation
    z, y, x = (
        Rotation.from_euler(a, v).as_matrix() for a, v in (("z", 0.3), ("y", 0.2), ("x", 0.1))
    )
    assert turned == pytest.approx(z @ y @ x, abs=1e-15)


def test_positions_out_of_any_reach_are_refused():
    turns = np.broadcast_to(np.eye(3), (3, 3, 3))
    with pytest.raises(
        ArgumentError, match=r"positions: 1e\+300 m is out of reach; give them in m"
    ):
        pose_spline([0.0, 1.0, 2.0], turns, [[0.0] * 3, [1e300, 0.0, 0.0], [0.0] * 3])
