"""Friction that remembers the way of a joint: the elements, and feedforward along a motion."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot_dynamics import Dynamics
from robot_dynamics.control import Friction, Gains, Model
from robot_dynamics.control.friction import HELD, JUMP, FrictionMemory, slipped
from robot_dynamics.errors import ArgumentError
from robot_dynamics.robot import find_robot, read_urdf
from robot_dynamics.simulation import Plant

ROUND_OFF = 1e-12
WAYS = st.floats(-5.0, 5.0)
STATES = st.floats(-1.0, 1.0)


def remembering(n=2, **terms):
    return Friction(np.zeros(n), np.full(n, 2.0), **{"memory": 1.0, "slip": 1e-3, **terms})


@given(STATES, WAYS)
def test_an_element_without_slope_is_the_stop_operator(z, displacement):
    assert slipped(z, displacement, 1.0) == pytest.approx(
        np.clip(z + displacement, -1.0, 1.0), abs=ROUND_OFF
    )


@given(STATES, WAYS)
def test_an_element_without_spring_is_the_model_of_dahl(z, displacement):
    sign = np.sign(displacement)
    dahl = sign + (z - sign) * np.exp(-abs(displacement)) if displacement else z
    assert slipped(z, displacement, 0.0) == pytest.approx(dahl, abs=ROUND_OFF)


@given(STATES, WAYS, st.floats(0.0, 1.0), st.integers(1, 20))
def test_a_way_in_pieces_leads_to_the_same_bounded_state(z, displacement, elastic, pieces):
    whole, step = slipped(z, displacement, elastic), z
    for _ in range(pieces):
        step = slipped(step, displacement / pieces, elastic)
    assert abs(whole) <= 1.0 + ROUND_OFF
    # Within `RIGID` of the limit an element that is all spring slips over RIGID, not over nothing
    assert step == pytest.approx(whole, abs=1e-8)


@given(STATES, st.floats(-0.2, 0.2), st.floats(0.5, 1.0))
def test_vibration_does_not_move_an_element_below_its_elastic_part(z, displacement, elastic):
    z = z * (elastic - 0.2)
    assert slipped(slipped(z, displacement, elastic), -displacement, elastic) == pytest.approx(
        z, abs=1e-8
    )


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [("memory", 1.5, "0 to 1"), ("elastic", 2.0, "0 to 1"), ("slip_ratio", 0.5, "1 or more")],
)
def test_a_term_out_of_range_is_refused(name, value, allowed):
    with pytest.raises(ArgumentError) as error:
        remembering(**{name: value})
    assert str(error.value) == f"friction: {name}[0] is {value:g}; give {allowed}"


def test_a_joint_that_has_stopped_keeps_the_friction_of_its_last_direction():
    friction = remembering()
    memory = FrictionMemory(friction)
    for q in np.linspace(0.0, 0.1, 100):
        memory.follow(np.array([q, -q]))
    rest = np.zeros(2)
    np.testing.assert_allclose(friction.smooth(rest, presliding=memory.direction), [2.0, -2.0])
    np.testing.assert_allclose(friction.smooth(rest), 0.0)


def test_what_is_remembered_does_not_change_by_a_jump():
    memory = FrictionMemory(remembering())
    for q in (0.0, 4e-4, 4e-4 + 2.0 * JUMP):
        memory.follow(np.full(2, q))
    np.testing.assert_allclose(memory.direction, 0.4)


@pytest.fixture(scope="module")
def arm():
    return Dynamics(read_urdf(find_robot("planar_2r")))


def test_feedforward_of_a_motion_from_rest_and_back_has_neither_step_nor_chatter(arm):
    friction = remembering(slip_ratio=2.0)
    model = Model(arm, Gains(np.zeros(2), np.zeros(2)), friction)
    without = replace(model, friction=None)
    time = np.arange(0.0, 6.0, 1e-3)
    s = np.clip(time, 1.0, 2.0) - 1.0  # rest, a move there, rest, and back
    back = np.clip(time, 4.0, 5.0) - 4.0
    displacement, speed = (
        [0.3 * (f(s) - f(back)) for f in (lambda x: 10 * x**3 - 15 * x**4 + 6 * x**5,
                                         lambda x: 30 * x**2 - 60 * x**3 + 30 * x**4)]
    )  # fmt: skip
    added = []
    for q, qd in zip(displacement, speed, strict=True):
        state = np.full(2, q), np.full(2, qd), np.zeros(2)
        model.follow(state[0])
        added.append(model.feedforward(*state) - without.feedforward(*state))
    added = np.array(added)
    assert not added[time < 1.0].any()
    np.testing.assert_allclose(added[(time > 2.1) & (time < 3.9)], HELD * 2.0)
    np.testing.assert_allclose(added[-1], -HELD * 2.0)
    # Full friction builds up on the longest slip distance, 2 mm, in 70 ms of this motion
    assert np.abs(np.diff(added, axis=0)).max() < 2.0 * 0.06
    turns = np.diff(np.sign(np.diff(added[:, 0])[np.abs(np.diff(added[:, 0])) > 1e-9]))
    assert np.count_nonzero(turns) <= 4  # up, down to HELD at rest, and the same back


def test_a_model_with_another_load_remembers_the_same_way(arm):
    model = Model(arm, Gains(np.zeros(2), np.zeros(2)), remembering())
    other = replace(model, gravity_vector=np.zeros(3))
    assert other.memory is model.memory
    assert replace(model, friction=remembering(offset=0.1)).memory is model.memory
    assert replace(model, friction=remembering(slip=2e-3)).memory is not model.memory
    assert replace(model, friction=Friction.none(2)).memory is None


def test_a_plant_is_a_spring_before_it_slips(arm):
    n = 2
    friction = replace(remembering(n), viscous=np.full(n, 300.0))  # damps the spring
    plant = Plant(arm.robot, np.zeros(n), dynamics=arm, friction=friction)
    gravity = arm.gravity(np.zeros(n))
    for k in range(1500):
        plant.step(gravity + min(1.0, k / 500.0) * np.ones(n))
    # Half of the friction, at half of the slip distance; gravity changes by less than 1 %
    np.testing.assert_allclose(plant.q, 0.5e-3, rtol=0.05)
    assert np.abs(plant.qd).max() < 1e-4


def test_a_plant_with_memory_slides_like_one_without(arm):
    efforts = arm.gravity(np.zeros(2)) + 5.0
    ends = []
    for memory in (0.0, 1.0):
        friction = replace(remembering(), memory=np.full(2, memory), slip=np.full(2, 1e-5))
        plant = Plant(arm.robot, np.zeros(2), dynamics=arm, friction=friction)
        for _ in range(300):
            plant.step(efforts)
        ends.append(plant.qd)
    # Elements act one step late: 4 N m for 1 ms at a reversal of 2.7 kg m^2 are 1.5 mrad/s
    np.testing.assert_allclose(ends[1], ends[0], atol=0.01)
