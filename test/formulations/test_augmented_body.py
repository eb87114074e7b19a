"""The augmented-body recursion: Renaud's example, trees, physically impossible bodies."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from arms import RENAUD, renaud_6r
from oracles import example_folder, pin_model, relative_error
from robot_dynamics.formulations import augmented_body, inverse_dynamics, newton_euler
from robot_dynamics.papers.counts.augmented_body_count import (
    PRINTED,
    compare_renaud,
    compare_renaud_grouped,
    count_renaud,
)
from robot_dynamics.robot.kinematic_tree import Link
from robot_dynamics.robot.transforms import regroup
from robot_dynamics.robot.urdf.reader import read_urdf
from robot_dynamics.spatial import Inertia, skew
from strategies import random_state, random_wrenches, robots, seeds, state_of

# float64, sums in another order, relative to the largest torque: 2000 random trees of up to seven
# joints stay below 1e-12, a wrong sign gives 1e-1
ROUND_OFF = 1e-10


# -- the example of the paper -----------------------------------------------------------------


def test_torques_of_the_example_arm():
    state = [np.array(RENAUD[name]) for name in ("q", "qd", "qdd")]
    Gamma = inverse_dynamics(renaud_6r(), *state, formulation="augmented_body")
    # The two sources of the expected torques agree to 3e-14 of 53 N m
    assert np.allclose(Gamma, RENAUD["Gamma"], rtol=0, atol=1e-12)


def test_augmented_bodies_of_the_example_arm():
    robot, expected = renaud_6r(), RENAUD["augmented"]
    p = [np.zeros(3)] + [joint.origin.translation for joint in robot.joints]
    mass, u, k = augmented_body.augmented_bodies(robot, p)
    assert mass[1:] == pytest.approx(expected["mass"], rel=1e-14)
    assert u[2] == pytest.approx([expected["X2"], 0, 0], rel=1e-14)
    assert u[3] == pytest.approx([0, expected["Y3"], 0], rel=1e-14)
    assert np.diag(k[2])[1:] == pytest.approx([expected["B2"], expected["C2"]], rel=1e-14)
    assert np.diag(k[3])[[0, 2]] == pytest.approx([expected["A3"], expected["C3"]], rel=1e-14)


@pytest.mark.parametrize("step", ["1", "2", "4", "6", "7", "9"])
def test_step_takes_the_operations_that_the_paper_prints(step):
    count = count_renaud()[step]
    assert (count.multiplications, count.additions) == PRINTED[step]


def test_step_3_shares_two_products_with_step_2():
    count = count_renaud()["3"]
    assert (count.multiplications + 2, count.additions) == PRINTED["3"]


def test_total_differs_from_the_printed_181_and_127_by_the_shared_products_alone():
    comparison = compare_renaud()
    assert (comparison.printed.multiplications, comparison.printed.additions) == (181, 127)
    assert (comparison.ours.multiplications, comparison.ours.additions) == (179, 127)
    assert comparison.unexplained == (0, 0)


def test_grouped_parameters_come_to_the_printed_164_and_115():
    ours = compare_renaud_grouped().ours
    assert (ours.multiplications, ours.additions) == (164, 115)


def test_only_the_difference_of_y5_and_z6_acts_on_the_joints():
    robot, state = renaud_6r(), [np.array(RENAUD[name]) for name in ("q", "qd", "qdd")]
    links = list(robot.links)
    for i, axis in ((5, 1), (6, 2)):
        body = links[i].inertia
        more = replace(body, first_moment=body.first_moment + 0.7 * np.eye(3)[axis])
        links[i] = replace(links[i], inertia=more)
    moved = replace(robot, links=tuple(links))
    a, b = (augmented_body.inverse_dynamics(r, *state, {}) for r in (robot, moved))
    assert relative_error(a, b) < 1e-14


# -- trees ------------------------------------------------------------------------------------


@given(robots(fixed=False), seeds())
def test_agrees_with_newton_euler_on_trees(tree, seed):
    state, wrenches = state_of(tree, seed), random_wrenches(tree, seed)
    ours = augmented_body.inverse_dynamics(tree, *state, wrenches)
    assert relative_error(ours, newton_euler.inverse_dynamics(tree, *state, wrenches)) < ROUND_OFF


@given(robots(), seeds())
def test_agrees_with_pinocchio_on_robots_with_fixed_and_mimic_joints(robot, seed):
    state = random_state(robot, seed)
    ours = inverse_dynamics(robot, *state, formulation="augmented_body")
    # The robot passes through URDF text, which costs digits in roll, pitch and yaw
    assert relative_error(ours, pin_model(robot).inverse(*state)) < 1e-9


@pytest.mark.parametrize(
    "urdf",
    ["ur_description/urdf/ur5_robot.urdf", "talos_data/robots/talos_full_v2.urdf"],
)
def test_agrees_with_pinocchio_on_example_robots(urdf):
    folder = example_folder()
    if folder is None:
        pytest.skip("example-robot-data is not installed")
    robot = read_urdf(folder / urdf)
    state = random_state(robot, 1)
    ours = inverse_dynamics(robot, *state, formulation="augmented_body")
    assert relative_error(ours, pin_model(robot, folder / urdf).inverse(*state)) < 1e-9


@given(robots(fixed=False), seeds())
def test_first_moment_without_mass_is_a_body_like_any_other(tree, seed):
    # Linear: the torque of a sum of bodies is the sum of their torques
    state = state_of(tree, seed)
    parts = [
        replace(tree, links=tuple(Link(link.name, part(link.inertia)) for link in tree.links))
        for part in (
            lambda body: Inertia(body.mass, np.zeros(3), np.zeros((3, 3))),
            lambda body: Inertia(0.0, body.first_moment, np.zeros((3, 3))),
            lambda body: Inertia(0.0, np.zeros(3), body.second_moment),
        )
    ]
    tau = [augmented_body.inverse_dynamics(part, *state, {}) for part in parts]
    whole = newton_euler.inverse_dynamics(tree, *state, {})
    assert np.max(np.abs(sum(tau) - whole)) < ROUND_OFF * max(np.max(np.abs(t)) for t in tau)


@given(robots(fixed=False), seeds())
def test_regrouped_bodies_give_the_same_torques(tree, seed):
    state, wrenches = state_of(tree, seed), random_wrenches(tree, seed)
    ours = augmented_body.inverse_dynamics(regroup(tree), *state, wrenches)
    assert relative_error(ours, newton_euler.inverse_dynamics(tree, *state, wrenches)) < ROUND_OFF


@given(robots(fixed=False), seeds())
def test_force_of_an_augmented_body_is_e_and_the_weight_of_all_that_it_carries(tree, seed):
    # The split that names the method: f_i = e_i + m*_i r_(i-1), step (8)
    state = state_of(tree, seed)
    motion = augmented_body.forward(tree, *state)
    mass, _, _ = augmented_body.augmented_bodies(tree, motion.p)
    e = augmented_body.backward(tree, motion, {}).e
    force = [np.zeros(3) for _ in tree.links]
    for i in reversed(range(1, len(tree.links))):
        body = tree.links[i].inertia
        force[i] = force[i] + body.mass * motion.alpha[i] + motion.b[i] @ body.first_moment
        parent = tree.parents[i - 1]
        force[parent] = force[parent] + motion.R[i] @ force[i]
    for i in range(1, len(tree.links)):
        scale = np.max(np.abs(mass[i] * motion.r[i])) + np.max(np.abs(e[i]))
        assert np.max(np.abs(e[i] + mass[i] * motion.r[i] - force[i])) < ROUND_OFF * scale


@given(seeds())
def test_tensor_b_is_the_acceleration_of_a_point_of_a_turning_body(seed):
    omega, a, d = np.random.default_rng(seed).normal(size=(3, 3))
    b = augmented_body.tensor_b(a, np.outer(omega, omega))
    expected = np.cross(a, d) + np.cross(omega, np.cross(omega, d))
    assert b @ d == pytest.approx(expected, abs=1e-13)


@given(seeds())
def test_gyroscopic_moment_from_products_is_the_cross_product(seed):
    rng = np.random.default_rng(seed)
    omega, k = rng.normal(size=3), rng.normal(size=(3, 3))
    k = k + k.T
    ours = augmented_body.gyroscopic(k, np.outer(omega, omega))
    assert ours == pytest.approx(skew(omega) @ k @ omega, abs=1e-13)
