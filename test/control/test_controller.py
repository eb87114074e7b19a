"""The controller as a node uses it, with time passed in, on a simulated arm."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller_bench import Q0, READY, SMOOTH, STEP, Bench
from robot_dynamics.control import (
    MODES,
    Controller,
    Friction,
    Gains,
    Measured,
    Model,
    Reference,
    Settings,
    SoftLimits,
    Status,
)
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.errors import ArgumentError, UnknownNameError
from robot_dynamics.simulation import Plant
from robot_dynamics.spatial import Inertia


def test_nothing_is_commanded_before_the_first_state(model):
    assert Controller(model).update(0.0) is None


def test_the_first_command_is_the_gravity_of_the_arm_where_it_is(model):
    controller = Controller(model)
    controller.set_state(Measured(Q0, np.zeros(2)), 0.0)
    command = controller.update(0.0)
    assert command.status is Status.HOLDING
    np.testing.assert_allclose(command.tau, model.dynamics.gravity(Q0), rtol=1e-12)


def test_the_first_command_starts_from_the_effort_that_the_joints_have(model):
    controller = Controller(model)
    controller.activate(effort=np.array([1.0, -1.0]))
    controller.set_state(Measured(Q0, np.zeros(2)), 0.0)
    np.testing.assert_allclose(controller.update(0.0).tau, [1.0, -1.0])
    for k in range(1, 301):
        controller.set_state(Measured(Q0, np.zeros(2)), 1e-3 * k)
        command = controller.update(1e-3 * k)
    np.testing.assert_allclose(command.tau, model.dynamics.gravity(Q0), rtol=1e-12)


def test_an_arm_is_held_without_any_motion_until_a_reference_comes(model):
    bench = Bench(model).run(0.5, references=False)
    np.testing.assert_allclose(bench.plant.q, Q0, rtol=0.0, atol=1e-9)
    assert set(bench.statuses) == {Status.HOLDING}


def test_it_tracks_a_reference(model):
    bench = Bench(model).run(READY)
    bench.move(1.0, 0.5)
    bench.run(1.5)
    np.testing.assert_allclose(bench.plant.q, [1.0, 0.5], rtol=0.0, atol=1e-3)
    assert bench.statuses[-1] is Status.TRACKING
    assert bench.largest_step() < SMOOTH


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_runs_and_switching_to_it_makes_no_step(model, mode):
    bench = Bench(model).run(READY)
    bench.move(1.0, 0.5)
    bench.run(0.5)
    bench.controller.change(settings=Settings(mode=mode))
    bench.run(0.6)
    assert bench.largest_step() < SMOOTH


def test_without_a_fade_switching_makes_the_step_that_the_fade_avoids(model):
    bench = Bench(model, Settings(fade=0.0)).run(READY)
    bench.move(1.0, 0.5)
    bench.run(0.5)
    bench.controller.change(settings=Settings(mode="pd", fade=0.0))
    bench.run(0.1)
    assert bench.largest_step() > 10 * SMOOTH


def test_new_gains_and_a_heavier_model_are_taken_up_without_a_step(model, loaded):
    bench = Bench(model).run(READY)
    bench.move(1.0, 0.5)
    bench.run(0.3)
    stiff = replace(model, gains=Gains(5.0 * model.gains.kp, 2.0 * model.gains.kd))
    bench.controller.change(stiff)
    bench.run(0.3)
    bench.controller.change(replace(stiff, dynamics=loaded))
    bench.run(0.5)
    assert bench.largest_step() < SMOOTH


@pytest.mark.parametrize("gap", [0.01, 0.03, 0.06])
@pytest.mark.parametrize("after", [0.02, 0.1, 0.2])
def test_states_that_pause_while_the_model_changes_make_no_step(model, loaded, after, gap):
    fade, cycle = 0.5, 1e-3
    controller = Controller(model, Settings(fade=fade, state_timeout=0.1))
    changed, end = 1.0, 2.0
    efforts = []
    for k in range(round(end / cycle)):
        now = k * cycle
        if k == round(changed / cycle):
            controller.change(replace(model, dynamics=loaded))
        if not changed + after < now < changed + after + gap:
            controller.set_state(Measured(Q0, np.zeros(2)), now)
        efforts.append(controller.update(now).tau)
    light, heavy = model.dynamics.gravity(Q0), loaded.gravity(Q0)
    np.testing.assert_allclose(efforts[-1], heavy, rtol=1e-9)
    # A quintic fade is 15/8 times as steep as a line
    steepest = 15 / 8 * np.abs(heavy - light) * cycle / fade
    assert (np.abs(np.diff(efforts, axis=0)) < 1.01 * steepest).all()


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_states_and_references_with_numbers_that_are_not_finite_are_left_out(model, wrong):
    bench = Bench(model).run(0.1)
    before = bench.efforts[-1]
    bad = np.array([0.0, wrong])
    assert not bench.controller.set_state(Measured(Q0, bad), bench.now)
    assert not bench.controller.set_reference(Reference(Q0, np.zeros(2), bad), bench.now)
    after = bench.controller.update(bench.now)
    np.testing.assert_allclose(after.tau, before, atol=1e-6)


def test_efforts_keep_their_limits_and_their_rate(model):
    limit = np.array([40.0, 15.0])
    bench = Bench(model, Settings("pd_gravity", effort_rate=2000.0, fade=0.0)).run(READY)
    load = Inertia.from_com(60.0, np.zeros(3), np.zeros((3, 3)))  # asks for up to 235 N m
    bench.controller.model = replace(model, payload=load, frame="fore")
    bench.run(0.5)
    efforts = np.array(bench.efforts)
    assert np.all(np.abs(efforts) <= limit)
    assert bench.largest_step() <= 2000.0 * STEP * (1.0 + 1e-6)
    assert np.any(np.abs(efforts[:, 0]) == 40.0)


def test_saturated_joints_are_told(model):
    bench = Bench(model, Settings("pd_gravity", fade=0.05)).run(READY)
    load = Inertia.from_com(60.0, np.zeros(3), np.zeros((3, 3)))  # at the elbow: the shoulder's
    bench.controller.model = replace(model, payload=load, frame="fore")
    bench.run(0.02)
    assert bench.controller.update(bench.now).saturated.tolist() == [True, False]


@pytest.mark.parametrize("effort", [None, np.array([3.0, -2.0])])
def test_the_first_command_is_what_the_arm_has_whatever_the_reference_asks(model, effort):
    controller = Controller(model, Settings(fade=0.2))
    controller.activate(effort)
    controller.set_state(Measured(Q0, np.zeros(2)), 5.0)
    controller.set_reference(Reference(Q0 + [1.0, 0.5], np.ones(2), np.ones(2)), 5.0)
    first = controller.update(5.0).tau
    np.testing.assert_allclose(first, model.gravity(Q0) if effort is None else effort, atol=1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_an_arm_that_is_let_go_ends_at_zero_effort(model, mode):
    bench = Bench(model, Settings(mode=mode)).run(0.1)
    bench.move(1.0, 0.5)
    bench.run(0.5)
    bench.run(bench.controller.halt() + 0.01)
    assert Status.HOLDING in bench.statuses
    bench.run(bench.controller.let_go() + 0.01)
    np.testing.assert_array_equal(bench.efforts[-1], 0.0)
    assert bench.largest_step() < SMOOTH


def test_the_integral_part_removes_the_error_that_a_wrong_model_leaves(model):
    gains = Gains(model.gains.kp, model.gains.kd, ki=np.array([100.0, 40.0]))
    light = Model(Dynamics(model.dynamics.robot.with_gravity((0.0, 0.0, -8.0))), gains)
    without = replace(light, gains=model.gains)
    errors = []
    for wrong in (without, light):
        bench = Bench(model)
        bench.plant = Plant(model.dynamics.robot, Q0, dynamics=model.dynamics)
        bench.model, bench.controller = wrong, Controller(wrong)
        errors.append(np.abs(bench.run(4.0).plant.q - Q0).max())
    assert errors[0] > 0.02
    # Dry friction of 0.3 N m may hold the last of it: 0.3 / 50
    assert errors[1] < 0.006


def test_soft_limits_keep_a_joint_that_is_told_to_leave_its_range_inside(model):
    soft = SoftLimits.of(model.dynamics.robot, model.gains.kd, margin=0.2)
    for limits, inside in ((None, False), (soft, True)):
        bench = Bench(model, Settings(soft_limits=limits)).run(READY)
        bench.move(2.2, 0.0, seconds=2.0)
        bench.run(3.0)
        assert (bench.plant.q[0] < 2.0) == inside


def test_activating_again_forgets_the_old_reference(model):
    bench = Bench(model).run(READY)
    bench.move(1.0, 0.5)
    bench.run(0.5)
    bench.controller.activate()
    bench.run(1.0, references=False)  # of which 0.2 s pass before it brakes in full
    assert bench.statuses[-1] is Status.HOLDING
    assert np.abs(bench.plant.qd).max() < 0.05


EVENTS = st.sampled_from(
    ["switch", "new motion", "lose references", "lose states", "payload", "gains", "nothing"]
)


@pytest.fixture(scope="module")
def loaded(model):
    """Equations of the same arm with a payload."""
    robot = model.dynamics.robot.with_payload("fore", mass=0.5, com=(0.3, 0.0, 0.0))
    return Dynamics(robot)


@settings(max_examples=6)
@given(st.lists(EVENTS, min_size=4, max_size=8), st.integers(0, 1000))
def test_whatever_happens_efforts_change_smoothly_and_the_arm_stays_calm(
    model, loaded, events, seed
):
    rng = np.random.default_rng(seed)
    safe = [mode for mode in MODES if mode != "gravity_compensation"]  # lets go of the arm
    bench = Bench(model, Settings(state_timeout=0.02, reference_timeout=0.05)).run(READY)
    current = model
    for event in events:
        link = {"states": True, "references": True}
        if event == "switch":
            mode = safe[rng.integers(len(safe))]
            bench.controller.change(settings=replace(bench.controller.settings, mode=mode))
        elif event == "new motion":
            bench.move(*rng.uniform(-1.0, 1.0, 2))
        elif event == "lose references":
            link["references"] = False
        elif event == "lose states":
            link["states"] = False
        elif event == "payload":
            heavier = current.dynamics is model.dynamics
            current = replace(current, dynamics=loaded if heavier else model.dynamics)
            bench.controller.change(current)
        elif event == "gains":
            factor = rng.uniform(0.7, 1.5)
            current = replace(
                current, gains=Gains(factor * model.gains.kp, factor * model.gains.kd)
            )
            bench.controller.change(current)
        bench.run(0.1 if event == "lose states" else 0.4, **link)
    # Motions replaced while they run are jerkier: 10^3 rad/s^3 on 0.5 kg m^2 is 0.5 N m in 1 ms
    assert bench.largest_step() < 1.0
    assert np.all(np.abs(bench.plant.q) < 2.5)
    bench.run(2.0)
    assert np.abs(bench.plant.qd).max() < 0.5


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        (
            {"mode": "feedforwards"},
            UnknownNameError,
            "no mode 'feedforwards' in robot_dynamics.control (modes: feedforward, pd, "
            "pd_gravity, gravity_compensation, computed_torque, impedance, cartesian_impedance, "
            "operational_space); "
            "did you mean 'feedforward'?",
        ),
        (
            {"state_timeout": 0.0},
            ArgumentError,
            "state_timeout is 0.0; give a positive number",
        ),
        ({"fade": -1.0}, ArgumentError, "fade is -1.0 s; give zero or more"),
        (
            {"effort_rate": np.nan},
            ArgumentError,
            "effort_rate is nan; give a positive number",
        ),
    ],
)
def test_impossible_settings_are_refused(fields, error, message):
    with pytest.raises(error) as refusal:
        Settings(**fields)
    assert str(refusal.value) == message


def test_friction_is_compensated_only_where_it_is_asked_for(model):
    bare = Model(model.dynamics, model.gains)
    q, qd, qdd = Q0, np.array([1.0, -1.0]), np.zeros(2)
    gap = model.feedforward(q, qd, qdd) - bare.feedforward(q, qd, qdd)
    expected = Friction.of(model.dynamics.robot).smooth(qd)
    np.testing.assert_allclose(gap, expected, rtol=1e-12)
