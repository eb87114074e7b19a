"""Inertial parameters of bodies, and moving them between links."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from oracles import relative_error
from python_kernel import compile_python
from robot_dynamics.algorithms.composite_body import mass_matrix
from robot_dynamics.compiler.graph.trace import trace
from robot_dynamics.formulations import augmented_body, newton_euler
from robot_dynamics.papers.book_arms import planar_two_link
from robot_dynamics.robot.joint_frames import joint_frames
from robot_dynamics.robot.kinematic_tree import Link
from robot_dynamics.robot.transforms import CLEARABLE, outward_bodies, regroup
from robot_dynamics.spatial import (
    PARAMETERS,
    Inertia,
    Pose,
    body_of,
    body_with,
    inertial_parameters,
    pseudo_inertia,
    second_mass_moment,
)
from strategies import random_inertia, random_rotation, robots, seeds

# float64; 2000 random trees stay below 1e-12 of the largest torque, a wrong sign gives 1e-1
ROUND_OFF = 1e-10


def two_link():
    return planar_two_link(l1=0.4, lc1=0.2, lc2=0.3, m1=2.0, m2=1.0, I1=0.05, I2=0.02, g=9.81)


def efforts(tree, seed):
    """Torques of a random state by a formulation that takes bodies without mass."""
    state = np.random.default_rng(seed).uniform(-3, 3, (3, len(tree.joints)))
    return augmented_body.inverse_dynamics(tree, *state, {})


# -- one body ---------------------------------------------------------------------------------


@given(seeds())
def test_parameters_and_pseudo_inertia_hold_the_whole_body(seed):
    body = random_inertia(np.random.default_rng(seed))
    for other in (body_with(inertial_parameters(body)), body_of(pseudo_inertia(body))):
        assert inertial_parameters(other) == pytest.approx(inertial_parameters(body), rel=1e-13)


def test_pseudo_inertia_is_the_sum_over_points_of_mass():
    rng = np.random.default_rng(1)
    masses, points = rng.uniform(0.1, 2.0, 5), rng.normal(size=(5, 3))
    body = Inertia.zero()
    for m, r in zip(masses, points, strict=True):
        body = body + Inertia.from_com(m, r, np.zeros((3, 3)))
    r1 = np.column_stack([points, np.ones(5)])
    assert pseudo_inertia(body) == pytest.approx((r1.T * masses) @ r1, abs=1e-13)
    assert second_mass_moment(body) == pytest.approx((points.T * masses) @ points, abs=1e-13)


@given(seeds())
def test_pseudo_inertia_transforms_like_coordinates(seed):
    rng = np.random.default_rng(seed)
    body, X = random_inertia(rng), Pose(random_rotation(rng), rng.normal(size=3))
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = X.rotation, X.translation
    expected = T @ pseudo_inertia(body) @ T.T
    assert pseudo_inertia(body.expressed_in(X)) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_names_of_parameters_are_in_their_order():
    I = np.array([[5.0, 6.0, 7.0], [6.0, 8.0, 9.0], [7.0, 9.0, 10.0]])  # noqa: E741
    numbers = inertial_parameters(Inertia(1.0, np.array([2.0, 3.0, 4.0]), I))
    assert dict(zip(PARAMETERS, numbers, strict=True)) == {
        "m": 1, "hx": 2, "hy": 3, "hz": 4,
        "Ixx": 5, "Ixy": 6, "Ixz": 7, "Iyy": 8, "Iyz": 9, "Izz": 10,
    }  # fmt: skip


# -- regrouping -------------------------------------------------------------------------------


@given(robots(fixed=False), seeds())
def test_regrouping_changes_no_torque(tree, seed):
    ours = efforts(regroup(tree), seed)
    state = np.random.default_rng(seed).uniform(-3, 3, (3, len(tree.joints)))
    assert relative_error(ours, newton_euler.inverse_dynamics(tree, *state, {})) < ROUND_OFF


@given(robots(fixed=False), seeds())
def test_regrouping_changes_no_entry_of_the_mass_matrix(tree, seed):
    q = np.random.default_rng(seed).uniform(-3, 3, len(tree.joints))
    assert relative_error(mass_matrix(regroup(tree), q), mass_matrix(tree, q)) < ROUND_OFF


@given(robots(fixed=False))
def test_regrouping_leaves_at_most_seven_or_four_parameters(tree):
    tree = joint_frames(tree)  # z along the joint, so that zeros are where they can be counted
    for joint, link in zip(tree.joints, regroup(tree).links[1:], strict=True):
        J = pseudo_inertia(link.inertia)
        m_hz_Szz = J[[3, 2, 2], [3, 3, 2]]
        gone = m_hz_Szz if joint.type.rotates else J[:3, :3]
        # What is left is a difference of equal numbers, of the size of a body of 10 kg and 1 m
        assert np.max(np.abs(gone)) < 1e-12, joint.name


@given(robots(fixed=False))
def test_regrouping_moves_mass_and_loses_none(tree):
    before, after = (sum(link.inertia.mass for link in t.links) for t in (tree, regroup(tree)))
    assert after == pytest.approx(before, rel=1e-13)


def test_regrouping_makes_the_augmented_body_of_renaud():
    # Two parallel joints 0.4 m apart: the mass of the second link rides on the first as a point
    # on its joint, which is Renaud's definition
    arm = two_link()
    first, second = (link.inertia for link in arm.links[1:])
    moved = regroup(arm).links[1].inertia.first_moment
    assert moved == pytest.approx(first.first_moment + second.mass * np.array([0.4, 0, 0]))


@given(robots(fixed=False), seeds(), st.data())
def test_shared_mass_changes_no_torque(tree, seed, data):
    tree = joint_frames(tree)
    shared = {
        k: data.draw(st.sampled_from(sorted(CLEARABLE)))
        for k, joint in enumerate(tree.joints)
        if joint.type.rotates and tree.parents[k] > 0 and data.draw(st.booleans())
    }
    state = np.random.default_rng(seed).uniform(-3, 3, (3, len(tree.joints)))
    expected = newton_euler.inverse_dynamics(tree, *state, {})
    # A shared mass may be as large as the robot's, at the end of a long lever
    assert relative_error(efforts(regroup(tree, shared), seed), expected) < 100 * ROUND_OFF


@pytest.mark.parametrize("quantity", sorted(CLEARABLE))
@settings(max_examples=10)
@given(robots(fixed=False, min_joints=2, max_joints=2, branches=False), seeds())
def test_shared_mass_clears_what_it_is_asked_to(quantity, tree, seed):
    tree = joint_frames(tree)
    assume(all(joint.type.rotates for joint in tree.joints))
    cleared = CLEARABLE[quantity]
    before, after = (
        cleared(pseudo_inertia(regroup(tree, shared).links[1].inertia))
        for shared in ({}, {1: quantity})
    )
    mass = pseudo_inertia(regroup(tree, {1: quantity}).links[2].inertia)[3, 3]
    if mass == 0.0:  # no mass of the size of the robot's can do it
        assert after == before
    else:
        assert abs(after) < 1e-12 * (1.0 + abs(before))


def test_bodies_keep_their_physical_numbers_unless_asked():
    arm = two_link()
    regroup(arm)
    assert [link.inertia.mass for link in arm.links[1:]] == [2.0, 1.0]


@given(robots(fixed=False))
def test_outward_body_of_the_root_is_the_whole_robot(tree):
    whole = outward_bodies(tree)[0]
    assert whole.mass == pytest.approx(sum(link.inertia.mass for link in tree.links), rel=1e-13)


def test_bodies_of_symbols_are_regrouped_too():
    arm = two_link()

    def first_moment(mass):
        tip = Link("link2", replace(arm.links[2].inertia, mass=mass[0]))
        return regroup(replace(arm, links=(*arm.links[:2], tip))).links[1].inertia.first_moment

    traced = compile_python(trace("moment", first_moment, {"mass": (1,)}))
    assert traced([1.7]) == pytest.approx([2.0 * 0.2 + 1.7 * 0.4, 0.0, 0.0], abs=1e-15)
