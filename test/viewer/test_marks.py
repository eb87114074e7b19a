"""Marks of a state: where, how large and in which colour."""

import numpy as np
import pytest

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.kinematics.forward_kinematics import link_poses
from robot_dynamics.robot import find_robot
from robot_dynamics.viewer.marks import FORCE_SCALE, HOT, NEUTRAL, Marks
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


def test_a_wrench_is_an_arrow_at_the_hand_and_none_removes_it(robot, marks):
    q, wrench = [0.3, 0.4], np.array([20.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    found = shown(marks, q, wrench=wrench)
    assert (found["wrench", 0].shown, found["wrench", 1].shown) == (True, False)
    hand = Dynamics(robot).pose(np.array(q))
    start, end = np.array(found["wrench", 0].points)
    np.testing.assert_allclose(start, hand.position, atol=ROUND_OFF)
    expected = FORCE_SCALE * hand.rotation @ wrench[:3]
    np.testing.assert_allclose(end - start, expected, atol=ROUND_OFF)
    assert not shown(marks, q)["wrench", 0].shown
