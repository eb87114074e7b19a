"""Arms from tables of their zero reference position: the printed one, and what is refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from robot_dynamics.errors import RobotError, ShapeError, UnknownNameError
from robot_dynamics.formulations import inverse_dynamics
from robot_dynamics.papers.paper_arms import POUND, puma_type_arm
from robot_dynamics.robot.kinematic_tree import JointType
from robot_dynamics.robot.zero_reference_tables import hand_of, zero_reference_from_tables


def test_a_robot_prints_both_tables_of_the_paper():
    lines = str(puma_type_arm()).splitlines()
    rows = {tuple(line.split()[:2]): line for line in lines}
    # in m: joint 3 is 17 in beyond joint 2, 9 in beyond the mass centre of link 3
    assert " 0, 1, 0   0.4318, 0, 0  0.2286, -0.0508, 0" in rows["3", "joint_3"]
    printed = rows["4", "link_4"].split()
    assert float(printed[2]) == pytest.approx(12 * POUND, rel=1e-6)
    assert " 0, 0, -0.2286 " in rows["4", "link_4"]
    assert len(rows) >= 12


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
    return zero_reference_from_tables(**{**table, **changes})


def test_a_table_makes_the_robot_that_it_describes():
    # a rod that turns about a vertical axis under gravity along -y
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
        hand_of(puma_type_arm(), "hend")
    assert str(caught.value) == (
        "no frame 'hend' in robot 'puma_gupta_printed' (frames: base, link_2, link_3, link_4, "
        "link_5, link_6, link_7, hand); did you mean 'hand'?"
    )
