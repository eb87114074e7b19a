"""Kinetic and potential energy."""

import numpy as np
import pytest
from hypothesis import given

from oracles import distinct_examples, example_id, example_robot, pin_model, relative_error
from robot_dynamics.algorithms.composite_body import mass_matrix
from robot_dynamics.algorithms.energy import kinetic_energy, potential_energy
from robot_dynamics.formulations import newton_euler
from robot_dynamics.robot.transforms import merge_fixed
from strategies import random_state, robots, seeds


# float64 on both sides, worst example 3e-14
@pytest.mark.parametrize("path", distinct_examples(), ids=example_id)
def test_energies_agree_with_pinocchio(path):
    robot = example_robot(path)
    q, qd, _ = random_state(robot, seed=5)
    oracle = pin_model(robot, path)
    pin, model, data = oracle.pin, oracle.model, oracle.data
    tree = merge_fixed(robot)
    E, e0 = tree.coupling.matrix, tree.coupling.offset
    T = kinetic_energy(tree, E @ q + e0, E @ qd)
    U = potential_energy(tree, E @ q + e0)
    assert (
        relative_error(T, pin.computeKineticEnergy(model, data, oracle.positions(q), oracle.E @ qd))
        < 1e-11
    )
    # Pinocchio leaves the links out that are fixed to the world
    U_base = -robot.gravity @ tree.links[0].inertia.first_moment
    theirs = pin.computePotentialEnergy(model, data, oracle.positions(q)) + U_base
    # of the work to lift everything by a metre, since heights above and below zero cancel
    weight = 9.81 * sum(link.inertia.mass for link in tree.links)
    assert abs(U - theirs) < 1e-12 * weight


@given(robots(), seeds())
def test_kinetic_energy_is_the_quadratic_form_of_the_mass_matrix(robot, seed):
    tree = merge_fixed(robot)
    rng = np.random.default_rng(seed)
    q, qd = rng.uniform(-3, 3, len(tree.joints)), rng.normal(size=len(tree.joints))
    # worst of 2000 random trees 4e-15
    assert relative_error(kinetic_energy(tree, q, qd), 0.5 * qd @ mass_matrix(tree, q) @ qd) < 1e-12


@given(robots(), seeds())
def test_joint_power_is_the_rate_of_the_energies(robot, seed):
    tree = merge_fixed(robot)
    rng = np.random.default_rng(seed)
    q, qd, qdd = rng.uniform(-3, 3, len(tree.joints)), *rng.normal(size=(2, len(tree.joints)))
    tau = newton_euler.inverse_dynamics(tree, q, qd, qdd, {})
    step = 1e-30j  # complex step along the motion: exact to round-off
    q_next, qd_next = q + step * qd, qd + step * qdd
    energy = kinetic_energy(tree, q_next, qd_next) + potential_energy(tree, q_next)
    power = np.abs(qd) @ np.abs(tau) + 1.0  # of the joints apart, since their sum may cancel
    assert abs(energy.imag / 1e-30 - qd @ tau) < 1e-12 * power
