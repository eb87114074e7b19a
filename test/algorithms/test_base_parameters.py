"""Base parameters: their number is the rank of the torque regressor."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from arms import renaud_6r
from oracles import (
    all_but_longest,
    distinct_examples,
    example_robot,
    examples,
    has_few_joints,
    relative_error,
)
from robot_dynamics.algorithms.base_parameters import base_parameters, independent_columns
from robot_dynamics.errors import ShapeError
from robot_dynamics.formulations import inverse_dynamics
from robot_dynamics.formulations.regressor import Regressor, regressor
from robot_dynamics.papers.book_arms import planar_two_link
from robot_dynamics.robot.joint_frames import joint_frames
from robot_dynamics.robot.kinematic_tree import Joint, JointType, Link, Mimic
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.spatial import PARAMETERS, Inertia, Pose
from strategies import random_inertia, random_state, robots, seeds

# Relative to the largest torque: coefficients come from least squares, which loses digits where
# axes are parallel to within the rounding of a URDF; all examples stay below 1e-10
ROUND_OFF = 1e-9


def torque_rank(robot):
    """Rank of the torque regressor over all inertial parameters, on random motions.

    By differences of torques, which are linear: no column is formed as the package forms it.
    """
    tree = joint_frames(merge_fixed(robot))
    motions = [random_state(robot, seed) for seed in range(12 * len(tree.joints) // robot.dof + 3)]
    columns = []
    for i in range(1, len(tree.links)):
        for unit in np.eye(len(PARAMETERS)):
            m, (x, y, z), (xx, xy, xz, yy, yz, zz) = unit[0], unit[1:4], unit[4:]
            second = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            body = Inertia(m, np.array([x, y, z]), second)
            alone = replace(
                tree,
                links=tuple(
                    Link(link.name, body if j == i else Inertia.zero())
                    for j, link in enumerate(tree.links)
                ),
            )
            columns.append(
                np.concatenate(
                    [inverse_dynamics(alone, *s, formulation="augmented_body") for s in motions]
                )
            )
    return rank(np.column_stack(columns))


def rank(Y):
    sizes = np.linalg.norm(Y, axis=0)
    Y = Y[:, sizes > 1e-9 * sizes.max()]
    values = np.linalg.svd(Y / np.linalg.norm(Y, axis=0), compute_uv=False)
    # Singular values of examples are above 4e-5 or below 4e-11
    return int(np.sum(values > 1e-8 * values[0]))


# -- their number -----------------------------------------------------------------------------


@settings(max_examples=10)
@given(robots(max_joints=4))
def test_their_number_is_the_rank_of_the_torque_regressor(robot):
    assert len(base_parameters(robot)) == torque_rank(robot)


def efficient_torque_rank(robot):
    """The same, with the kinematics of a motion computed once for all unit bodies."""
    found = Regressor.of(robot)
    everything = replace(
        found, columns=tuple((i, s) for i in range(1, len(found.tree.links)) for s in PARAMETERS)
    )
    samples = 12 * len(found.tree.joints) // robot.dof + 3
    Y = np.vstack([everything(*random_state(robot, seed)) for seed in range(samples)])
    return rank(Y)


SMALL = [path for path in distinct_examples() if example_robot(path).dof <= 8]


@pytest.mark.parametrize("path", examples([x for x in SMALL if example_robot(x).dof < 6], SMALL))
def test_their_number_is_the_rank_of_the_torque_regressor_for_examples(path):
    robot = example_robot(path)
    assert len(base_parameters(robot)) == torque_rank(robot)


LARGE = [path for path in all_but_longest(distinct_examples()) if example_robot(path).dof > 8]


@pytest.mark.parametrize("path", examples(list(filter(has_few_joints, LARGE))[:1], LARGE))
def test_their_number_is_the_rank_of_the_torque_regressor_for_large_examples(path):
    robot = example_robot(path)
    assert len(base_parameters(robot)) == efficient_torque_rank(robot)


def test_six_revolute_joints_with_a_vertical_first_axis_have_36():
    # Seven for each joint but the first, which only feels the moment about its axis
    assert len(base_parameters(renaud_6r())) == 36


def test_tilted_first_axis_feels_two_moments_of_gravity_as_well():
    assert len(base_parameters(renaud_6r().with_gravity((3.0, 0.0, -9.0)))) == 38


def test_without_gravity_a_pendulum_has_one():
    arm = Robot(
        "pendulum",
        (Link("base"), Link("bob", random_inertia(np.random.default_rng(1)))),
        (
            Joint(
                "pivot", JointType.REVOLUTE, "base", "bob", Pose.identity(), np.array([0, 1.0, 0])
            ),
        ),
    )
    assert [p.symbol for p in base_parameters(arm)] == ["Izz", "hx", "hy"]
    assert [p.symbol for p in base_parameters(arm.with_gravity((0, 0, 0)))] == ["Izz"]


def test_slide_has_its_mass():
    slide = Robot(
        "slide",
        (Link("base"), Link("carriage", random_inertia(np.random.default_rng(1)))),
        (Joint("rail", JointType.PRISMATIC, "base", "carriage", Pose.identity()),),
    )
    assert [p.name for p in base_parameters(slide)] == ["carriage.m"]


def test_mimic_joints_leave_fewer():
    rng = np.random.default_rng(2)
    z = np.array([0.0, 0.0, 1.0])
    joints = [
        Joint("a", JointType.REVOLUTE, "base", "left", Pose(np.eye(3), np.array([0.1, 0, 0])), z),
        Joint("b", JointType.REVOLUTE, "base", "right", Pose(np.eye(3), np.array([0, 0.1, 0])), z),
    ]
    links = (Link("base"), Link("left", random_inertia(rng)), Link("right", random_inertia(rng)))
    free = Robot("gripper", links, tuple(joints))
    coupled = replace(free, joints=(joints[0], replace(joints[1], mimic=Mimic("a", -1.0))))
    assert [p.name for p in base_parameters(free)] == ["left.Izz", "right.Izz"]
    (only,) = base_parameters(coupled)
    assert dict(only.gathers) == pytest.approx({"left.Izz": 1.0, "right.Izz": 1.0})


# -- what they gather -------------------------------------------------------------------------


def test_planar_arm_gathers_what_the_textbook_does():
    # Asada and Slotine, example 5-1: H11, H12 and G depend on m1 lc1^2 + I1 + m2 l1^2,
    # m2 lc2^2 + I2, m2 lc2 and m1 lc1 + m2 l1
    l1, lc1, lc2, m1, m2, I1, I2 = 0.4, 0.2, 0.3, 2.0, 1.0, 0.05, 0.02
    arm = planar_two_link(l1=l1, lc1=lc1, lc2=lc2, m1=m1, m2=m2, I1=I1, I2=I2, g=9.81)
    found = {p.name: p.value for p in base_parameters(arm)}
    expected = {
        "link1.Izz": I1 + m1 * lc1**2 + m2 * l1**2,
        "link1.hx": m1 * lc1 + m2 * l1,
        "link1.hy": 0.0,
        "link2.Izz": I2 + m2 * lc2**2,
        "link2.hx": m2 * lc2,
        "link2.hy": 0.0,
    }
    assert found == pytest.approx(expected, abs=1e-12)


def test_description_reads_as_a_sum():
    arm = planar_two_link(l1=0.4, lc1=0.2, lc2=0.3, m1=2.0, m2=1.0, I1=0.05, I2=0.02, g=9.81)
    descriptions = {p.name: p.description for p in base_parameters(arm)}
    assert descriptions["link1.Izz"] == "link1.Izz + 0.16 link2.m"
    assert descriptions["link1.hx"] == "link1.hx + 0.4 link2.m"
    assert descriptions["link2.hy"] == "link2.hy"


def test_description_of_a_difference():
    wrist = {p.name: p.description for p in base_parameters(renaud_6r())}
    assert wrist["body 6.Ixx"] == "body 6.Ixx - body 6.Iyy"


@given(robots(max_joints=5), seeds())
def test_values_are_the_sums_that_gathers_names(robot, seed):
    # Bodies of other numbers on the same arm have values by the same sums
    parameters = base_parameters(robot)
    rng = np.random.default_rng(seed)
    other = replace(
        robot, links=tuple(Link(link.name, random_inertia(rng)) for link in robot.links)
    )
    for ours, theirs in zip(parameters, base_parameters(other), strict=True):
        assert dict(ours.gathers) == pytest.approx(dict(theirs.gathers), abs=1e-9)


@given(robots(max_joints=6), seeds())
def test_torques_are_the_regressor_times_the_values(robot, seed):
    state = random_state(robot, seed)
    values = np.array([p.value for p in base_parameters(robot)])
    expected = inverse_dynamics(robot, *state)
    assert relative_error(regressor(robot, *state) @ values, expected) < ROUND_OFF


@pytest.mark.parametrize("path", examples(SMALL, distinct_examples()[::5]))
def test_torques_of_examples_are_the_regressor_times_the_values(path):
    robot = example_robot(path)
    found = Regressor.of(robot)
    state = random_state(robot, 4)
    values = np.array([p.value for p in found.parameters])
    assert relative_error(found(*state) @ values, inverse_dynamics(robot, *state)) < ROUND_OFF


def test_regressor_names_the_argument_of_wrong_shape():
    with pytest.raises(ShapeError, match=r"qd must have shape \(6,\), got \(5,\)"):
        regressor(renaud_6r(), np.zeros(6), np.zeros(5), np.zeros(6))


def test_columns_to_the_left_are_preferred():
    a, b = np.random.default_rng(0).normal(size=(2, 5))
    A = np.column_stack([np.zeros(5), a, 2 * a, b, a - b])
    assert independent_columns(A) == [1, 3]
