"""The guard: states that cannot be are not believed, and no gap or delay adds energy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from choices import first
from controller_bench import Q0, READY, STEP, Bench
from faulty_bench import GOAL, LIMIT, PLANNED, SAFE, SECONDS, Faulty, moving
from robot_dynamics.control import Measured, Reference, Settings, Status
from robot_dynamics.control.guard import FLAWS, Flaw
from robot_dynamics.control.status import Cause


@settings(max_examples=8)
@given(st.integers(0, 1), st.floats(0.0, 6.0).map(lambda x: 10.0**x), st.sampled_from([-1.0, 1.0]))
def test_one_wrong_velocity_of_an_arm_at_rest_is_forgotten_at_once(model, joint, size, sign):
    bench = Faulty(model, Settings()).run(READY + 0.2)

    def change(k, q, qd):
        return q, qd + (k == 5) * sign * size * (np.arange(2) == joint)

    bench.fail(0.2, change)
    assert set(bench.statuses[-150:]) == {Status.TRACKING}
    assert bench.controller.field("trust")[0] == 1.0


@pytest.mark.parametrize("silent", [0.06, 0.09, 0.15, 0.3])
def test_an_arm_that_rejoins_a_motion_overtakes_it_by_a_tenth_of_its_speed_limit(model, silent):
    bench = moving(model, reference_timeout=0.03)
    bench.run(silent, references=False)
    speeds = bench.fail(2.0, lambda k, q, qd: (q, qd))
    assert (speeds < SAFE).all()
    assert bench.statuses[-1] in (Status.TRACKING, Status.RESUMED)


@settings(max_examples=12)
@given(
    st.sampled_from(["q", "qd"]),
    st.integers(0, 1),
    st.floats(-1.0, 6.0).map(lambda x: 10.0**x),
    st.sampled_from([-1.0, 1.0]),
)
def test_one_wrong_sample_moves_nothing(model, what, joint, size, sign):
    bench = moving(model)

    def glitch(k, q, qd):
        wrong = q if what == "q" else qd
        wrong[joint] += sign * size * (k == 0)
        return q, qd

    assert np.all(bench.fail(1.5, glitch) < SAFE)
    assert bench.statuses[-1] is Status.TRACKING
    np.testing.assert_allclose(bench.plant.q, GOAL, atol=0.01)


@pytest.mark.parametrize("every", [2, 100])
def test_a_second_publisher_of_another_pose_is_not_believed(model, every):
    bench = moving(model)
    elsewhere = np.array([-0.5, 0.4]), np.zeros(2)
    speed = bench.fail(1.5, lambda k, *own: elsewhere if k % every == 0 else own)
    assert np.all(speed < SAFE)
    assert bench.statuses[-1] is Status.TRACKING
    assert int(bench.controller.field("flaw")[0]) in (Flaw.NONE, Flaw.JUMP)


def test_commands_without_states_do_not_end_before_the_arm_is_at_rest(model):
    bench = moving(model, open_loop_timeout=0.01)
    begun = len(bench.statuses)
    bench.fail(0.6, lambda *_: None)
    ended = bench.statuses.index(Status.SILENT, begun)
    assert (ended - begun) * STEP == pytest.approx(0.1 + Settings().stop, abs=2 * STEP)
    assert np.all(np.abs(bench.plant.qd) < 0.1)


@settings(max_examples=8)
@given(st.floats(0.01, 0.4), st.floats(0.0, 0.8))
def test_a_gap_adds_no_energy_whenever_it_comes(model, gap, phase):
    bench = Faulty(model).run(READY)
    bench.move(*GOAL, seconds=SECONDS)
    bench.run(phase)
    speed = bench.fail(gap, lambda *_: None)
    again = bench.fail(1.0, lambda _, *own: own)
    assert np.all(np.maximum(speed, again) < SAFE)


@pytest.mark.parametrize("later", [0.02, 0.06, 0.15, 0.3])
def test_states_that_come_later_and_later_make_no_oscillation(model, later):
    bench = moving(model)
    past = []

    def late(_, *own):
        past.append(own)
        back = round(later / STEP)
        return past[-1 - back] if len(past) > back else None

    speed = bench.fail(0.8, late, at=lambda now: now - later)
    # With less feedback the arm deviates, and the elbow gets 0.17 rad/s more
    assert np.all(speed < SAFE + 0.1 * LIMIT)


@settings(max_examples=10, deadline=None)
@given(st.floats(0.5, 3.0))
def test_the_clock_of_a_simulation_may_run_at_any_speed(model, speed):
    bench = Bench(model)
    for k in range(2500):
        if k == 1000:
            bench.move(*GOAL, seconds=SECONDS)
        now = 100.0 + k * STEP / speed  # of the processor; the arm has that of the bench
        measured = Measured(bench.plant.q, bench.plant.qd)
        bench.controller.set_state(measured, now, at=bench.now, delay=0.0)
        due = bench.follower.sample(bench.now)
        bench.controller.set_reference(Reference(due.q, due.qd, model.feedforward(*due)), now)
        bench.plant.step(bench.controller.update(now).tau)
        bench.statuses.append(bench.controller.status)
        bench.now += STEP
    assert set(bench.statuses) == {Status.SETTLING, Status.TRACKING}
    np.testing.assert_allclose(bench.plant.q, GOAL, atol=0.01)


def test_clocks_that_part_make_no_state_late(model):
    bench = Faulty(model).run(READY)
    begun = bench.now
    bench.fail(4.0, lambda _, *own: own, at=lambda now: now - 5e-5 * (now - begun))
    assert bench.controller.field("late_by")[0] < 1e-9
    assert bench.controller.field("trust")[0] == 1.0


@pytest.mark.parametrize(
    "wrong", first([-100.0, -0.06, 0.3], [-100.0, -1.0, -0.3, -0.06, 0.06, 0.3, 1.0, 100.0])
)
@pytest.mark.parametrize("every", [2, 50])
def test_single_wrong_stamps_make_no_state_late(model, wrong, every):
    bench = moving(model)
    count = iter(range(10_000))
    speed = bench.fail(
        1.5,
        lambda _, *own: own,
        at=lambda now: now + wrong * (next(count) % every == 0),
    )
    assert np.all(speed < SAFE)
    assert bench.statuses[-1] is Status.TRACKING
    assert bench.controller.field("trust")[0] == 1.0
    np.testing.assert_allclose(bench.plant.q, GOAL, atol=0.01)


def test_a_joint_whose_states_freeze_in_motion_is_told(model):
    bench = moving(model)
    kept = bench.plant.q[0], bench.plant.qd[0]

    def frozen(_, q, qd):
        q[0], qd[0] = kept
        return q, qd

    assert np.all(bench.fail(0.3, frozen) < SAFE)
    controller = bench.controller
    assert int(controller.field("flaw")[0]) == Flaw.STUCK
    assert controller.status is Status.OPEN_LOOP
    assert int(controller.field("reason")[0]) == Flaw.STUCK
    line = FLAWS[Flaw.STUCK].line(model.dynamics.robot, 0, controller.field("reason_value")[0])
    begin = "the position of joint 'shoulder' stands although its velocity is"
    assert line == f"{begin} {kept[1]:.3g} rad/s"


def test_an_arm_that_brakes_held_meanwhile_is_believed_again(model):
    """Its last velocities before the brakes are of motion, those under them zero."""
    bench = moving(model)
    q, qd = bench.plant.q.copy(), bench.plant.qd.copy()
    bench.fail(0.5, lambda *_: (q, qd))
    assert int(bench.controller.field("flaw")[0]) == Flaw.STUCK
    bench.plant.reset(q)
    bench.fail(3.0, lambda *_: (q, 0.0 * qd))
    assert int(bench.controller.field("flaw")[0]) == Flaw.NONE
    assert bench.controller.status not in (Status.OPEN_LOOP, Status.SILENT)


def test_a_simulation_whose_clock_stands_still_is_not_stuck(model):
    bench = moving(model)
    kept, begun = (bench.plant.q.copy(), bench.plant.qd.copy()), bench.now - STEP
    for _ in range(500):
        bench.controller.set_state(Measured(*kept), bench.now, at=begun, delay=0.0)
        bench.controller.update(bench.now)
        bench.now += STEP
        assert int(bench.controller.field("flaw")[0]) == Flaw.NONE


def test_a_joint_whose_states_freeze_at_rest_is_told_by_its_noise(model):
    bench = Faulty(model).run(READY)

    def frozen(_, q, qd):
        q[0], qd[0] = Q0[0], 1e-3  # which explains 5 mrad only after five seconds
        return q, qd

    assert np.all(bench.fail(0.1, frozen) < 0.1)
    assert int(bench.controller.field("flaw")[0]) == Flaw.STUCK


def test_a_joint_that_rests_with_a_velocity_of_zero_is_believed(model):
    bench = Faulty(model).run(READY)
    bench.fail(1.0, lambda _, q, qd: (Q0.copy(), 0.0 * qd))
    assert int(bench.controller.field("flaw")[0]) == Flaw.NONE
    assert bench.statuses[-1] is not Status.OPEN_LOOP


def test_states_later_than_half_of_their_timeout_count_as_none(model):
    bench = moving(model)
    past = []

    def late(_, *own):
        past.append(own)
        back = round(0.06 / STEP)
        return past[-1 - back] if len(past) > back else None

    assert np.all(bench.fail(0.3, late, at=lambda now: now - 0.06) < SAFE)
    assert bench.statuses[-1] is Status.OPEN_LOOP
    bench.fail(0.3, lambda _, *own: own)
    assert bench.statuses[-1] is Status.RESUMED


def test_velocities_of_zero_from_an_arm_that_moves_are_told(model):
    bench = moving(model)
    bench.fail(0.5, lambda _, q, qd: (q, 0.0 * qd))
    assert int(bench.controller.field("flaw")[0]) in (Flaw.DRIFT, Flaw.JUMP)
    assert Status.OPEN_LOOP in bench.statuses


@settings(max_examples=12)
@given(st.integers(0, 1), st.floats(-1.0, 0.9), st.floats(0.001, 0.3))
def test_velocities_that_do_not_fit_the_positions_move_nothing(model, joint, share, seconds):
    bench = moving(model)

    def wrong(k, q, qd):
        qd[joint] *= share if k * STEP < seconds else 1.0
        return q, qd

    # Feedback has followed them for the 5 ms or so in which they differ from the positions by less
    # than noise, filters and clocks may explain
    assert np.all(bench.fail(1.5, wrong) < PLANNED + 0.3 * LIMIT)
    assert bench.statuses[-1] in (Status.TRACKING, Status.RESUMED)


def test_filtered_noisy_and_coarse_states_with_uneven_stamps_are_believed(model):
    bench = moving(model)
    rng, filtered = np.random.default_rng(3), bench.plant.qd.copy()

    def measured(_, q, qd):
        filtered[:] += STEP / 0.01 * (qd - filtered)
        coarse = 5e-4 * np.round((q + rng.normal(0.0, 1e-4, 2)) / 5e-4)
        return coarse, filtered + rng.normal(0.0, 0.02, 2)

    bench.fail(1.5, measured, at=lambda now: now - rng.uniform(0.0, 1e-3))
    assert set(bench.statuses[-1500:]) == {Status.TRACKING}
    np.testing.assert_allclose(bench.plant.q, GOAL, atol=0.01)


def test_brakes_that_close_in_motion_stop_the_arm_by_their_own_cause(model):
    bench = moving(model)
    bench.plant.reset(bench.plant.q)
    bench.run(0.5, brakes=True)
    assert bench.controller.cause is Cause.STANDING
    assert "stands, although its reference moved on by 0.0" in bench.controller.stopped_by


@pytest.mark.parametrize("every", [1, 10])
def test_references_of_two_sources_by_turns_are_not_followed(model, every):
    bench = Faulty(model).run(READY)
    begun = len(bench.statuses)
    for k in range(1000):
        q = Q0 + [0.4 * (k // every % 2), 0.0]
        bench.controller.set_state(Measured(bench.plant.q, bench.plant.qd), bench.now)
        reference = Reference(q, np.zeros(2), model.feedforward(q, np.zeros(2), np.zeros(2)))
        bench.controller.set_reference(reference, bench.now)
        bench.plant.step(bench.controller.update(bench.now).tau)
        bench.statuses.append(bench.controller.status)
        bench.now += STEP
    assert set(bench.statuses[begun + 2 * every :]) == {Status.RESUMED}
    np.testing.assert_allclose(bench.plant.q, Q0, atol=0.01)


def test_an_arm_moved_while_its_controller_was_away_stays_where_it_is(model):
    bench = Faulty(model).run(READY)
    bench.move(*GOAL, seconds=SECONDS)
    bench.run(1.2)
    elsewhere = GOAL + [-0.5, 0.3]
    bench.plant.reset(elsewhere)
    bench.controller.forget()
    bench.controller.activate()
    bench.now += 2.0
    bench.run(2.0)
    assert bench.statuses[-1] is Status.RESUMED
    np.testing.assert_allclose(bench.plant.q, elsewhere, atol=0.005)
