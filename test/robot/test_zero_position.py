"""The zero reference position: from robots and tables, and back."""

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal

from oracles import relative_error
from robot_dynamics.errors import RobotError, ShapeError, UnknownNameError
from robot_dynamics.formulations import inverse_dynamics
from robot_dynamics.papers.paper_arms import INCH, POUND, POUND_INCH, puma_type_arm
from robot_dynamics.robot import find_robot
from robot_dynamics.robot.joint import JointType
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.robot.urdf.reader import read_urdf
from robot_dynamics.robot.zero_position import ZeroReference
from robot_dynamics.spatial.rigid_body import Inertia
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
def test_a_hand_is_where_its_frame_is_at_zero(robot):
    tree = merge_fixed(robot)
    zero = ZeroReference.from_robot(robot)
    for name in tree.frame_names:
        place, hand = tree.frame(name), zero.hand(name)
        R, p = np.eye(3), np.zeros(3)  # pose of the link at zero, and its joint centre, in the base
        path, i = [], tree.link_index(place.link)
        while i > 0:
            path.append(i - 1)
            i = tree.parents[i - 1]
        for k in reversed(path):
            p = p + R @ tree.joints[k].origin.translation
            R = R @ tree.joints[k].origin.rotation
        assert_allclose(hand.rotation, R @ place.pose.rotation, atol=ROUND_OFF)
        assert_allclose(hand.b, R @ place.pose.translation, atol=ROUND_OFF)


# -- from tables ------------------------------------------------------------------------------


def test_the_arm_of_the_paper_reads_back_its_tables():
    zero = puma_type_arm()
    u = [(0, 0, 1), (0, 1, 0), (0, 1, 0), (0, 0, 1), (0, -1, 0), (0, 0, -1)]
    s = [(0, 5, 0), (8, 2, 0), (0, 0, -9), (0, 0, -1), (0, -1, 0), (0, 0, -3)]
    d = [(0, 5, 0), (9, -2, 0), (0, 0, -8), (0, 0, 1), (0, 1, 0)]  # d and b that end at joints 2..6
    b = [(0, 10, 0), (17, 0, 0), (0, 0, -17), (0, 0, 0), (0, 0, 0)]
    assert_array_equal(zero.u, u)
    assert_allclose(zero.s[1:] / INCH, s, atol=1e-13)
    assert_allclose(zero.d[1:] / INCH, d, atol=1e-13)
    assert_allclose(zero.b[1:] / INCH, b, atol=1e-13)
    assert_allclose(zero.mass[1:] / POUND, [10, 16, 12, 1, 1, 6])
    moments = np.diagonal(zero.inertia[1:], axis1=1, axis2=2) / POUND_INCH
    assert_allclose(moments[2], [1.405, 1.585, 0.034], atol=1e-12)
    assert_allclose(moments[5], [0.069, 0.069, 0.01], atol=1e-12)
    hand = zero.hand()
    assert_allclose(hand.b / INCH, [0, 0, -5])
    assert_array_equal(hand.u_oa, [0, 0, -1])
    assert_array_equal(hand.u_ot, [0, -1, 0])


def test_the_shipped_urdf_of_that_arm_is_the_same_arm():
    # the URDF prints seven digits and more
    ours, shipped = puma_type_arm(), ZeroReference.from_robot(read_urdf(find_robot("puma_gupta")))
    assert_allclose(shipped.u, ours.u, atol=1e-12)
    assert_allclose(shipped.b, ours.b, atol=1e-12)
    assert_allclose(shipped.s[1:], ours.s[1:], atol=1e-12)
    assert_allclose(shipped.mass[1:], ours.mass[1:], rtol=1e-7)
    assert_allclose(shipped.inertia[1:], ours.inertia[1:], rtol=1e-6, atol=1e-9)


def one_joint(**changes):
    """A table of one revolute joint, with some columns replaced."""
    table = {
        "types": ["revolute"],
        "u": [(0.0, 0.0, 1.0)],
        "s": [(0.5, 0.0, 0.0)],
        "b": [(1.0, 0.0, 0.0)],
        "masses": [2.0],
        "inertias": [np.eye(3)],
    }
    return ZeroReference.from_tables(**{**table, **changes})


def test_a_table_makes_the_robot_that_it_describes():
    # a rod that swings about a vertical axis under gravity along -y
    zero = one_joint(gravity=(0.0, -9.81, 0.0))
    tau = inverse_dynamics(zero.robot, [0.0], [0.0], [1.0])
    assert_allclose(tau, 1.0 + 2.0 * 0.5**2 + 2.0 * 9.81 * 0.5)


def test_joint_types_may_be_given_either_way():
    assert one_joint(types=[JointType.PRISMATIC]).robot.joints[0].type is JointType.PRISMATIC
    assert one_joint(types=["prismatic"]).robot.joints[0].type is JointType.PRISMATIC


def test_axes_of_a_table_are_directions():
    assert_array_equal(one_joint(u=[(0.0, 0.0, 3.0)]).u, [(0.0, 0.0, 1.0)])


@pytest.mark.parametrize(
    ("changes", "error", "text"),
    [
        (
            {"s": np.zeros((2, 3))},
            ShapeError,
            "s must have shape (1, 3), one row per joint, got (2, 3); the table of joint types has "
            "1 rows",
        ),
        (
            {"u": [(0.0, 0.0, 0.0)]},
            RobotError,
            "u[0] has length 0.0; give the direction of the joint axis",
        ),
        (
            {"types": ["fixed"]},
            RobotError,
            "types[0] is 'fixed'; a joint is one of revolute, continuous, prismatic",
        ),
        (
            {"u_oa": (0.0, 0.0, 1.0), "u_ot": (0.0, 1.0, 1.0)},
            RobotError,
            "u_oa [0.0, 0.0, 1.0] and u_ot [0.0, 1.0, 1.0] must be unit vectors at right angles",
        ),
    ],
    ids=["rows", "axis", "type", "hand"],
)
def test_a_wrong_table_is_refused_by_the_name_of_its_column(changes, error, text):
    with pytest.raises(error) as caught:
        one_joint(**changes)
    assert str(caught.value) == text


def test_an_unknown_hand_lists_the_frames():
    with pytest.raises(UnknownNameError) as caught:
        puma_type_arm().hand("hend")
    assert str(caught.value) == (
        "no frame 'hend' in robot 'PUMA-type arm' (frames: link_1, link_2, link_3, link_4, link_5, "
        "link_6, link_7, hand); did you mean 'hand'?"
    )


def test_links_that_are_parallel_already_keep_their_numbers():
    body = Inertia.from_com(1.5, (0.1, 0.2, 0.3), np.diag((0.1, 0.2, 0.25)))
    zero = one_joint(masses=[1.5], s=[(0.1, 0.2, 0.3)], inertias=[np.diag((0.1, 0.2, 0.25))])
    again = ZeroReference.from_robot(zero.robot)
    assert_array_equal(again.robot.links[1].inertia.second_moment, body.second_moment)
