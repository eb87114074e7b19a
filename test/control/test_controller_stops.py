"""The controller when states or references stop, or the arm is not where it should be."""

import re
from dataclasses import replace

import numpy as np
import pytest

from controller_bench import Q0, READY, SMOOTH, STEP, Bench
from robot_dynamics.control import Measured, Reference, Settings, Status
from robot_dynamics.control.status import Cause
from robot_dynamics.errors import UnknownNameError
from robot_dynamics.simulation import Plant
from robot_dynamics.spatial import Inertia


def test_when_references_stop_in_mid_motion_the_arm_comes_to_rest_and_holds(model):
    bench = Bench(model, Settings(reference_timeout=0.05, stop=0.3)).run(READY)
    bench.move(1.3, 0.8)
    bench.run(0.5)
    speed = np.abs(bench.plant.qd).max()
    travelled = []
    for _ in range(200):
        travelled.append(bench.run(0.01, references=False).plant.q[0])
    assert speed > 1.0
    # It goes on to where it can stop: an arm that were held where it was would move back by 0.1
    assert max(travelled) - travelled[-1] < 0.02
    assert travelled[-1] - travelled[0] > 0.1
    assert bench.statuses[-1] is Status.HOLDING
    np.testing.assert_allclose(bench.plant.qd, 0.0, atol=1e-3)
    # What dry friction leaves after the stop: 0.3 N m over 50 N m/rad
    np.testing.assert_allclose(
        bench.efforts[-1], model.dynamics.gravity(bench.plant.q), rtol=0.0, atol=0.4
    )
    assert bench.largest_step() < SMOOTH


def test_the_reference_comes_to_the_arm_never_the_arm_to_the_reference(model):
    bench = Bench(model).run(0.2, references=False)
    bench.follower.hold(Q0 + [1.2, -0.8])
    bench.run(2.0)
    assert bench.statuses[-1] is Status.RESUMED
    bench.follower.hold(bench.plant.q - [0.5, 0.0])
    bench.move(*(Q0 + [0.5, 0.0]))  # a motion that passes the arm is none that began there
    bench.run(2.0)
    assert bench.statuses[-1] is Status.RESUMED
    assert np.abs(bench.plant.q - Q0).max() < 0.005
    bench.follower.hold(bench.plant.q)
    bench.run(0.1)
    bench.move(1.0, 0.5)
    bench.run(1.5)
    assert bench.statuses[-1] is Status.TRACKING
    np.testing.assert_allclose(bench.plant.q, [1.0, 0.5], rtol=0.0, atol=1e-3)


def test_when_references_come_again_they_are_followed_again(model):
    bench = Bench(model, Settings(reference_timeout=0.05)).run(READY)
    bench.run(0.5, references=False)
    bench.run(0.1)
    bench.move(1.0, 0.5)
    bench.run(1.5)
    assert bench.statuses[-1] is Status.TRACKING
    np.testing.assert_allclose(bench.plant.q, [1.0, 0.5], rtol=0.0, atol=1e-3)


def test_when_states_stop_the_arm_comes_to_rest_and_stays_when_they_come_again(model):
    bench = Bench(model, Settings(state_timeout=0.02)).run(READY)
    bench.move(1.0, 0.5)
    bench.run(0.4)
    speed = np.abs(bench.plant.qd).max()
    assert speed > 0.5
    bench.run(0.8, states=False)
    assert bench.statuses[-1] is Status.OPEN_LOOP
    # Feedback at work when the states ended fades over 0.2 s, and pushes meanwhile
    assert np.abs(bench.plant.qd).max() < 0.25 * speed
    # Where it is meant to rest: the arm is near, and gravity changes by 25 N m/rad at most
    off = np.abs(bench.efforts[-1] - model.dynamics.gravity(bench.plant.q)).max()
    assert off < 4.0
    stood = bench.plant.q
    bench.run(2.5)
    assert bench.statuses[-1] is Status.RESUMED
    assert np.abs(bench.plant.q - stood).max() < 0.02  # what was left of its speed
    assert bench.largest_step() < SMOOTH
    bench.follower.hold(bench.plant.q)
    bench.run(0.1)
    assert bench.statuses[-1] is Status.TRACKING


def test_commands_end_when_no_state_has_come_for_long_and_begin_where_the_arm_then_is(model):
    bench = Bench(model, Settings(state_timeout=0.02, open_loop_timeout=0.4)).run(READY)
    bench.run(0.4, states=False)
    assert bench.controller.status is Status.OPEN_LOOP
    assert bench.controller.update(bench.now + 0.05) is None
    assert bench.controller.status is Status.SILENT
    elsewhere = Q0 + [0.3, -0.2]
    bench.plant.reset(elsewhere)
    bench.now += 5.0
    bench.run(0.25, references=False)
    assert bench.statuses[-1] is Status.HOLDING
    np.testing.assert_allclose(bench.plant.q, elsewhere, rtol=0.0, atol=0.02)


def test_a_controller_that_forgets_its_states_commands_nothing_before_one_comes(model):
    bench = Bench(model).run(READY)
    bench.controller.forget()
    bench.controller.activate()
    assert bench.controller.update(bench.now) is None
    bench.run(0.1)
    np.testing.assert_allclose(bench.efforts[-1], model.dynamics.gravity(Q0), atol=1e-6)


def test_an_arm_that_nobody_sees_may_be_let_go_instead(model):
    settings = Settings(state_timeout=0.02, on_state_timeout="zero_effort")
    bench = Bench(model, settings).run(READY)
    bench.run(0.3, states=False)
    assert bench.statuses[-1] is Status.OPEN_LOOP
    np.testing.assert_array_equal(bench.efforts[-1], 0.0)
    assert bench.largest_step() < SMOOTH


def test_an_arm_that_nobody_leads_may_be_led_by_hand(model):
    settings = Settings(reference_timeout=0.02, on_reference_timeout="gravity_compensation")
    bench = Bench(model, settings).run(READY)
    bench.run(0.5, references=False)
    assert bench.statuses[-1] is Status.HOLDING
    np.testing.assert_allclose(bench.efforts[-1], model.gravity(bench.plant.q), atol=0.05)
    bench.push(0.5, -0.4, references=False)  # led there
    bench.run(0.2, references=False)
    np.testing.assert_allclose(bench.plant.q, Q0 + [0.5, -0.4], atol=0.02)
    bench.run(2.0)
    assert bench.statuses[-1] is Status.RESUMED
    np.testing.assert_allclose(bench.plant.q, Q0 + [0.5, -0.4], atol=0.02)


def test_an_arm_that_comes_back_elsewhere_with_brakes_closed_is_let_go_without_a_jerk(model):
    bench = Bench(model, Settings(state_timeout=0.02)).run(READY)
    bench.run(0.1, states=False)
    elsewhere = np.array([-0.5, 0.2])
    bench.plant = Plant(bench.plant.robot, elsewhere, dynamics=model.dynamics)
    bench.run(0.25, brakes=True)
    np.testing.assert_allclose(bench.efforts[-1], model.dynamics.gravity(elsewhere), atol=1e-6)
    moved = len(bench.efforts)
    bench.run(4.0)
    np.testing.assert_allclose(bench.plant.q, elsewhere, rtol=0.0, atol=0.006)
    assert np.abs(np.diff(bench.efforts[moved:], axis=0)).max() < SMOOTH


@pytest.mark.parametrize("closed", [1.5, 2.0, 3.0])
def test_brakes_that_stay_closed_are_told_and_let_go_of_no_faster_than_the_joints_may_go(
    model, closed
):
    bench = Bench(model, q=np.array([-1.2, 1.5])).run(READY, brakes=True)
    bench.move(*Q0, seconds=3.0)
    bench.run(closed, brakes=True)
    assert np.abs(bench.efforts[-1] / [40.0, 15.0]).max() < 0.8  # half, and what 50 ms add
    speeds, braked = [], []
    for _ in range(6000):
        speeds.append(np.abs(bench.run(STEP).plant.qd))
        braked.append(bench.controller.braked_by)
    assert np.all(np.max(speeds, axis=0) < 0.5)  # 15 N m fade from the elbow
    assert set(braked) <= {"shoulder", "elbow"}


def test_a_joint_behind_a_brake_is_named_and_pushed_again_and_again(model):
    bench = Bench(model, q=np.array([-1.2, 1.5])).run(READY, brakes=True)
    bench.move(*Q0)
    bench.run(6.0, brakes=True)
    assert bench.controller.braked_by in ("shoulder", "elbow")
    for _ in range(3):  # the reference comes to the arm, and leaves it again
        bench.follower.hold(bench.plant.q)
        bench.run(0.5, brakes=True)
        assert bench.statuses[-1] is Status.TRACKING
        bench.move(*Q0)
        bench.run(2.0, brakes=True)
        assert bench.statuses[-1] is Status.RESUMED
    assert bench.largest_step() < SMOOTH


@pytest.mark.parametrize("stops", [{"states": False}, {"references": False}])
def test_references_are_followed_again_only_on_request_if_asked_for(model, stops):
    settings = Settings(state_timeout=0.02, reference_timeout=0.02, resume_by_itself=False)
    bench = Bench(model, settings).run(READY)
    bench.move(0.8, -0.2)
    bench.run(0.4)
    bench.run(0.2, **stops)
    bench.run(1.5)
    assert bench.statuses[-1] is Status.PAUSED
    assert np.abs(bench.plant.qd).max() < 0.01
    assert np.abs(bench.plant.q - [0.8, -0.2]).max() > 0.05
    assert bench.controller.resume()
    bench.run(0.1)
    assert bench.statuses[-1] is Status.RESUMED
    bench.follower.hold(bench.plant.q)
    bench.move(0.8, -0.2)
    bench.run(2.0)
    assert bench.statuses[-1] is Status.TRACKING
    np.testing.assert_allclose(bench.plant.q, [0.8, -0.2], atol=0.006)


@pytest.mark.parametrize("references", [True, False])
def test_an_arm_that_a_person_has_led_is_not_snatched_back_by_another_mode(model, references):
    bench = Bench(model, Settings(mode="gravity_compensation")).run(0.1, references=references)
    bench.push(0.8, 0.6, references=references)
    bench.run(0.1, references=references)
    bench.controller.change(settings=Settings(mode="feedforward"))
    speeds = []
    for _ in range(4000):
        bench.run(STEP, references=references)
        speeds.append(np.abs(bench.plant.qd).max())
    assert max(speeds) < 0.05
    np.testing.assert_allclose(bench.plant.q, Q0 + [0.8, 0.6], atol=0.02)


@pytest.mark.parametrize(
    "settings", [{"on_state_timeout": "hold"}, {"on_reference_timeout": "rest"}]
)
def test_an_unknown_reaction_is_refused_with_those_that_there_are(settings):
    with pytest.raises(UnknownNameError, match=r"on_\w+_timeout"):
        Settings(**settings)


def test_an_excessive_tracking_error_stops_the_arm_names_the_joint_and_waits_to_be_resumed(model):
    bench = Bench(model, Settings(tracking_limit=np.array([0.2, np.inf]), fade=0.05)).run(READY)
    bench.move(1.3, 0.8)
    bench.run(0.3)
    bench.plant.reset(bench.plant.q + [0.5, 0.0])  # pushed away
    bench.run(1.0)
    assert bench.statuses[-1] is Status.STOPPED
    assert bench.controller.stopped_by.startswith("joint 'shoulder' is ")
    assert bench.controller.stopped_by.endswith(
        "rad from its reference, beyond its limit of 0.2 rad"
    )
    assert np.abs(bench.plant.qd).max() < 0.05
    bench.follower.hold(bench.plant.q)
    bench.controller.resume()
    bench.run(0.1)
    assert bench.controller.stopped_by is None
    assert bench.statuses[-1] is Status.TRACKING


def test_a_resumed_arm_holds_its_position_until_the_reference_comes_to_it(model):
    bench = Bench(model, Settings(tracking_limit=0.2, fade=0.05)).run(READY)
    bench.plant.reset(Q0 + [0.8, 0.0])  # pushed away
    bench.run(0.5)
    stood = bench.plant.q
    assert bench.controller.resume()
    bench.run(2.0)
    assert bench.statuses[-1] is Status.RESUMED
    np.testing.assert_allclose(bench.plant.q, stood, atol=0.006)  # dry friction: 0.3 / 50
    bench.follower.hold(bench.plant.q)
    bench.run(0.2)
    assert bench.statuses[-1] is Status.TRACKING


@pytest.mark.parametrize(("jump", "follows"), [(0.05, True), (0.15, False)])
def test_a_reference_that_jumps_a_little_is_joined_and_one_that_jumps_away_is_left(
    model, jump, follows
):
    bench = Bench(model, Settings(tracking_limit=0.2)).run(READY + 0.3)
    bench.follower.hold(Q0 + [jump, 0.0])
    speeds = [np.abs(bench.run(STEP).plant.qd).max() for _ in range(3000)]
    assert bench.statuses[-1] is (Status.TRACKING if follows else Status.RESUMED)
    assert max(speeds) < 0.4  # a tenth of 3 and 4 rad/s, and feedback adds a little
    assert bench.largest_step() < SMOOTH
    np.testing.assert_allclose(bench.plant.q, Q0 + [jump * follows, 0.0], atol=0.006)


def test_a_reference_faster_than_a_joint_may_move_stops_the_arm_with_its_numbers(model):
    bench = Bench(model, Settings(fade=0.05)).run(READY)
    bench.move(*(Q0 + [2.0, 0.0]), seconds=0.8)  # up to 15/8 of 2.5 rad/s; the limit is 3
    bench.run(1.0)
    assert bench.statuses[-1] is Status.STOPPED
    assert re.fullmatch(
        r"the reference of joint 'shoulder' moves at 3\.0\d rad/s, beyond its limit of 3 rad/s",
        bench.controller.stopped_by,
    )
    assert np.abs(bench.plant.qd).max() < 0.05


def test_an_arm_that_is_driven_too_fast_is_stopped_with_its_numbers(model):
    bench = Bench(model, Settings("pd_gravity", fade=0.05)).run(READY)
    load = Inertia.from_com(30.0, np.array([0.3, 0.0, 0.0]), np.zeros((3, 3)))
    bench.controller.model = replace(model, payload=load, frame="fore")  # the arm carries none
    bench.run(0.3)
    found = re.fullmatch(
        r"joint 'elbow' moves at ([\d.]+) rad/s, beyond its limit of 4 rad/s",
        bench.controller.stopped_by,
    )
    assert float(found[1]) > 1.2 * 4.0
    assert bench.statuses[-1] is Status.STOPPED


def shaken(bench, seconds):
    """Measure an elbow that oscillates by 10 mrad at 12 Hz where the controller has a still arm."""
    for _ in range(round(seconds / STEP)):
        q = Q0 + [0.0, 5e-3 * np.sin(2.0 * np.pi * 12.0 * bench.now)]
        bench.controller.set_state(Measured(q, np.zeros(2)), bench.now)
        bench.controller.set_reference(Reference(Q0, np.zeros(2), np.zeros(2)), bench.now)
        command = bench.controller.update(bench.now)
        bench.now += STEP
    return command.status


def test_an_oscillation_stops_the_arm_with_its_numbers(model):
    bench = Bench(model, Settings(fade=0.05)).run(READY)
    assert shaken(bench, 1.0) is Status.STOPPED
    assert bench.controller.stopped_by == "joint 'elbow' oscillates by 0.01 rad at 12 Hz"
    assert bench.controller.resume()
    assert shaken(bench, 1.0) is Status.STOPPED  # it oscillates still


def test_an_arm_that_oscillates_while_it_is_stopped_is_held_softly_too(model):
    bench = Bench(model, Settings(tracking_limit=0.2, fade=0.05)).run(READY)
    bench.plant.reset(Q0 + [0.5, 0.0])  # pushed away
    bench.run(0.1)
    assert bench.controller.cause is Cause.TRACKING_ERROR
    shaken(bench, 1.0)
    assert bench.controller.cause is Cause.OSCILLATION


def test_what_oscillates_without_feedback_stops_no_arm(model):
    bench = Bench(model, Settings("gravity_compensation", fade=0.05)).run(READY)
    assert shaken(bench, 1.0) is Status.TRACKING
