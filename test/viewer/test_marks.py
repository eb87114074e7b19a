"""Marks of a state: where, how large and in which colour."""

import numpy as np
import pytest

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.kinematics.forward_kinematics import link_poses
from robot_dynamics.robot import find_robot
from robot_dynamics.spatial import Pose, rotation_about
from robot_dynamics.viewer.marks import FORCE_SCALE, HOT, NEUTRAL, Kind, Marks
from robot_dynamics.viewer.snapshot import Snapshot

ROUND_OFF = 1e-12  # m, of positions near 1 m


@pytest.fixture(scope="module")
def robot():
    return read_urdf(find_robot("planar_2r"))


@pytest.fixture(scope="module")
def marks(robot):
    return Marks(Dynamics(robot))


def shown(marks, q, tau=(0.0, 0.0), **more):
    q, none = np.array(q), np.zeros(2)
    found = marks.of(Snapshot(0.0, q, none, none, np.array(tau), **more))
    return {(mark.name, mark.number): mark for mark in found}


def test_the_colour_of_a_joint_is_its_effort_over_its_limit(robot, marks):
    limit = robot.limits.effort[1]
    balls = [shown(marks, [0.3, 0.4], [np.nan, tau])["load", 1] for tau in (0.0, -limit, 9 * limit)]
    assert [ball.colour for ball in balls] == [NEUTRAL, HOT, HOT]
    assert shown(marks, [0.3, 0.4], [np.nan, 0.0])["load", 0].colour == NEUTRAL


AXES = {"revolute": "0 1 0", "continuous": "0.6 0 0.8", "prismatic": "0 0 -1"}


@pytest.fixture(scope="module")
def three_joints():
    """One joint of each type, with a limit of 10 N m or 10 N."""
    link = (
        "<link name='{}'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' "
        "ixz='0' iyz='0'/></inertial></link>"
    )
    text, parent = link.format("base"), "base"
    for kind, axis in AXES.items():
        limit = "lower='-1' upper='1' effort='10' velocity='1'"
        text += link.format(kind) + (
            f"<joint name='joint_{kind}' type='{kind}'><parent link='{parent}'/>"
            f"<child link='{kind}'/><origin xyz='0 0 0.4'/><axis xyz='{axis}'/>"
            f"<limit {limit}/></joint>"
        )
        parent = kind
    return read_urdf(f"<robot name='three'>{text}</robot>")


@pytest.mark.parametrize("sense", [1.0, -1.0])
def test_the_effort_of_every_kind_of_joint_is_drawn_in_its_sense(three_joints, sense):
    q, zero = np.array([0.3, -0.5, 0.2]), np.zeros(3)
    marks, poses = Marks(Dynamics(three_joints)), link_poses(three_joints, q)

    def drawn(share):
        now = Snapshot(0.0, q, zero, zero, np.full(3, 10.0 * share))
        return [mark for mark in marks.of(now) if mark.name == "effort"]

    for mark, kind in zip(drawn(sense), AXES, strict=True):
        X, joint = poses[kind], three_joints.joint(f"joint_{kind}")
        axis, ends = X.rotation @ joint.axis, np.array(mark.points) - X.translation
        assert mark.shown and mark.colour == HOT
        if kind == "prismatic":
            np.testing.assert_allclose(ends[0], 0.0, atol=ROUND_OFF)
            assert sense * ends[1] @ axis == pytest.approx(np.linalg.norm(ends[1]))
        else:
            np.testing.assert_allclose(ends @ axis, 0.0, atol=ROUND_OFF)
            turns = np.cross(ends[:48:2], ends[1:48:2]) @ axis
            assert (sense * turns > 0.0).all()
    half, full = (np.ptp(drawn(share)[0].points, axis=0).max() for share in (0.5, 1.0))
    assert half < full
    assert not any(mark.shown for share in (0.0, 1e-4) for mark in drawn(sense * share))


def test_every_moving_joint_has_a_ball_at_its_link(robot, marks):
    q = [0.3, 0.4]
    found, poses = shown(marks, q), link_poses(robot, np.array(q))
    for k, link in enumerate(("link_1", "link_2")):
        expected = poses[link].translation
        np.testing.assert_allclose(found["load", k].position, expected, atol=ROUND_OFF)


def test_the_reference_is_drawn_while_there_is_one(robot, marks):
    assert ("reference", 0) not in shown(marks, [0.3, 0.4])
    line = shown(marks, [0.3, 0.4], q_d=np.array([1.0, -0.5]))["reference", 0]
    elbow = link_poses(robot, np.array([1.0, -0.5]))["link_2"].translation
    np.testing.assert_allclose(line.points[3], elbow, atol=ROUND_OFF)


def test_arrows_have_labels_and_colours_of_their_own(marks):
    found = shown(marks, [0.3, 0.4], wrench=np.array([0.0, 3.0, 4.0, 0.0, 0.0, 2.0]))
    assert found["wrench", 2].text == "force 5 N" and found["wrench", 3].text == "moment 2 N m"
    assert found["gravity", 1].text == "gravity"
    arrows = [mark for mark in found.values() if mark.kind is Kind.ARROW]
    assert len({mark.colour for mark in arrows}) == len(arrows) == 3
    large = shown(marks, [0.3, 0.4], wrench=np.array([3000.0, 0.0, 4000.0, 0.0, 999.7, 0.0]))
    assert [large["wrench", k].text for k in (2, 3)] == ["force 5000 N", "moment 1000 N m"]
    none = shown(marks, [0.3, 0.4])
    assert not (none["wrench", 2].shown or none["wrench", 3].shown)


def test_words_of_labels_stand_together(marks):
    labels = [m for m in shown(marks, [0.3, 0.4]).values() if m.kind is Kind.TEXT_VIEW_FACING]
    assert len(labels) == 4
    for label in labels:
        space, _, height = label.scale
        assert 0.2 * height < space < 0.6 * height


def test_balls_are_opaque_so_that_their_colour_is_steady(marks):
    found = shown(marks, [0.3, 0.4])
    assert {mark.alpha for mark in found.values() if mark.kind is Kind.SPHERE} == {1.0}


def test_a_law_in_task_space_shows_target_and_error_in_place_of_the_reference(robot, marks):
    q, q_d = [0.3, 0.4], np.array([1.0, -0.5])
    end_effector = Pose(*Dynamics(robot).pose(np.array(q)))
    turn = rotation_about(np.array([0.0, 0.0, 1.0]), np.radians(30.0))
    target = Pose(turn @ end_effector.rotation, end_effector.translation + [0.03, 0.0, 0.04])
    found = shown(marks, q, q_d=q_d, end_effector=end_effector, target=target)
    assert not found["reference", 0].shown
    assert found["target", 2].text == "target: 50 mm, 30 deg"
    far = Pose(target.rotation, end_effector.translation + [0.9, 0.0, 1.2])
    label = shown(marks, q, end_effector=end_effector, target=far)["target", 2]
    assert label.text == "target: 1500 mm, 30 deg"
    near = Pose(end_effector.rotation, end_effector.translation + [3e-8, 0.0, 4e-8])
    label = shown(marks, q, end_effector=end_effector, target=near)["target", 2]
    assert label.text == "target: 0 mm, 0 deg"
    np.testing.assert_allclose(
        found["target", 1].points[0], end_effector.translation, atol=ROUND_OFF
    )
    np.testing.assert_allclose(found["target", 1].points[1], target.translation, atol=ROUND_OFF)
    start, end = map(np.array, found["target", 0].points[:2])
    along = (end - start) / np.linalg.norm(end - start)
    np.testing.assert_allclose(along, target.rotation[:, 0], atol=ROUND_OFF)
    joints = shown(marks, q, q_d=q_d)
    assert joints["reference", 0].shown
    assert not any(joints["target", k].shown for k in range(3))


def test_a_wrench_is_an_arrow_at_the_end_effector_and_none_removes_it(robot, marks):
    q, wrench = [0.3, 0.4], np.array([20.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    found = shown(marks, q, wrench=wrench)
    assert (found["wrench", 0].shown, found["wrench", 1].shown) == (True, False)
    end_effector = Dynamics(robot).pose(np.array(q))
    start, end = np.array(found["wrench", 0].points)
    np.testing.assert_allclose(start, end_effector.position, atol=ROUND_OFF)
    expected = FORCE_SCALE * end_effector.rotation @ wrench[:3]
    np.testing.assert_allclose(end - start, expected, atol=ROUND_OFF)
    assert not shown(marks, q)["wrench", 0].shown
