"""The step as a function: properties that hold for any state, input and settings."""

from collections import Counter

import numpy as np
import pytest

from hostile_cycles import LEAD, HostileCycles
from robot_dynamics.control import Controller, Settings, Status
from robot_dynamics.control.fields import SCALAR, VECTOR, Field, Layout
from robot_dynamics.control.limits import effort_limits
from robot_dynamics.control.logic import NEVER
from robot_dynamics.control.status import TABLE, Cause
from robot_dynamics.control.step_kernels import RunningStep, parts_of

SEQUENCES, CYCLES = 4, 2000
ROUND_OFF = 1e-9
RATE = 20.0  # largest change of effort per second, relative to the effort limit
PERIOD = 1e-3


@pytest.fixture(scope="module")
def first(model):
    """The native step of the arm, before its first cycle."""
    limit = effort_limits(model.dynamics.robot)
    return Controller(model, Settings(effort_rate=RATE * limit))._run


def begun(first):
    run = RunningStep(first.kernels)
    run.go_on_from(first)
    return run


def views(layout, vector):
    """Fields of a vector as flat views."""
    return {name: vector[layout.slices[name]] for name in layout}


def hostile(first, seed):
    """Yield the fields before and after every cycle of a hostile sequence."""
    run, step = begun(first), first.kernels.step
    arrived, settings = views(step.arrived, run.arrived), views(step.settings, run.settings)
    cycles = HostileCycles(np.random.default_rng(seed), arrived, settings)
    for _ in range(CYCLES):
        cycles.next()
        before = views(step.state, run.state.copy())
        yield before, views(step.state, run.advance()), settings


def test_the_same_inputs_give_the_same_state_and_stay_as_they_are(first):
    run, step = begun(first), first.kernels.step
    fields = views(step.arrived, run.arrived), views(step.settings, run.settings)
    cycles = HostileCycles(np.random.default_rng(0), *fields)
    for k in range(400):
        cycles.next()
        given = run.state.copy(), run.arrived.copy(), run.settings.copy()
        after = run.advance().copy()
        again = begun(first)
        for vector, values in zip((again.state, again.arrived, again.settings), given, strict=True):
            vector[:] = values
        np.testing.assert_array_equal(again.advance(), after)
        kept = again.states[1 - again.turn], again.arrived, again.settings
        for vector, values in zip(kept, given, strict=True):
            np.testing.assert_array_equal(vector, values)
        if k % 40 == 0:
            with np.errstate(all="ignore"):
                plain = [step.plain(*given) for _ in range(2)]
            np.testing.assert_array_equal(*plain)


def test_one_stage_writes_every_field_of_the_state(first):
    step = first.kernels.step
    written = Counter(name for stage in step.stages for name in stage.fields)
    assert written == Counter(list(step.state))
    for stage in step.law_stages:
        assert list(stage.fields) == next(
            list(one.fields) for one in step.stages if one.name == "law"
        )
    ends = [0]
    for part in parts_of(step, step.stages):
        assert part.block.start == ends[-1], part.stage.name
        ends.append(part.block.stop)
    assert ends[-1] == step.state.size
    # One would hide the other in every stage
    names = [*step.state, *step.arrived, *step.settings]
    assert len({*names}) == len(names)


def test_a_layout_packs_what_it_unpacks():
    fields = {"a": Field(SCALAR, "", 2.0), "b": Field(VECTOR, ""), "c": Field((2, "n"), "", -1.0)}
    layout = Layout(fields, 3)
    assert layout.size == 1 + 3 + 6
    np.testing.assert_array_equal(layout.initial(), [2.0, 0.0, 0.0, 0.0, *[-1.0] * 6])
    vector = np.arange(10.0)
    read = {name: layout.of(vector, name) for name in layout}
    assert read["a"] == 0.0 and read["b"].shape == (3,) and read["c"].shape == (2, 3)
    np.testing.assert_array_equal(layout.packed(read), vector)
    for name, view in layout.views(vector).items():
        view[...] = read[name]
    np.testing.assert_array_equal(vector, np.arange(10.0))


@pytest.mark.parametrize("seed", range(SEQUENCES))
def test_efforts_are_finite_and_within_their_limits_whatever_arrives(first, seed):
    began = 0
    for before, after, settings in hostile(first, seed):
        tau = after["tau"]
        assert np.isfinite(tau).all()
        assert (abs(tau) <= settings["effort"]).all()
        if before["fade_began"][0] < NEVER / 2.0:
            continue  # the first command holds the arm where it is
        began += 1
        step = settings["effort_rate"] * min(after["dt"][0], settings["longest_cycle"][0])
        assert (abs(tau - before["tau"]) <= step + ROUND_OFF).all()
    assert began > 0.9 * CYCLES


def test_commanded_positions_lead_the_desired_ones_inside_the_joint_ranges(first):
    for _, after, settings in hostile(first, 0):
        q, qd, _ = after["desired"].reshape(3, -1)
        led = q + LEAD * qd if after["has_feedback"][0] else after["q"]
        if after["dt"][0] > 0.0:  # the first cycle comes before the first reference
            expected = np.clip(led, settings["lower"], settings["upper"])
            np.testing.assert_allclose(after["commanded_position"], expected, atol=1e-12)


@pytest.mark.parametrize("seed", range(SEQUENCES))
def test_status_and_cause_are_known_and_nothing_is_commanded_unseen(first, seed):
    for _, after, _ in hostile(first, seed):
        status = Status(int(after["status"][0]))
        assert status in [row.status for row in TABLE]
        assert Cause(int(after["cause"][0])) is Cause.NONE or status is not Status.TRACKING
        assert after["commands"][0] == (status not in (Status.WAITING, Status.SILENT))


def followed(first, reference):
    """Efforts while the arm follows what `reference` fills in."""
    run, step = begun(first), first.kernels.step
    arrived = views(step.arrived, run.arrived)
    efforts, statuses = [], []
    for k in range(1500):
        now = 10.0 + PERIOD * k
        w = 2.0
        arrived["now"][0] = arrived["state_came"][0] = arrived["state_stamp"][0] = now
        arrived["state_new"][0], arrived["reference_came"][0] = 1.0, now
        arrived["state_q"][:] = 0.3 * np.sin(w * (now - 10.0))
        arrived["state_qd"][:] = 0.3 * w * np.cos(w * (now - 10.0))
        reference(arrived, now - 10.0, w)
        after = views(step.state, run.advance())
        efforts.append(after["tau"].copy())
        statuses.append(Status(int(after["status"][0])))
    assert statuses[-1] is Status.TRACKING
    return np.array(efforts)


def states(t, w):
    """Positions and velocities of two joints."""
    return np.ravel([[0.3 * np.sin(w * t)] * 2, [0.3 * w * np.cos(w * t)] * 2])


def test_a_reference_between_two_states_is_followed_like_the_state_between_them(first):
    def between(arrived, t, w):
        before, after, share = states(t - 0.002, w), states(t + 0.006, w), 0.25
        arrived["came_before"][:], arrived["came_after"][:] = before, after
        arrived["came_share"][0] = share
        arrived["came_reference"][:] = before + share * (after - before)

    def given(arrived, t, w):
        between(arrived, t, w)
        for name in ("came_before", "came_after"):
            arrived[name][:] = arrived["came_reference"]
        arrived["came_share"][0] = 0.0

    def elsewhere(arrived, t, w):
        between(arrived, t, w)
        arrived["came_share"][0] = 0.5

    efforts = followed(first, between)
    np.testing.assert_allclose(efforts, followed(first, given), atol=ROUND_OFF)
    assert abs(efforts - followed(first, elsewhere)).max() > 1e-3
