"""What the laws know about the arm: load, gravity, wrench and rotors."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot_dynamics.control import Model
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.errors import ShapeError
from robot_dynamics.spatial import Inertia

LOAD = Inertia.from_com(0.8, (0.1, 0.02, 0.0), 0.002 * np.eye(3))
TURNED = np.array([1.0, -2.0, -9.0])

# The same equations with the load folded in or passed as numbers: sums of products below 100
ROUND_OFF = 1e-10


def random_state(seed):
    return np.random.default_rng(seed).uniform(-1.0, 1.0, (3, 2))


@pytest.fixture(scope="module")
def loaded(model):
    return replace(model, payload=LOAD, frame="fore", gravity_vector=TURNED).prepare()


@pytest.fixture(scope="module")
def built_in(model):
    """The same arm with the load and the gravity built into the robot."""
    robot = model.dynamics.robot.with_payload(
        "fore", mass=LOAD.mass, com=LOAD.com, inertia=LOAD.about_com
    )
    return replace(model, dynamics=Dynamics(robot.with_gravity(TURNED)))


@given(st.integers(0, 1000))
def test_a_load_passed_as_numbers_is_as_good_as_one_built_in(loaded, built_in, seed):
    q, qd, x = random_state(seed)
    for ours, theirs in (
        (loaded.inverse(q, qd, x), built_in.inverse(q, qd, x)),
        (loaded.bias(q, qd), built_in.bias(q, qd)),
        (loaded.gravity(q), built_in.gravity(q)),
        (loaded.forward(q, qd, x), built_in.forward(q, qd, x)),
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=ROUND_OFF)


@given(st.integers(0, 1000))
def test_rotors_add_their_inertia_to_the_diagonal(model, seed):
    rotors = np.array([0.3, 0.1])
    geared = replace(model, rotor_inertia=rotors)
    q, qd, qdd = random_state(seed)
    tau = geared.inverse(q, qd, qdd)
    np.testing.assert_allclose(tau - model.inverse(q, qd, qdd), rotors * qdd, atol=ROUND_OFF)
    np.testing.assert_allclose(geared.forward(q, qd, tau), qdd, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(geared.gravity(q), model.gravity(q), atol=ROUND_OFF)


def test_hardware_that_compensates_gravity_is_not_given_it_twice(model):
    weightless = replace(model, gravity_vector=np.zeros(3))
    q = np.array([0.3, -0.7])
    np.testing.assert_allclose(weightless.gravity(q), 0.0, atol=ROUND_OFF)
    np.testing.assert_allclose(
        weightless.inverse(q, q, q) + model.gravity(q), model.inverse(q, q, q), atol=ROUND_OFF
    )


def test_a_wrench_that_the_arm_exerts_is_carried_by_its_joints(model):
    # Arm along x: 10 N down at the elbow link's origin, 0.4 m out, by a shoulder about y. An arm
    # that presses down is held up by what it presses on, and needs that much less at the shoulder
    pressing = replace(model, wrench=np.array([0.0, 0.0, -10.0, 0.0, 0.0, 0.0]), frame="fore")
    change = pressing.gravity(np.zeros(2)) - model.gravity(np.zeros(2))
    np.testing.assert_allclose(change, [0.4 * 10.0, 0.0], atol=ROUND_OFF)


def test_many_states_at_once(loaded):
    states = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 10, 2))
    together = loaded.feedforward(*states)
    for k in range(10):
        np.testing.assert_allclose(together[k], loaded.feedforward(*states[:, k]), atol=ROUND_OFF)


def test_rotor_inertias_of_another_arm_are_refused(model):
    with pytest.raises(ShapeError) as refusal:
        Model(model.dynamics, model.gains, rotor_inertia=np.ones(3))
    assert str(refusal.value) == (
        "rotor_inertia has shape (3,) for 2 joints; give one number a joint"
    )
