"""Decisions of one cycle, by its equations on numbers: states, stops, statuses, watches.

Each case changes some fields of an arm that holds still at its reference, and states what follows.
"""

import numpy as np
import pytest

from controller_bench import READY, STEP, Bench
from robot_dynamics.control import Status
from robot_dynamics.control.collision import REACTIONS, REPORT
from robot_dynamics.control.fields import Facts
from robot_dynamics.control.guard import Flaw, believe
from robot_dynamics.control.laws import ALL_MODES, IN_TASK_SPACE, LAWS, WITHOUT_INERTIA
from robot_dynamics.control.logic import NEVER
from robot_dynamics.control.status import Cause
from robot_dynamics.control.supervision import supervise
from robot_dynamics.control.watches import watch

ROUND_OFF = 1e-12  # of sums of a few numbers near 1; times are near 100
NEAREST, FASTEST, TIMEOUT = 0.1, np.array([3.0, 4.0]), 0.1  # rad, rad/s, s: of the arm below
TASK = float(IN_TASK_SPACE[0])
NO_REACTION, STOP = float(REACTIONS.index("none")), float(REACTIONS.index("stop"))


@pytest.fixture(scope="module")
def calm(model):
    """Every field of an arm at its reference, one cycle after the last, with a new state."""
    bench = Bench(model).run(READY + 0.05)
    run = bench.controller._run
    step, fields = run.kernels.step, {}
    for layout, vector in (
        (step.state, run.state),
        (step.arrived, run.arrived),
        (step.settings, run.settings),
    ):
        fields |= {name: layout.of(vector.copy(), name) for name in layout}
    now = dict.fromkeys(("now", "state_came", "state_stamp", "reference_came"), bench.now)
    known = fields | now | {"state_new": 1.0, "continuous": step.continuous, "target_moves": 0.0}
    assert known["status"] == Status.TRACKING and known["reaction"] == REACTIONS.index(REPORT)
    assert (known["nearest"] == NEAREST).all() and known["state_timeout"] == TIMEOUT
    assert (known["velocity"] == FASTEST).all()
    return known


def decide(function, known, **changed):
    """The result of a function of the fields, of which some are changed; times count from now."""
    arrays = {n: np.array(v) if isinstance(v, tuple) else v for n, v in changed.items()}
    return function(Facts(known, arrays))


def ago(known, seconds, *names):
    """Times that lie back."""
    return dict.fromkeys(names, known["now"] - seconds)


# -- states -----------------------------------------------------------------------------------


def test_a_new_state_is_believed_and_feedback_by_it_is_whole(calm):
    q = calm["q"] + 1e-4
    found = decide(believe, calm, state_q=q)
    assert (found["fresh"], found["trust"], found["flaw"], found["age"]) == (1.0, 1.0, 0.0, 0.0)
    assert found["fitting"] == 10.0 and found["observes"] == 1.0 and found["missed"] == 0.0
    np.testing.assert_array_equal(found["q"], q)
    assert found["dt"] == pytest.approx(STEP, abs=ROUND_OFF * 1e3)


def test_without_a_state_the_last_one_grows_old(calm):
    found = decide(believe, calm, state_new=0.0)
    assert (found["fresh"], found["fitting"]) == (0.0, 10.0)
    assert found["age"] == pytest.approx(STEP, abs=ROUND_OFF * 1e3)


def test_the_first_cycle_takes_no_time(calm):
    assert decide(believe, calm, cycle_at=NEVER)["dt"] == 0.0


def test_a_state_that_is_no_number_is_named_with_its_joint(calm):
    found = decide(believe, calm, state_q=(0.3, np.nan))
    assert (found["fresh"], found["absent"], found["absent_joint"]) == (0.0, Flaw.UNREAD, 1.0)


@pytest.mark.parametrize(("reaction", "observes"), [(NO_REACTION, 0.0), (STOP, 1.0)])
def test_external_efforts_are_observed_where_anything_reacts_to_them(calm, reaction, observes):
    assert decide(believe, calm, reaction=reaction)["observes"] == observes


@pytest.mark.parametrize(
    ("silence", "fitting", "fresh"), [(0.2, 10.0, 1.0), (0.2, 2.0, 0.0), (0.05, 10.0, 0.0)]
)
def test_an_arm_elsewhere_is_believed_after_a_timeout_and_states_that_fit(
    calm, silence, fitting, fresh
):
    q = calm["q"] + 1.0
    found = decide(
        believe, calm, state_q=q, received_q=q, fitting=fitting,
        **ago(calm, silence, "state_at", "stamp"),
    )  # fmt: skip
    assert (found["fresh"], found["missed"]) == (fresh, fresh)
    assert found["flaw"] == (Flaw.NONE if fresh else Flaw.JUMP)


def test_the_first_state_is_believed_at_once(calm):
    assert decide(believe, calm, seen=0.0, fitting=0.0, state_q=(1.0, 1.0))["fresh"] == 1.0


def test_a_state_without_stamp_counts_as_of_its_arrival(calm):
    found = decide(believe, calm, unstamped=1.0, state_stamp=0.0, received_stamp=0.0, stamp=0.0)
    assert (found["stamp"], found["fresh"]) == (calm["now"], 1.0)


def test_states_that_arrive_at_once_are_as_far_apart_as_their_stamps(calm):
    qd = np.array([1.0, 1.0])
    found = decide(
        believe, calm, state_q=calm["q"] + STEP * qd, state_qd=qd, received_qd=qd, qd=qd,
        **ago(calm, 0.0, "received_at", "state_at"),
    )  # fmt: skip
    np.testing.assert_allclose(found["drifted"], 0.0, rtol=0.0, atol=1e-9)


def test_where_the_clock_of_stamps_jumps_the_time_of_arrival_counts(calm):
    moving, seconds = dict.fromkeys(("qd", "received_qd", "state_qd"), (1.0, 1.0)), 0.05
    times = {**ago(calm, seconds, "received_at", "state_at"), "state_stamp": calm["now"] + 50.0}
    found = decide(believe, calm, **moving, **times, state_q=calm["q"] + seconds)
    assert (found["fresh"], found["flaw"], found["fitting"]) == (1.0, Flaw.NONE, 10.0)
    found = decide(believe, calm, **moving, **times, state_q=calm["q"] + 2.0 * seconds)
    assert (found["fresh"], found["flaw"]) == (0.0, Flaw.JUMP)


def test_a_joint_that_moves_at_one_speed_is_neither_stuck_nor_frozen(calm):
    moving = dict.fromkeys(("qd", "received_qd", "state_qd"), (1.0, -1.0))
    q = calm["q"] + STEP * np.array([1.0, -1.0])
    found = decide(believe, calm, **moving, state_q=q, stuck_for=(4e-3, 0.0), frozen_for=(0.1, 0.1))
    for name in ("stuck_for", "frozen_for"):
        np.testing.assert_array_equal(found[name], 0.0)
    assert (found["fresh"], found["flaw"]) == (1.0, Flaw.NONE)


@pytest.mark.parametrize("speed", [1.0, -1.0])
def test_a_position_that_stands_while_velocities_go_on_is_a_flaw(calm, speed):
    moving = {"state_qd": (speed, 0.0), "received_qd": (speed, 0.0), "qd": (speed, 0.0)}
    # The displacement so far decays within half a second: 1 ms of it
    found = decide(believe, calm, **moving, stuck_for=(3e-3 * speed, 0.0))
    expected = (1.0 - STEP / 0.5) * 3e-3 + STEP
    assert found["stuck_for"][0] == pytest.approx(speed * expected, abs=1e-9)
    assert found["flaw"] == Flaw.NONE and found["fitting"] == 10.0
    found = decide(believe, calm, **moving, stuck_for=(5e-3 * speed, 0.0))
    assert (found["flaw"], found["flaw_joint"]) == (Flaw.STUCK, 0.0)
    assert (found["flaw_value"], found["fitting"], found["trust"]) == (speed, 0.0, 0.0)
    # Velocities that change their sign are no motion, nor is a glitch of one velocity
    shaking = {"state_qd": (speed, 0.0), "received_qd": (-speed, 0.0)}
    found = decide(believe, calm, **shaking, stuck_for=(3e-3, 0.0))
    assert found["stuck_for"][0] == pytest.approx((1.0 - STEP / 0.5) * 3e-3, abs=1e-9)
    found = decide(believe, calm, state_qd=(speed, 0.0), stuck_for=(5e-3 * speed, 0.0))
    assert abs(found["stuck_for"][0]) < 5e-3 and found["flaw"] == Flaw.NONE


@pytest.mark.parametrize(("before", "flaw"), [(0.0495, Flaw.STUCK), (0.0485, Flaw.NONE)])
def test_a_joint_that_moves_and_sends_the_same_numbers_for_50_ms_is_frozen(calm, before, flaw):
    slow = dict.fromkeys(("qd", "received_qd", "state_qd"), (0.0, -0.01))
    found = decide(believe, calm, **slow, frozen_for=(0.0, before))
    assert found["flaw"] == flaw
    rests = dict.fromkeys(slow, (0.0, -0.0001))  # the last digit of a sensor
    assert decide(believe, calm, **rests, frozen_for=(0.0, before))["frozen_for"][1] == 0.0
    changes = {**slow, "state_qd": (0.0, -0.0101)}
    assert decide(believe, calm, **changes, frozen_for=(0.0, before))["frozen_for"][1] == 0.0


def test_one_stamp_of_another_clock_changes_no_typical_delay_and_two_do(calm):
    for passed in (50.0, -50.0):
        found = decide(believe, calm, state_delay=passed)
        assert abs(found["typical_delay"]) < 1e-3
        found = decide(believe, calm, state_delay=passed, received_delay=passed + 0.1)
        assert (found["typical_delay"], found["late_by"]) == (passed, 0.0)


def test_a_state_is_late_by_what_it_exceeds_the_typical_delay_until_gains_fit_that(calm):
    late = decide(believe, calm, state_delay=0.04)
    assert late["late_by"] == pytest.approx(0.04, abs=1e-6) and late["typical_delay"] < 1e-6
    fitted = decide(believe, calm, state_delay=0.04, delay=0.04)
    assert (fitted["late_by"], fitted["typical_delay"]) == (0.0, 0.04)


def test_lateness_is_forgotten_within_its_time_constant(calm):
    found = decide(believe, calm, lateness=0.04, **ago(calm, 0.15, "cycle_at"))
    assert found["lateness"] == pytest.approx(0.04 / np.e, rel=1e-9)


def test_feedback_fades_from_a_quarter_of_the_timeout_on(calm):
    slow = {"fastest_mode": 0.0, "state_new": 0.0}  # then the bandwidth, 20 rad/s, is what counts
    for age, faded in ((0.25 * TIMEOUT, 1.0), (0.625 * TIMEOUT, 0.5), (TIMEOUT, 0.0)):
        found = decide(believe, calm, **slow, **ago(calm, age, "state_at"))
        prompt = 0.5 / (2.0 * 20.0)  # half a radian at twice the bandwidth
        assert found["trust"] == pytest.approx(faded * prompt / age, abs=1e-9)
    assert decide(believe, calm, **slow, **ago(calm, 0.01, "state_at"))["trust"] == 1.0
    weighted = {**slow, "fastest_mode": 200.0, "inertia_weighted": 1.0}
    found = decide(believe, calm, **weighted, **ago(calm, 0.025, "state_at"))
    assert found["trust"] == pytest.approx(prompt / 0.025, abs=1e-9)


def test_feedback_is_regained_by_a_state_after_it_had_faded_below_half(calm):
    for trust, regained in ((0.4, 1.0), (0.6, 0.0)):
        assert decide(believe, calm, trust=trust)["regained"] == regained


# -- stops and statuses -----------------------------------------------------------------------


def test_an_arm_that_tracks_goes_on(calm):
    for resumes in (0.0, 1.0):
        found = decide(supervise, calm, resume_by_itself=resumes)
        assert (found["status"], found["cause"], found["warning"]) == (Status.TRACKING, 0.0, 0.0)
        for name in ("entered", "begins", "paused", "forgets", "enters_task", "open_loop"):
            assert found[name] == 0.0, name
        assert (found["follows"], found["has_feedback"], found["armed"]) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"missed": 1.0}, Status.OPEN_LOOP),
        ({"age": 0.06, "late_by": 0.03}, Status.OPEN_LOOP),  # late ones count twice
        ({"age": 0.06, "late_by": 0.01}, Status.TRACKING),
        ({"status": float(Status.OPEN_LOOP), "missed": 1.0}, Status.TRACKING),
        ({"halted": 1.0}, Status.HOLDING),
    ],
)
def test_states_and_commands_decide_on_the_status(calm, changed, status):
    assert decide(supervise, calm, **changed)["status"] == status


def test_a_reference_that_ends_holds_the_arm_or_waits_for_resume(calm):
    ended = ago(calm, 0.3, "requested_at", "reference_came", "reference_at")
    found = decide(supervise, calm, **ended)
    assert (found["status"], found["paused"]) == (Status.HOLDING, 0.0)
    assert (found["entered"], found["starts_measured"]) == (1.0, 0.0)
    led = decide(supervise, calm, **ended, has_feedback=0.0)
    assert led["starts_measured"] == 1.0  # where a person led it
    found = decide(supervise, calm, **ended, resume_by_itself=0.0)
    assert found["paused"] == 1.0
    paused = {"paused": 1.0, "status": float(Status.PAUSED), "resume_by_itself": 0.0}
    assert decide(supervise, calm, **paused)["status"] == Status.PAUSED
    found = decide(supervise, calm, **paused, resume=1.0)
    assert (found["paused"], found["status"]) == (0.0, Status.TRACKING)


def test_a_stop_lasts_until_it_is_resumed(calm):
    stopped = {"cause": float(Cause.SATURATION), "status": float(Status.STOPPED)}
    found = decide(supervise, calm, **stopped)
    assert (found["status"], found["cause"]) == (Status.STOPPED, Cause.SATURATION)
    assert (found["forgets"], found["entered"]) == (0.0, 0.0)
    found = decide(supervise, calm, **stopped, resume=1.0)
    assert (found["status"], found["cause"]) == (Status.TRACKING, Cause.NONE)
    assert found["forgets"] == 1.0


def test_an_arm_that_held_still_stops_from_where_it_is_measured(calm):
    holding = {"status": float(Status.HOLDING), "q": calm["q"] + 0.01}
    stops = decide(supervise, calm, **holding, cause=float(Cause.SATURATION))
    assert (stops["entered"], stops["starts_measured"]) == (1.0, 1.0)
    goes_on = decide(supervise, calm, **holding)
    assert (goes_on["entered"], goes_on["starts_measured"]) == (1.0, 0.0)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_speeds_beyond_their_limits_stop_the_arm_and_one_glitch_does_not(calm, sign):
    rushing = (0.0, sign * 1.25 * FASTEST[1])
    found = decide(supervise, calm, qd=rushing, last_speed=rushing)
    reason = [found[name] for name in ("cause", "stop_joint", "stop_value", "stop_limit")]
    assert reason == [Cause.OVERSPEED, 1.0, abs(rushing[1]), FASTEST[1]]
    assert decide(supervise, calm, qd=rushing)["cause"] == Cause.NONE
    slower = (0.0, sign * 1.15 * FASTEST[1])
    assert decide(supervise, calm, qd=slower, last_speed=slower)["cause"] == Cause.NONE
    for share, cause in ((1.02, Cause.FAST_REFERENCE), (1.0, Cause.NONE)):
        came = np.array([calm["q"], [sign * share * FASTEST[0], 0.0]])
        found = decide(supervise, calm, came_reference=came)
        assert (found["cause"], found["stop_joint"]) == (cause, 0.0)


def test_a_tracking_error_names_the_joint_and_its_error(calm):
    q = calm["q"] - np.array([0.1, 0.3])
    found = decide(supervise, calm, q=q, allowed=(0.2, 0.2))
    assert (found["cause"], found["stop_joint"]) == (Cause.TRACKING_ERROR, 1.0)
    assert found["stop_value"] == pytest.approx(0.3, abs=ROUND_OFF)
    for share, cause in ((11.0, Cause.OVERLOADED), (9.0, Cause.TRACKING_ERROR)):
        found = decide(supervise, calm, q=q, allowed=(0.2, 0.2), at_limit=(0.0, share))
        assert found["cause"] == cause
    assert decide(supervise, calm, q=q, allowed=(0.2, 0.4))["cause"] == Cause.NONE


def test_a_joint_that_is_pushed_at_the_end_of_its_range_is_named_so(calm):
    pushed = {"watched": float(Cause.SATURATION), "watched_joint": 0.0}
    for q, cause in ((1.995, Cause.END_OF_RANGE), (-1.995, Cause.END_OF_RANGE)):
        found = decide(supervise, calm, **pushed, q=(q, -0.7))
        assert (found["cause"], found["stop_joint"]) == (cause, 0.0)
        assert found["stop_limit"] == pytest.approx(0.005, abs=ROUND_OFF)
        assert found["stop_value"] == pytest.approx(abs(0.3 - q), abs=ROUND_OFF)  # its error
    assert decide(supervise, calm, **pushed)["cause"] == Cause.SATURATION
    other = {**pushed, "watched_joint": 1.0}  # the elbow turns without end
    assert decide(supervise, calm, **other, q=(1.995, -0.7))["cause"] == Cause.SATURATION


@pytest.mark.parametrize(
    ("changed", "touched"),
    [
        ({}, 1.0),
        ({"answers": 0.0}, -1.0),  # no joint has moved: brakes may be closed
        ({"brake_joint": 1.0}, -1.0),
        ({"has_feedback": 0.0}, -1.0),  # a person leads the arm
        ({"has_feedback": 0.0, "was_in_task": 1.0}, 1.0),
        ({"reaction": NO_REACTION}, -1.0),
        ({"status": float(Status.SETTLING)}, -1.0),
        ({"status": float(Status.STOPPED), "answers": 0.0}, 1.0),
    ],
)
def test_a_contact_is_one_of_an_arm_that_moves_by_itself(calm, changed, touched):
    contact = {"answers": 1.0, "contact": 1.0, "external": (0.5, 2.0), "threshold": (4.0, 1.5)}
    found = decide(supervise, calm, **{**contact, **changed})
    assert found["touched"] == touched
    reported = touched > -0.5
    assert found["warning"] == (Cause.COLLISION if reported else Cause.NONE)
    if reported:
        assert [found[f"warning_{x}"] for x in ("joint", "value", "limit")] == [1.0, 2.0, 1.5]
    stops = decide(supervise, calm, **{**contact, "reaction": STOP, **changed})["cause"]
    assert stops == (Cause.COLLISION if reported else Cause.NONE)


def test_friction_that_is_counted_twice_is_reported_where_anything_reacts(calm):
    rubs = {"rubs_twice": 1.0, "rubs_joint": 1.0}
    found = decide(supervise, calm, **rubs)
    assert (found["warning"], found["warning_joint"]) == (Cause.FRICTION_TWICE, 1.0)
    assert decide(supervise, calm, **rubs, reaction=NO_REACTION)["warning"] == Cause.NONE


def test_an_oscillation_stops_an_arm_also_when_it_is_stopped_unless_it_is_resumed(calm):
    shaking = {"oscillates": float(Cause.OSCILLATION), "oscillating_joint": 1.0}
    assert decide(supervise, calm)["cause"] == Cause.NONE
    for changed, cause in (
        ({}, Cause.OSCILLATION),
        ({"cause": float(Cause.SATURATION)}, Cause.OSCILLATION),
        ({"cause": float(Cause.COLLISION)}, Cause.COLLISION),
        ({"resume": 1.0, "cause": float(Cause.SATURATION)}, Cause.NONE),
    ):
        found = decide(supervise, calm, **shaking, **changed)
        assert (found["cause"], found["shakes"]) == (cause, float(cause == Cause.OSCILLATION))
    lasting = {"cause": float(Cause.OSCILLATION), "status": float(Status.STOPPED)}
    assert decide(supervise, calm, **lasting)["shakes"] == 0.0


def test_the_joint_whose_reference_is_farthest_is_named_relative_to_what_is_near(calm):
    came = np.array([calm["q"] + [0.08, 0.3], [0.0, 0.0]])
    apart = {"came_reference": came, "reference": came}
    found = decide(supervise, calm, **apart, nearest=(0.1, 1.0), armed=0.0,
                   status=float(Status.HOLDING))  # fmt: skip
    assert (found["reason"], found["reason_joint"]) == (Flaw.AWAY, 0.0)
    assert found["reason_value"] == pytest.approx(0.08, abs=ROUND_OFF)


def test_an_arm_that_holds_waits_for_a_reference_elsewhere_and_one_that_tracks_goes_on(calm):
    came = np.array([calm["q"] + 0.08, [0.0, 0.0]])
    apart = {"came_reference": came, "reference": came, "armed": 0.0}
    for before, after in ((Status.HOLDING, Status.RESUMED), (Status.TRACKING, Status.TRACKING)):
        assert decide(supervise, calm, **apart, status=float(before))["status"] == after
    near = {**apart, "came_reference": np.array([calm["q"] + 0.01, [0.0, 0.0]])}
    near["reference"] = near["came_reference"]
    assert decide(supervise, calm, **near, status=float(Status.HOLDING))["armed"] == 1.0


def test_a_small_jump_of_the_reference_is_joined_unless_another_motion_begins(calm):
    came = np.array([calm["q"] + 0.05, [0.0, 0.0]])
    found = decide(supervise, calm, came_reference=came)
    assert (found["blends"], found["jumps"], found["begins"]) == (1.0, 0.0, 1.0)
    assert (found["status"], found["entered"]) == (Status.TRACKING, 0.0)
    stops = decide(supervise, calm, came_reference=came, halted=1.0)
    assert (stops["blends"], stops["begins"], stops["entered"]) == (0.0, 1.0, 1.0)
    followed = decide(supervise, calm, came_reference=came - 0.048)
    assert (followed["blends"], followed["begins"]) == (0.0, 0.0)
    far = decide(supervise, calm, came_reference=came + [[0.1], [0.0]])
    assert (far["blends"], far["jumps"]) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("share", "blends"),
    [
        (1.0, 0.0),
        (0.0, 1.0),  # a jump
        (2.5, 1.0),  # no joint is that fast
    ],
)
def test_a_reference_that_accelerates_as_a_joint_may_does_not_jump(calm, share, blends):
    slow, velocity = 10.0 * STEP, np.array([20.0, 20.0])  # s, rad/s: reached in 0.1 s at most
    speed = np.array([-0.9 * slow * velocity[0] / 0.1, 0.0])
    came = np.array([calm["q"] + slow / 2.0 * max(share, 1.0) * speed, share * speed])
    still = np.array([calm["q"], np.zeros(2)])
    found = decide(
        supervise, calm, came_reference=came, reference=still, dt=slow, velocity=velocity,
        **ago(calm, slow, "reference_at"),
    )  # fmt: skip
    assert (found["blends"], found["jumps"], found["begins"]) == (blends, 0.0, blends)


def test_an_arm_that_runs_away_from_its_motion_to_rest_begins_another_one(calm):
    holds = {"status": float(Status.HOLDING), "halted": 1.0, "follows": 0.0, "allowed": (0.2, 0.2)}
    assert decide(supervise, calm, **holds)["begins"] == 0.0
    away = {**holds, "qd": (1.1 * FASTEST[0], 0.0), "q": calm["q"] + 1.0}
    found = decide(supervise, calm, **away)
    assert (found["begins"], found["starts_measured"], found["entered"]) == (1.0, 1.0, 0.0)
    for changed in ({"qd": (0.9 * FASTEST[0], 0.0)}, {"fresh": 0.0}, {"open_loop": 1.0}):
        assert decide(supervise, calm, **{**away, **changed})["begins"] == 0.0


def test_errors_under_whole_feedback_are_kept_while_it_fades(calm):
    q, kept = calm["q"] - 0.02, np.array([0.5, 0.6])
    for changed, expected in (({}, 0.02), ({"trust": 0.5}, kept), ({"regained": 1.0}, kept)):
        found = decide(supervise, calm, q=q, lasting_error=kept, **changed)
        np.testing.assert_allclose(found["lasting_error"], expected, rtol=0.0, atol=ROUND_OFF)


def test_the_mode_decides_on_law_and_feedback(calm):
    def law(**changed):
        found = decide(supervise, calm, **changed)
        return LAWS[int(found["law"])], found["has_feedback"], found["open_loop"]

    assert law() == ("feedforward", 1.0, 0.0)
    assert law(inertia_weighted=1.0)[0] == "feedforward_inertia_weighted"
    assert law(missed=1.0) == ("feedforward", 1.0, 1.0)
    assert law(missed=1.0, late_by=0.01)[2] == 1.0  # states had stopped before this late one
    assert law(age=0.06, late_by=0.03)[2] == 0.0  # a late state still tells where the arm was
    assert law(ending=1.0)[2] == 1.0
    pd = float(list(ALL_MODES).index("pd"))
    assert law(mode=pd)[0] == "pd"
    ended = ago(calm, 0.3, "requested_at", "reference_came", "reference_at")
    floats = {**ended, "floats_on_timeout": 1.0}
    assert law(**floats)[0] == "gravity_compensation"
    assert law(**floats, halted=1.0)[0] == "feedforward"
    oscillates = {"cause": float(Cause.OSCILLATION), "status": float(Status.STOPPED)}
    assert law(**oscillates)[0] == "feedforward_inertia_weighted"
    assert law(**oscillates, drive_feedback=1.0)[0] == "feedforward"


def test_an_end_effector_that_takes_over_begins_where_it_is(calm):
    found = decide(supervise, calm, mode=TASK)
    assert (found["enters_task"], found["was_in_task"]) == (1.0, 1.0)
    assert found["requested_at"] == NEVER and found["forgets"] == 0.0
    assert decide(supervise, calm, mode=TASK, was_in_task=1.0)["enters_task"] == 0.0


# -- watches ----------------------------------------------------------------------------------


def test_a_calm_arm_shows_nothing(calm):
    found = decide(watch, calm)
    assert (found["watched"], found["brake_closed"], found["brake_joint"]) == (0.0, 0.0, -1.0)


def test_an_effort_that_is_at_its_limit_for_a_tenth_of_the_last_second_is_reported(calm):
    known, found = dict(calm), []
    for saturated in [1.0] * 104 + [0.0, 1.0, 1.0] + [0.0] * 20:  # -ln(0.9) s is 105 cycles
        known |= decide(watch, known, saturation=(0.0, saturated), commands=1.0, dt=STEP)
        found.append(known["limited"])
    assert found.index(Cause.LIMITED) == 106 and found[-1] == 0.0
    assert known["limited_joint"] == 1.0
    assert decide(watch, known, saturation=(1.0, 1.0), commands=0.0)["at_limit"][0] == 0.0


def test_saturated_joints_that_leave_their_motion_are_found(calm):
    moved, fleeing = (0.0, NEAREST - 1e-4), (0.0, 1.0)  # rad, and rad/s against 0 of the reference
    full = {"moved": moved, "qd": fleeing, "saturation": (0.0, 1.0), "dt": STEP}
    found = decide(watch, calm, **full)
    deviation = np.exp(-STEP / 0.3) * moved[1] + STEP
    assert found["moved"][1] == pytest.approx(deviation, rel=1e-9)
    reason = [found[name] for name in ("watched", "watched_joint", "watched_value")]
    assert reason == [Cause.SATURATION, 1.0, 1.0]
    for changed in ({"fresh": 0.0}, {"seen": 0.0}, {"saturation": (0.0, 0.0)}):
        assert decide(watch, calm, **{**full, **changed})["watched"] == 0.0
    # In task space the velocity is that of the end effector's motion, in the joints
    in_task = {**full, "law": TASK, "task_velocity": fleeing, "has_feedback": 0.0}
    assert decide(watch, calm, **in_task)["watched"] == 0.0
    found = decide(watch, calm, **{**in_task, "task_velocity": (0.0, 0.0)})
    assert found["watched"] == Cause.SATURATION


@pytest.mark.parametrize(
    ("displacement", "speed", "pushed", "stands"),
    [
        # Slow references: a whole distance, and twice that where the joint is hardly pushed
        (1.05, 0.0, True, True),
        (0.95, 0.0, True, False),
        (2.05, 0.0, False, True),
        (1.95, 0.0, False, False),
        # Fast ones: a fifth of it; 5 % of the speed limit over the speed between
        (0.22, 3.0, True, True),
        (0.22, -3.0, True, True),
        (0.18, -3.0, True, False),
        (0.52, -0.3, True, True),
        (0.48, -0.3, True, False),
    ],
)
def test_a_joint_that_stands_while_its_reference_moves_on_is_found(
    calm, displacement, speed, pushed, stands
):
    q, apart = calm["q"], displacement * NEAREST
    standing = {
        "free": (1.0, 1.0), "answers": 1.0, "stood_at": q, "stood_desired": q,
        "compared": np.array([q + [apart, 0.0], [0.0, 0.0]]),
        "desired": np.array([q, [speed, 0.0], [0.0, 0.0]]),
        "total": calm["expected"] + (0.1 * 40.0 if pushed else 0.01),
    }  # fmt: skip
    found = decide(watch, calm, **standing)
    assert found["watched"] == (Cause.STANDING if stands else Cause.NONE)
    if stands:
        assert found["watched_joint"] == 0.0
        assert found["watched_value"] == pytest.approx(apart, abs=ROUND_OFF)
    for changed in (
        {"fresh": 0.0},
        {"entered": 1.0},
        {"trust": 0.5},
        {"q": q + 2e-4},
        {"q": q - 2e-4},
    ):
        assert decide(watch, calm, **{**standing, **changed})["watched"] == 0.0


@pytest.mark.parametrize(("displacement", "stands"), [(0.055, True), (0.045, False)])
def test_a_law_without_inertia_may_begin_late_by_half_of_what_is_near(calm, displacement, stands):
    assert "pd" in (LAWS[k] for k in WITHOUT_INERTIA)
    q, law = calm["q"], float(LAWS.index("pd"))
    found = decide(
        watch, calm, law=law, free=(1.0, 1.0), answers=1.0, stood_at=q, stood_desired=q,
        compared=np.array([q + [displacement, 0.0], [0.0, 0.0]]),
        desired=np.array([q, [FASTEST[0], 0.0], [0.0, 0.0]]), total=calm["expected"] + 4.0,
    )  # fmt: skip
    assert found["watched"] == (Cause.STANDING if stands else Cause.NONE)


def test_a_joint_that_was_pushed_and_never_moved_has_a_closed_brake(calm):
    tau = calm["brake_tau"]
    weak, strong = tau + [6.0, 0.0], tau + [25.0, 0.0]  # of 40 N m: over a tenth, over a half
    for total, answers, pushed_for, closed in (
        (weak, 0.0, 0.1995, 1.0),
        (weak, 0.0, 0.198, 0.0),
        (weak, 1.0, 1.0, 0.0),
        (strong, 1.0, 0.0495, 1.0),
        (strong, 1.0, 0.048, 0.0),
    ):
        free = (0.0, answers)
        push = {"total": total, "answers": answers, "free": free, "pushed_for": (pushed_for, 0.0)}
        found = decide(watch, calm, **push, dt=STEP)
        assert found["brake_closed"] == closed
        assert found["brake_joint"] == (0.0 if closed else -1.0)
    assert decide(watch, calm, **push, q=calm["q"] + 2e-4)["free"].tolist() == [1.0, 1.0]


def test_pushes_count_from_when_the_arm_began_to_follow(calm):
    total, since = calm["total"] + 1.0, {"pushed_for": (0.1, 0.1), "free": (1.0, 0.0)}
    begins = decide(watch, calm, entered=1.0, total=total, q=calm["q"] + 1.0, **since)
    np.testing.assert_array_equal(begins["brake_tau"], total)
    np.testing.assert_array_equal(begins["brake_q"], calm["q"] + 1.0)
    np.testing.assert_array_equal(begins["free"], 0.0)
    goes_on = decide(watch, calm, total=total, **since)
    np.testing.assert_array_equal(goes_on["brake_tau"], calm["brake_tau"])
    np.testing.assert_array_equal(goes_on["free"], since["free"])
    pushed = {"total": calm["brake_tau"] + 30.0, "answers": 1.0}
    tracks = decide(watch, calm, **pushed, **since)
    np.testing.assert_allclose(tracks["pushed_for"], [0.0, 0.1 + calm["dt"]], atol=ROUND_OFF)
    holds = decide(watch, calm, status=float(Status.HOLDING), **pushed, **since)
    np.testing.assert_array_equal(holds["pushed_for"], 0.0)


@pytest.mark.parametrize(
    ("status", "free", "kept"),
    [
        (Status.TRACKING, 0.0, 1.0),
        (Status.TRACKING, 1.0, -1.0),  # it came free
        (Status.SETTLING, 0.0, 1.0),
        (Status.HOLDING, 0.0, -1.0),
    ],
)
def test_the_joint_with_the_closed_brake_is_known_until_it_moves_or_the_arm_rests(
    calm, status, free, kept
):
    found = decide(watch, calm, status=float(status), brake_joint=1.0, free=(0.0, free))
    assert found["brake_joint"] == kept
