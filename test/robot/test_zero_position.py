"""The zero reference position: from robots and tables, and back."""

import numpy as np
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal

from oracles import relative_error
from robot_dynamics.formulations import inverse_dynamics
from robot_dynamics.papers.paper_arms import puma_type_arm
from robot_dynamics.robot import find_robot
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.robot.urdf.reader import read_urdf
from robot_dynamics.robot.zero_position import ZeroReference
from robot_dynamics.robot.zero_reference_tables import hand_of, zero_reference_from_tables
from robot_dynamics.spatial import Inertia
from strategies import random_state, robots, seeds

ROUND_OFF = 1e-12  # a few rotations of numbers near 1; the worst of 200 trees is 3e-15


# -- from a robot and back --------------------------------------------------------------------


@given(robots())
def test_a_robot_comes_back_as_it_was(robot):
    tree = merge_fixed(robot)
    back = ZeroReference.from_robot(robot).to_robot()
    assert back.parents == tree.parents
    for ours, theirs in zip(back.joints, tree.joints, strict=True):
        assert (ours.name, ours.type, ours.limits, ours.mimic, ours.damping, ours.friction) == (
            *(theirs.name, theirs.type, theirs.limits),
            *(theirs.mimic, theirs.damping, theirs.friction),
        )
        assert_allclose(ours.axis, theirs.axis, atol=ROUND_OFF)
        assert_allclose(ours.origin.rotation, theirs.origin.rotation, atol=ROUND_OFF)
        assert_allclose(ours.origin.translation, theirs.origin.translation, atol=ROUND_OFF)
    for ours, theirs in zip(back.links, tree.links, strict=True):
        assert (ours.name, ours.inertia.mass) == (theirs.name, theirs.inertia.mass)
        assert_allclose(ours.inertia.com, theirs.inertia.com, atol=ROUND_OFF)
        assert_allclose(ours.inertia.about_com, theirs.inertia.about_com, atol=ROUND_OFF)
    for name, frame in tree.frames.items():
        assert back.frames[name].link == frame.link
        assert_allclose(back.frames[name].pose.rotation, frame.pose.rotation, atol=ROUND_OFF)
        assert_allclose(back.frames[name].pose.translation, frame.pose.translation, atol=ROUND_OFF)


@given(robots(), seeds())
def test_turning_link_frames_parallel_changes_no_torque(robot, seed):
    state = random_state(robot, seed)
    expected = inverse_dynamics(robot, *state)
    found = inverse_dynamics(ZeroReference.from_robot(robot).robot, *state)
    assert relative_error(found, expected) < 1e-10  # light links at the end of heavy arms


@given(robots())
def test_body_vectors_add_up(robot):
    zero = ZeroReference.from_robot(robot)
    for k, i in enumerate(zero.robot.parents):
        assert_allclose(zero.s[i] + zero.d[k], zero.b[k], atol=ROUND_OFF)
        start = zero.centres[i - 1] if i > 0 else np.zeros(3)
        assert_allclose(start + zero.b[k], zero.centres[k], atol=ROUND_OFF)


def test_link_frames_are_exactly_parallel():
    # round-off in their relative rotations would leave operations in every traced equation
    zero = ZeroReference.from_robot(read_urdf(find_robot("planar_2r")))
    for joint in zero.robot.joints:
        assert_array_equal(joint.origin.rotation, np.eye(3))


@given(robots(min_joints=2))
def test_an_end_effector_is_where_its_frame_is_at_zero(robot):
    tree = merge_fixed(robot)
    zero = ZeroReference.from_robot(robot)
    for name in tree.frame_names:
        place, end_effector = tree.frame(name), hand_of(zero, name)
        R, p = np.eye(3), np.zeros(3)  # pose of the link at zero, and its joint centre, in the base
        path, i = [], tree.link_index(place.link)
        while i > 0:
            path.append(i - 1)
            i = tree.parents[i - 1]
        for k in reversed(path):
            p = p + R @ tree.joints[k].origin.translation
            R = R @ tree.joints[k].origin.rotation
        assert_allclose(end_effector.rotation, R @ place.pose.rotation, atol=ROUND_OFF)
        assert_allclose(end_effector.b, R @ place.pose.translation, atol=ROUND_OFF)


def test_the_shipped_urdf_of_that_arm_is_the_same_arm():
    # the URDF prints seven digits and more
    ours = puma_type_arm("physical")
    shipped = ZeroReference.from_robot(read_urdf(find_robot("puma_gupta")))
    assert_allclose(shipped.u, ours.u, atol=1e-12)
    assert_allclose(shipped.b, ours.b, atol=1e-12)
    assert_allclose(shipped.s[1:], ours.s[1:], atol=1e-12)
    assert_allclose(shipped.mass[1:], ours.mass[1:], rtol=1e-7)
    assert_allclose(shipped.inertia[1:], ours.inertia[1:], rtol=1e-6, atol=1e-9)


def test_links_that_are_parallel_already_keep_their_numbers():
    body = Inertia.from_com(1.5, (0.1, 0.2, 0.3), np.diag((0.1, 0.2, 0.25)))
    zero = zero_reference_from_tables(
        ["revolute"],
        u=[(0.0, 0.0, 1.0)],
        s=[(0.1, 0.2, 0.3)],
        b=[(1.0, 0.0, 0.0)],
        masses=[1.5],
        inertias=[np.diag((0.1, 0.2, 0.25))],
    )
    again = ZeroReference.from_robot(zero.robot)
    assert_array_equal(again.robot.links[1].inertia.second_moment, body.second_moment)
