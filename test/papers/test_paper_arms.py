"""The arms of the publications under their names: printed numbers, and bodies that there can be."""

import numpy as np
import pytest

from arms import RENAUD
from robot_dynamics.cli import main
from robot_dynamics.formulations import inverse_dynamics
from robot_dynamics.kinematics import InverseKinematics, frame_pose
from robot_dynamics.papers.paper_arms import (
    LEE_PUMA_DRAWN,
    five_revolute_one_prismatic_arm,
    lee_puma,
    puma_type_arm,
    stanford_arm,
    thomas_tesar_arm,
)
from robot_dynamics.papers.puma_three_link import PumaThreeLink, puma_vectors
from robot_dynamics.robot import find_robot, read_urdf, urdf_text
from robot_dynamics.robot.denavit_hartenberg import TOOL
from robot_dynamics.simulation.perturbed_robot import check_physical


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


PHYSICAL = ("stanford", "stanford_classic", "thomas_tesar", "lee_puma", "puma_gupta", "renaud_6r",
            "asada_5r1p")  # fmt: skip


@pytest.mark.parametrize("name", PHYSICAL)
def test_an_arm_of_a_paper_can_be_simulated_by_its_name(name, caplog):
    robot = read_urdf(find_robot(name))
    assert caplog.records == []
    check_physical(robot)
    assert robot.dof == 6
    assert np.isfinite(robot.limits.effort).all()
    assert len(robot.tips) == 1


@pytest.mark.thorough
def test_verbs_take_an_arm_of_a_paper_by_its_name(capsys):
    assert main(["kinematics", "stanford"]) == 0
    assert "spherical wrist" in capsys.readouterr().out
    assert main(["simulate", "stanford", "--duration", "0.5"]) == 0


@pytest.mark.parametrize(
    ("name", "arm"),
    [
        ("stanford", stanford_arm()),
        ("stanford_classic", stanford_arm("classic")),
        ("thomas_tesar", thomas_tesar_arm("physical")),
        ("thomas_tesar_printed", thomas_tesar_arm("printed")),
        ("thomas_tesar_distal", thomas_tesar_arm("distal")),
        ("lee_puma", lee_puma()),
        ("puma_gupta_printed", puma_type_arm("printed").robot),
    ],
)
def test_the_named_robot_is_the_arm_of_the_paper(name, arm):
    robot, state = read_urdf(find_robot(name)), np.random.default_rng(6).normal(size=(3, 6))
    tau = inverse_dynamics(arm, *state)
    # round-off of the text of the URDF
    assert inverse_dynamics(robot, *state) == pytest.approx(tau, abs=1e-12 * np.abs(tau).max())
    says = urdf_text(name).splitlines()[1]
    assert says.startswith("<!-- [")
    assert "chosen" in says


def test_the_physical_reading_of_the_thomas_tesar_arm_has_the_torques_of_the_distal_one():
    # moments of link 1 about other axes than its joint do no work
    state = np.random.default_rng(6).normal(size=(3, 6))
    distal, physical = (
        inverse_dynamics(thomas_tesar_arm(x), *state) for x in ("distal", "physical")
    )
    assert physical == pytest.approx(distal, abs=1e-12 * np.abs(distal).max())


def test_renauds_arm_has_the_torques_of_two_other_computations():
    robot = read_urdf(find_robot("renaud_6r"))
    tau = inverse_dynamics(robot, RENAUD["q"], RENAUD["qd"], RENAUD["qdd"])
    assert tau == pytest.approx(RENAUD["Gamma"], abs=1e-12)


def test_the_5_r_1_p_arm_has_the_table_of_the_book():
    q = np.array([0.7, -0.4, 0.5, 0.3, 0.9, -1.1])
    ours = frame_pose(read_urdf(find_robot("asada_5r1p")), q, TOOL)
    book = frame_pose(five_revolute_one_prismatic_arm(0.6, 0.2, 0.15), q, TOOL)
    assert ours.translation == pytest.approx(book.translation, abs=1e-14)
    assert ours.rotation == pytest.approx(book.rotation, abs=1e-14)
