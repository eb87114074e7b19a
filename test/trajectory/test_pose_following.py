"""Joint motion along paths of poses, and remarks on singular poses and limits."""

import numpy as np
import pytest

from arms import arm_of
from robot_dynamics.errors import ArgumentError, TrajectoryError, UnknownNameError
from robot_dynamics.kinematics import InverseKinematics, frame_pose
from robot_dynamics.papers.paper_arms import puma_type_arm, thomas_tesar_arm
from robot_dynamics.papers.paper_motions import circle_motion, line_motion
from robot_dynamics.robot import find_robot, read_urdf
from robot_dynamics.robot.denavit_hartenberg import TOOL
from robot_dynamics.spatial import Pose
from robot_dynamics.trajectory import circle, follow_poses, interpolate, pose_spline, straight_line
from robot_dynamics.trajectory.pose_paths import LINE_LAWS, PosePath, pose_of

BENT = np.array([0.3, -1.2, 1.5, -0.4, 0.8, 0.2])


@pytest.fixture(scope="module")
def ur5():
    return read_urdf(find_robot("ur5"))


def pose_at(robot, q, frame):
    return Pose(*frame_pose(robot, q, frame))


def moved(pose, *shift):
    return Pose(pose.rotation, pose.translation + np.array(shift))


def missed(robot, waypoints, path, frame):
    """Largest distance from the path, m, and largest error of a rotation matrix, at its poses."""
    poses = [frame_pose(robot, q, frame) for q in waypoints.positions]
    return max(
        np.abs(np.array([R for R, _ in poses]) - path.rotations).max(),
        np.abs(np.array([p for _, p in poses]) - path.positions).max(),
    )


def test_the_papers_circle_is_the_motion_of_its_closed_form():
    arm = puma_type_arm()
    start = pose_of([0.8636, 0.0, 0.1524, 2 * np.pi / 3, 0.0, np.pi / 2])
    path = circle(start, (0.8636, 0.0, 0.0), (-1.0, 0.0, 0.0), 9.0, rate=20.0)
    robot = read_urdf(find_robot("puma_gupta"))
    ours, remarks = follow_poses(robot, path, "hand", near=[0.0, 0.0, 0.0, 0.0, -1.0, 0.0])
    expected = circle_motion(arm, path.times).q
    turns = 2 * np.pi * np.round((expected - ours.positions)[0] / (2 * np.pi))
    assert ours.positions + turns == pytest.approx(expected, abs=1e-9)
    assert remarks == ()


@pytest.mark.parametrize("law", LINE_LAWS)
def test_the_papers_line_is_the_motion_of_its_closed_form(law):
    arm = thomas_tesar_arm()
    ends = [pose_of([1.33, y, 1.80, 0.0, np.pi / 2, 0.0]) for y in (-1.0, 1.0)]
    path = straight_line(*ends, 1.0, law=law)
    expected = line_motion(path.times, law).q
    ours = follow_poses(arm, path, "link_6", near=expected[0]).waypoints
    assert ours.positions == pytest.approx(expected, abs=1e-9)


def test_the_end_effector_is_on_the_line_at_its_poses_and_near_it_between(ur5):
    start = pose_at(ur5, BENT, "tool0")
    path = straight_line(start, moved(start, 0.1, -0.3, 0.1), 3.0)
    ours, _ = follow_poses(ur5, path, "tool0", near=BENT)
    assert ours.positions[0] == pytest.approx(BENT, abs=1e-9)
    assert missed(ur5, ours, path, "tool0") < 1e-8
    trajectory = interpolate(ours.delayed(0.0))
    between = trajectory.sample(np.linspace(0.5, 2.5, 97)).q
    points = np.array([frame_pose(ur5, q, "tool0").translation for q in between])
    along = np.array([0.1, -0.3, 0.1]) / np.linalg.norm([0.1, -0.3, 0.1])
    off = points - start.translation
    assert np.linalg.norm(off - np.outer(off @ along, along), axis=1).max() < 1e-5  # m


def test_another_start_takes_another_branch(ur5):
    start = pose_at(ur5, BENT, "tool0")
    path = straight_line(start, moved(start, 0.0, 0.0, 0.05), 1.0)
    flipped = BENT * [1, 1, 1, 1, -1, 1] + [0, 0, 0, np.pi, 0, -np.pi]
    one, other = (follow_poses(ur5, path, "tool0", near=near).waypoints for near in (BENT, flipped))
    assert np.abs(one.positions[0] - other.positions[0]).max() > 1.0
    assert missed(ur5, other, path, "tool0") < 1e-8


def test_a_redundant_arm_keeps_its_redundant_joint():
    panda = read_urdf(find_robot("panda"))
    q = np.array([0.3, -0.5, 0.2, -1.8, 0.4, 1.6, 0.7, 0.0])
    start = pose_at(panda, q, "panda_hand")
    path = straight_line(start, moved(start, 0.0, 0.05, 0.05), 1.0, rate=20.0)
    ours = follow_poses(panda, path, "panda_hand", near=q).waypoints
    assert len(ours.joint_names) == 7
    assert np.ptp(ours.positions[:, 6]) == 0.0
    whole = np.column_stack([ours.positions, np.zeros(len(path.times))])
    assert (
        missed(panda, ours.__class__(panda.joint_names, path.times, whole), path, "panda_hand")
        < 1e-8
    )


def iiwa():
    """KUKA LBR iiwa 14: three axes meet in the shoulder and three in the wrist."""
    turns = (-90, 90, 90, -90, -90, 90, 0)
    return arm_of("RRRRRRR", (0.0,) * 7, turns, (0.36, 0.0, 0.42, 0.0, 0.4, 0.0, 0.126))


@pytest.mark.parametrize("given", ["arm angle", "joint_3", "joint_1"])
def test_what_is_given_beside_the_poses_is_kept_or_goes_where_it_is_asked_to(given):
    arm, q = iiwa(), np.array([0.3, 0.7, -0.4, -1.2, 0.5, 0.9, 0.2])
    ik = InverseKinematics(arm, TOOL, redundant=given)
    start = pose_at(arm, q, TOOL)
    path = straight_line(start, moved(start, 0.1, 0.1, -0.05), 1.0, rate=20.0)
    kept = follow_poses(arm, path, TOOL, near=q, given=given).waypoints
    assert np.abs(kept.positions[0] - q).max() < 1e-9
    assert missed(arm, kept, path, TOOL) < 1e-9
    angles = [ik.redundant_of(x) for x in kept.positions]
    assert np.ptp(angles) < 1e-9
    led = np.linspace(angles[0], angles[0] + 0.15, len(path.times))
    moves = follow_poses(arm, path, TOOL, near=q, given=given, redundant=led).waypoints
    assert missed(arm, moves, path, TOOL) < 1e-9
    assert np.abs([ik.redundant_of(x) for x in moves.positions] - led).max() < 1e-9
    assert np.abs(np.diff(moves.positions, axis=0)).max() < 0.2  # one branch


def test_one_redundant_position_or_one_for_each_pose_is_asked_for():
    start = pose_at(iiwa(), 0.3 * np.ones(7), TOOL)
    path = straight_line(start, moved(start, 0.0, 0.0, 0.01), 1.0, rate=20.0)
    with pytest.raises(ArgumentError, match="a finite number, or 21, one for each pose"):
        follow_poses(iiwa(), path, TOOL, near=0.3 * np.ones(7), redundant=[0.1, 0.2])


def test_an_arm_without_a_closed_form_goes_on_from_the_last_pose():
    arm = read_urdf(find_robot("xarm7"))
    q = 0.4 * np.cos(2.0 * np.arange(7)) + [0, 0, 0, 1, 0, 0, 0]
    start = pose_at(arm, q, "link_eef")
    path = straight_line(start, moved(start, 0.0, 0.03, -0.02), 1.0, rate=10.0)
    ours = follow_poses(arm, path, "link_eef", near=q).waypoints
    assert missed(arm, ours, path, "link_eef") < 1e-8
    assert np.abs(np.diff(ours.positions, axis=0)).max() < 0.1  # rad: no jump in the null space


def test_a_spline_through_poses_of_the_arm_is_followed(ur5):
    poses = [
        pose_at(ur5, BENT + x, "tool0") for x in ([0.0] * 6, [0.2] * 6, [0.1, 0, -0.1, 0, 0.2, 0])
    ]
    path = pose_spline(
        [0.0, 1.0, 2.0], [p.rotation for p in poses], [p.translation for p in poses], rate=25.0
    )
    ours = follow_poses(ur5, path, "tool0", near=BENT).waypoints
    assert missed(ur5, ours, path, "tool0") < 1e-8


# -- what is met ----------------------------------------------------------------------------------


def test_a_singular_pose_on_the_path_is_reported_with_its_time_and_crossed(ur5):
    """The wrist comes straight halfway: joints 4 and 6 are in line where joint 5 is zero."""
    times = np.linspace(0.0, 2.0, 41)
    q = np.tile(BENT, (41, 1))
    q[:, 4] = np.linspace(0.4, -0.4, 41)
    poses = [pose_at(ur5, row, "tool0") for row in q]
    path = PosePath(
        times, np.array([p.rotation for p in poses]), np.array([p.translation for p in poses])
    )
    ours, remarks = follow_poses(ur5, path, "tool0", near=q[0])
    assert missed(ur5, ours, path, "tool0") < 1e-8
    # at the singular pose itself the least motion from the last one, which need not be this one
    assert ours.positions == pytest.approx(q, abs=1e-3)
    (remark,) = remarks
    assert remark.time == pytest.approx(1.0)
    assert "singular" in remark.text


def test_exceeded_limits_are_reported_by_joint_and_time():
    robot = read_urdf(find_robot("planar_2r"))
    low = robot.limits.upper[0]
    q = np.column_stack([np.linspace(low - 0.5, low + 0.5, 21), np.full(21, 0.9)])
    poses = [pose_at(robot, row, "endpoint") for row in q]
    path = PosePath(
        np.linspace(0.0, 1.0, 21),
        np.array([p.rotation for p in poses]),
        np.array([p.translation for p in poses]),
    )
    _, remarks = follow_poses(robot, path, "endpoint", near=q[0])
    reported = [remark for remark in remarks if "passes its limit" in remark.text]
    assert [str(x) for x in reported] == [f"t = 0.55 s: joint 'joint_1' passes its limit {low:.4g}"]


def test_a_joint_that_is_too_fast_is_reported(ur5):
    start = pose_at(ur5, BENT, "tool0")
    path = straight_line(start, moved(start, 0.1, -0.3, 0.1), 0.1, rate=500.0)
    _, remarks = follow_poses(ur5, path, "tool0", near=BENT)
    assert any("is faster than its limit" in remark.text for remark in remarks)


def test_a_pose_out_of_reach_is_refused_with_its_time(ur5):
    start = pose_at(ur5, BENT, "tool0")
    path = PosePath(
        np.array([0.0, 0.5]),
        np.array([start.rotation] * 2),
        start.translation + [[0] * 3, [2, 0, 0]],
    )
    with pytest.raises(TrajectoryError, match=r"^pose at t = 0.5 s: .*out of reach for '\w+': "):
        follow_poses(ur5, path, "tool0", near=BENT)


def test_a_branch_that_ends_is_refused_with_its_time(ur5):
    far = np.array([0.3, -1.2, 1.5, -0.4, 0.8, 2.0])
    first, second = (pose_at(ur5, q, "tool0") for q in (BENT, far))
    path = PosePath(
        np.array([0.0, 0.1]),
        np.array([first.rotation, second.rotation]),
        np.array([first.translation, second.translation]),
    )
    with pytest.raises(TrajectoryError, match=r"^pose at t = 0.1 s: the branch ends, joint '"):
        follow_poses(ur5, path, "tool0", near=BENT)


def test_a_single_pose_is_no_path(ur5):
    start = pose_at(ur5, BENT, "tool0")
    path = PosePath(np.zeros(1), start.rotation[None], start.translation[None])
    with pytest.raises(TrajectoryError, match="a path needs two poses or more, got 1"):
        follow_poses(ur5, path, "tool0")


def test_an_unknown_frame_is_named(ur5):
    path = straight_line(pose_of([0] * 6), pose_of([0] * 6), 1.0)
    with pytest.raises(UnknownNameError, match="'tool9'"):
        follow_poses(ur5, path, "tool9")
