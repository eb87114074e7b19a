"""The motions of the worked examples: their kinematics, and arms that they do not fit."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from robot_dynamics.errors import ArgumentError, RobotError, UnknownNameError
from robot_dynamics.kinematics.forward_kinematics import frame_pose
from robot_dynamics.papers.paper_arms import INCH, puma_type_arm, thomas_tesar_arm
from robot_dynamics.papers.paper_motions import (
    LINE_TIME_S,
    STANFORD_TIME_S,
    circle_motion,
    line_law,
    line_motion,
    puma_type_joints,
    stanford_motion,
)
from robot_dynamics.robot.zero_position import ZeroReference
from robot_dynamics.trajectory.motions import SPLINE_KNOTS
from robot_dynamics.trajectory.pose_paths import LINE_LAWS

# -- Stanford arm -----------------------------------------------------------------------------


def test_the_stanford_arm_moves_by_the_printed_amounts():
    motion = stanford_motion([0.0, STANFORD_TIME_S])
    degrees = np.degrees(motion.q[1] - motion.q[0])
    assert_allclose(degrees[[0, 1, 3, 4, 5]], [60, -30, 60, 60, 60])
    assert_allclose(motion.q[:, 2], [0.0, 0.1], atol=1e-16)
    assert_allclose(motion.qd, 0.0, atol=1e-15)
    assert_allclose(motion.qdd, 0.0, atol=1e-15)


def test_stanford_rates_are_derivatives():
    t, h = np.linspace(0.5, 9.5, 19), 1e-4
    before, now, after = (stanford_motion(t + shift) for shift in (-h, 0.0, h))
    assert_allclose((after.q - before.q) / (2 * h), now.qd, atol=1e-9)
    assert_allclose((after.qd - before.qd) / (2 * h), now.qdd, atol=1e-9)


# -- Thomas-Tesar arm -------------------------------------------------------------------------


@pytest.mark.parametrize("law", LINE_LAWS)
def test_the_tip_of_the_thomas_tesar_arm_moves_along_the_line_without_turning(law):
    arm, t = thomas_tesar_arm(), np.linspace(0.0, LINE_TIME_S, 21)
    y = line_law(t, law)[0]
    for k, q in enumerate(line_motion(t, law).q):
        tip = frame_pose(arm, q, "link_6")
        assert_allclose(tip.translation, [1.33, y[k], 1.80], atol=1e-14)
        # x6, y6, z6 as columns
        assert_allclose(tip.rotation, [[0, 0, 1], [0, 1, 0], [-1, 0, 0]], atol=1e-14)


@pytest.mark.parametrize("law", LINE_LAWS)
def test_thomas_tesar_rates_are_derivatives(law):
    t, h = np.linspace(0.05, 0.95, 19), 1e-5
    before, now, after = (line_motion(t + shift, law) for shift in (-h, 0.0, h))
    # h^2 times third derivatives of up to 1e3 rad/s^3, and round-off over h
    away = np.abs(t[:, None] - SPLINE_KNOTS).min(axis=1) > h  # from jumps of the spline's jerk
    before, now, after = (type(x)(*(part[away] for part in x)) for x in (before, now, after))
    assert_allclose((after.q - before.q) / (2 * h), now.qd, atol=1e-6)
    assert_allclose((after.qd - before.qd) / (2 * h), now.qdd, atol=1e-5)


@pytest.mark.parametrize("law", LINE_LAWS)
def test_the_line_starts_and_ends_at_rest(law):
    y, yd, ydd = line_law([0.0, LINE_TIME_S], law)
    assert_allclose(y, [-1.0, 1.0], atol=1e-14)
    assert_allclose([yd, ydd], 0.0, atol=1e-13)


def test_knots_of_the_normal_spline_may_be_others():
    knots, t = (0.2, 0.7), np.linspace(0.0, LINE_TIME_S, 1001)
    y, yd, ydd = line_law(t, knots=knots)
    assert_allclose(y[[0, -1]], [-1.0, 1.0], atol=1e-14)
    assert_allclose([yd[[0, -1]], ydd[[0, -1]]], 0.0, atol=1e-12)
    assert_allclose(np.gradient(yd, t)[1:-1], ydd[1:-1], atol=0.04)  # jerk jumps by 150: 0.0375
    jerk = np.diff(ydd)  # a cubic spline: the jerk is constant between knots
    bends = t[1:-1][np.abs(np.diff(jerk)) > 1e-6]
    assert_allclose(bends, knots, atol=1.1e-3)
    with pytest.raises(ArgumentError, match=r"^knots are \(0\.7, 0\.2\); give two that increase"):
        line_motion(t, knots=(0.7, 0.2))


def test_the_normal_spline_has_an_acceleration_of_straight_lines():
    """A cubic spline that is natural and complete at once: 0, 9, -9, 0 for a path of length 1."""
    ends = np.array([0.0, *SPLINE_KNOTS, 1.0])
    assert_allclose(line_law(ends * LINE_TIME_S)[2], [0.0, 18.0, -18.0, 0.0], atol=1e-12)
    t = np.linspace(0.0, LINE_TIME_S, 301)
    assert_allclose(line_law(t)[2], np.interp(t, ends, [0.0, 18.0, -18.0, 0.0]), atol=1e-12)


def test_an_unknown_law_of_the_line_is_named():
    with pytest.raises(UnknownNameError, match="no law 'spline' in the line of Thomas and Tesar"):
        line_law([0.0], "spline")


def test_the_printed_start_angles_are_those_of_the_ends_of_the_line():
    # Table 3 mixes two poses: theta_2 = 68.5 and theta_4 = 39.6 belong to |y| = 1 m (to the last
    # printed digit, on the rounded line), the others to y = 0
    ends = np.degrees(line_motion([0.0, LINE_TIME_S]).q)
    assert_allclose(ends[:, 1], 68.5, atol=0.1)
    assert_allclose(ends[:, 3], 39.6, atol=0.1)
    middle = np.degrees(line_motion([LINE_TIME_S / 2]).q[0])
    assert_allclose(middle, [0, 90, -135, 45, 90, 90], atol=0.2)


# -- PUMA-type arm ----------------------------------------------------------------------------


def hands(arm, q):
    """Positions (N, 3) and orientations (N, 3, 3) of the hand."""
    poses = [frame_pose(arm.robot, row, "hand") for row in q]
    return np.array([x.translation for x in poses]), np.array([x.rotation for x in poses])


def test_closed_form_joints_put_the_hand_where_it_was_wanted():
    arm, rng = puma_type_arm(), np.random.default_rng(2)
    wanted = hands(arm, rng.uniform(-3.0, 3.0, (50, 6)))
    found = hands(arm, puma_type_joints(arm, *wanted))
    # near full reach the elbow is the square root of what is left, and of its round-off
    assert_allclose(found[0], wanted[0], atol=1e-12)
    assert_allclose(found[1], wanted[1], atol=1e-12)


def test_near_the_zero_position_closed_form_joints_are_unique():
    arm, rng = puma_type_arm(), np.random.default_rng(2)
    low, high = (-1.0, -1.0, -0.6, -3.0, -2.0, -3.0), (1.0, 0.0, 0.6, 3.0, -0.1, 3.0)
    q = rng.uniform(low, high, (50, 6))
    assert_allclose(puma_type_joints(arm, *hands(arm, q)), q, atol=1e-11)


def test_with_joint_5_at_zero_the_hand_is_where_it_was_wanted():
    # the zero position among them: axes 4 and 6 are in line, and only q4 - q6 is determined
    arm, rng = puma_type_arm(), np.random.default_rng(2)
    q = rng.uniform(-0.5, 0.5, (20, 6)) * (1, 1, 1, 1, 0, 1)
    q[0] = 0.0
    wanted = hands(arm, q)
    joints = puma_type_joints(arm, *wanted)
    assert_allclose(joints[:, [0, 1, 2, 4]], q[:, [0, 1, 2, 4]], atol=1e-9)
    found = hands(arm, joints)
    assert_allclose(found[0], wanted[0], atol=1e-11)
    assert_allclose(found[1], wanted[1], atol=1e-11)


def test_a_point_out_of_reach_is_refused():
    arm = puma_type_arm()
    with pytest.raises(RobotError) as caught:
        puma_type_joints(arm, np.array([[50.0, 0.0, 0.0]]) * INCH, np.eye(3)[None])
    assert str(caught.value) == (
        "robot 'puma_gupta_printed' cannot reach [1.27, 0.0, 0.0] with its hand; choose a point "
        "nearer to its shoulder"
    )


def test_an_arm_of_another_type_is_refused():
    other = ZeroReference.from_robot(thomas_tesar_arm())
    with pytest.raises(RobotError) as caught:
        circle_motion(other, [0.0], frame="tool")
    assert str(caught.value) == (
        "robot 'thomas_tesar_printed' is not the PUMA-type arm whose inverse kinematics this is; "
        "its axes at zero must be z, y, y, z, -y, -z, the last three through one point"
    )
