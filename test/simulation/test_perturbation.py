"""Robots that differ from their model."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot_dynamics.errors import ArgumentError, UnknownNameError
from robot_dynamics.formulations import inverse_dynamics
from robot_dynamics.simulation import perturbed, with_mass_scaled
from strategies import random_state, robots


@given(robots(max_joints=4), st.floats(0.1, 5.0), st.integers(0, 1000))
def test_scaling_all_masses_scales_all_efforts(robot, factor, seed):
    state = random_state(robot, seed)
    tau = inverse_dynamics(robot, *state)
    scaled = inverse_dynamics(with_mass_scaled(robot, factor), *state)
    # Linear in the inertias; the scale is that of the largest terms that cancel
    np.testing.assert_allclose(scaled, factor * tau, rtol=1e-9, atol=1e-9 * np.abs(tau).max())


def test_one_link_can_be_made_heavier_alone(pendulum):
    heavy = with_mass_scaled(pendulum, {"bob": 1.5})
    assert heavy.links[1].inertia.mass == pytest.approx(3.0)
    np.testing.assert_allclose(heavy.links[1].inertia.com, pendulum.links[1].inertia.com)


@given(robots(max_joints=5), st.floats(0.0, 0.5), st.integers(0, 100))
def test_a_perturbed_robot_repeats_with_its_seed_and_stays_within_bounds(robot, error, seed):
    one, same = perturbed(robot, error, seed), perturbed(robot, error, seed)
    for link, again, true in zip(one.links, same.links, robot.links, strict=True):
        assert link.inertia.mass == again.inertia.mass
        assert abs(link.inertia.mass / true.inertia.mass - 1.0) <= error + 1e-12


def test_a_factor_that_is_not_positive_is_refused(pendulum):
    with pytest.raises(ArgumentError) as refusal:
        with_mass_scaled(pendulum, {"bob": 0.0})
    assert str(refusal.value) == "mass factor of link 'bob' is 0.0; give a positive number"


def test_a_link_that_does_not_exist_is_named(pendulum):
    with pytest.raises(UnknownNameError, match=r"no link 'bop' .* did you mean 'bob'"):
        with_mass_scaled(pendulum, {"bop": 1.1})


def test_a_spread_of_everything_is_refused(pendulum):
    with pytest.raises(ArgumentError, match=r"^mass_error is 1\.0; give a relative error"):
        perturbed(pendulum, 1.0, seed=0)
