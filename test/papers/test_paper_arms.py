"""Arms of the publications that print no inertias: their zero, ranges and stroke."""

import numpy as np
import pytest

from benchmark.operation_counts.puma_three_link import PumaThreeLink, puma_vectors
from robot_dynamics.kinematics import InverseKinematics, frame_pose
from robot_dynamics.papers.paper_arms import (
    LEE_PUMA_DRAWN,
    five_revolute_one_prismatic_arm,
    lee_puma,
)
from robot_dynamics.robot.denavit_hartenberg import TOOL


def test_the_ranges_of_lees_puma_are_those_of_figure_3():
    limits = [joint.limits for joint in lee_puma().moving_joints]
    printed = [(-160, 160), (-225, 45), (-45, 225), (-110, 170), (-100, 100)]  # degrees, row 6 lost
    assert np.degrees([[x.lower, x.upper] for x in limits[:5]]) == pytest.approx(np.array(printed))
    assert all(x.lower <= q <= x.upper for x, q in zip(limits, LEE_PUMA_DRAWN, strict=True))


def test_lees_puma_has_the_zero_of_the_three_links_of_section_4():
    # a straight wrist and hand of d_4 + d_6 along z_3, in place of the mass centre of link 3
    coms = np.diag([0.0, 0.0, 0.43307 + 0.05625])
    three = PumaThreeLink(np.ones(3), coms, np.ones((3, 3)))
    q = np.array([0.3, -0.7, 1.1, 0.0, 0.0, 0.0])
    vectors = puma_vectors(three, q)
    tool = frame_pose(lee_puma(), q, TOOL).translation
    assert tool == pytest.approx(vectors.p_star[1] + vectors.c[2], abs=1e-14)
    drawn = frame_pose(lee_puma(), LEE_PUMA_DRAWN, TOOL).translation  # stretched along y_0
    assert drawn == pytest.approx([-0.14909, 0.4318 + 0.43307 + 0.05625, 0.02032], abs=1e-14)


def test_the_boom_of_the_5_r_1_p_arm_stays_within_its_stroke():
    robot = five_revolute_one_prismatic_arm(stroke=(0.2, 0.8))
    q = np.array([0.7, -0.4, 0.5, 0.3, 0.9, -1.1])
    pose = frame_pose(robot, q, TOOL)
    found = InverseKinematics(robot, TOOL)(pose.rotation, pose.translation)
    # the book: two solutions at the shoulder, two at the wrist, with d_3 > 0
    assert sorted(found.q[found.within_limits, 2]) == pytest.approx([0.5] * 4)
    assert sorted(found.q[~found.within_limits, 2]) == pytest.approx([-0.5] * 4)
    retracted = InverseKinematics(five_revolute_one_prismatic_arm(stroke=(0.6, 0.8)), TOOL)
    assert not retracted(pose.rotation, pose.translation).within_limits.any()
    assert five_revolute_one_prismatic_arm().joint("joint_3").limits.lower == 0.0
