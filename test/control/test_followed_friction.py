"""Friction that follows a tracked scale while a motion is under way."""

import numpy as np
import pytest

from robot_dynamics import Dynamics
from robot_dynamics.control import Friction, Gains, Model
from robot_dynamics.control.followed_friction import LEAST_CHANGE, FollowedFriction
from robot_dynamics.robot import find_robot, read_urdf

LEAST, MOST, RAMP_S, CYCLE_S = 0.5, 1.5, 2.0, 1e-3
ROUND_OFF = 1e-12
FRICTION = Friction(
    np.array([3.0, 1.0]),
    np.array([2.0, 4.0]),
    stiction=np.array([0.5, -0.5]),
    load=np.array([0.1, 0.8]),
    offset=np.array([0.3, 0.0]),
    memory=np.array([0.5, 1.0]),
)
WARM = np.array([[0.6, 1.4], [1.3, 0.7]])


@pytest.fixture(scope="module")
def model():
    robot = read_urdf(find_robot("planar_2r"))
    none = np.zeros(robot.dof)
    return Model(Dynamics(robot), Gains(none, none), friction=FRICTION)


@pytest.fixture
def followed():
    return FollowedFriction(2, LEAST, MOST, RAMP_S)


def at_its_end(followed, model, began=0.0):
    followed.on(model, began)
    return followed.on(model, began + RAMP_S)


def test_dry_and_viscous_friction_are_multiplied_and_nothing_else(followed, model):
    followed.follow(WARM)
    friction, (dry, viscous) = at_its_end(followed, model).friction, WARM.T
    for name, scale in {"viscous": viscous, "coulomb": dry, "stiction": dry}.items():
        np.testing.assert_array_equal(getattr(friction, name), scale * getattr(FRICTION, name))
    np.testing.assert_array_equal(friction.load, [0.06, 0.9])  # at most that of a parameter
    for name in ("stribeck", "offset", "width", "memory", "slip", "slip_ratio", "elastic"):
        np.testing.assert_array_equal(getattr(friction, name), getattr(FRICTION, name))
    assert followed.target(model).friction.viscous.tolist() == friction.viscous.tolist()


def test_the_same_model_is_returned_where_nothing_changes(followed, model):
    assert followed.on(model, 0.0) is model is followed.target(model)
    followed.follow(1.0 + 0.9 * LEAST_CHANGE * np.ones((2, 2)))
    assert followed.on(model, 1.0) is model
    followed.follow(WARM)
    warm = at_its_end(followed, model, 2.0)
    assert followed.on(model, 9.0) is warm
    without = Model(model.dynamics, model.gains)
    assert followed.on(without, 10.0) is without


def test_a_stream_of_scales_of_any_size_makes_no_step_in_effort(followed, model):
    model.forget()
    q, qd = np.array([0.3, 0.4]), np.array([0.5, -0.2])
    rng, efforts = np.random.default_rng(1), []
    for i in range(3000):
        if i % 50 == 0:
            followed.follow(rng.choice([0.3, 3.0], (2, 2)))
        now = followed.on(model, i * CYCLE_S)
        now.follow(q)
        efforts.append(now.feedforward(q, qd, np.zeros(2)))
    tau, limit = np.array(efforts), (MOST - LEAST) * CYCLE_S / RAMP_S
    friction = model.feedforward(q, qd, np.zeros(2)) - model.inverse(q, qd, np.zeros(2))
    body = np.abs(model.inverse(q, qd, np.zeros(2)))
    # Parts that oppose each other may change apart: viscous, dry, and dry by load
    most = np.abs(FRICTION.viscous * qd) + FRICTION.coulomb + 0.5 + FRICTION.load * body
    assert (np.abs(np.diff(tau, axis=0)) <= limit * most + ROUND_OFF).all()
    assert np.ptp(tau, axis=0).min() > 0.1 * np.abs(friction).min()


def test_the_way_that_friction_remembers_stays(followed, model):
    model.forget()
    for q in np.linspace(0.0, 0.01, 50):
        model.follow(np.array([q, -q]))
    before = model.memory.direction.copy()
    assert np.abs(before).min() > 0.9
    followed.follow(WARM)
    warm = at_its_end(followed, model)
    assert warm.memory is model.memory
    at_rest = warm.friction_effort(np.zeros(2)) - FRICTION.offset
    cold = model.friction_effort(np.zeros(2)) - FRICTION.offset
    np.testing.assert_allclose(at_rest, WARM[:, 0] * cold, rtol=ROUND_OFF)


def test_scales_stay_within_bounds_which_may_change(followed, model):
    followed.follow(np.array([[0.3, 3.0], [1.0, 1.0]]))
    np.testing.assert_array_equal(followed.scale, [[LEAST, MOST], [1.0, 1.0]])
    followed.use(0.3, 2.0, RAMP_S)
    np.testing.assert_array_equal(followed.scale, [[0.3, 2.0], [1.0, 1.0]])
    at_its_end(followed, model)
    followed.release()
    assert followed.on(model, 9.0) is not model
    assert followed.on(model, 9.0 + RAMP_S) is model
    followed.follow(WARM)
    at_its_end(followed, model, 20.0)
    followed.forget()
    assert followed.on(model, 30.0) is model
