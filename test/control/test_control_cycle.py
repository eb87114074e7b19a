"""The compiled control cycle beside the laws, the soft limits and the limits of efforts."""

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.control import (
    MODES,
    Controller,
    Gains,
    Limited,
    Measured,
    Model,
    Reference,
    Settings,
    SoftLimits,
    Status,
    limit_rate,
    position_error,
    saturate,
)
from robot_dynamics.control.control_cycle import (
    ControlCycle,
    CycleState,
    JointSettings,
    Scalars,
    input_shapes,
    plain_cycle,
)
from robot_dynamics.control.laws import integrate_error
from robot_dynamics.control.setpoint import ReferenceHistory, ReferenceSegment

ROUND_OFF = 1e-12  # of efforts up to 1e3: the compiler may contract a product and a sum
STEPS = 300
PERIOD_S = 1e-3


def settings_of(robot):
    return Settings(
        effort_rate=np.array([500.0, np.inf]),
        tracking_limit=np.array([0.3, np.inf]),
        soft_limits=SoftLimits.of(robot, np.ones(robot.dof)),
        settle=0.02,
        join=0.05,
        fade=0.02,
        stop=0.05,
        state_timeout=0.05,
    )


def cycle_by_the_laws(law, model, settings, limit, reference, measured, state, dt, fade, renew):
    """One cycle as `laws`, `safety` and `effort_limits` say it, uncompiled."""
    last, tau = CycleState(*state), law.effort(model, reference, measured)
    error, integral = position_error(reference.q, measured.q, model.continuous), last.integral
    before = Limited(last.tau, last.cut)
    if law.feedback and model.gains.has_integral:
        integral = integrate_error(integral, error, model.gains, dt, before)
        tau = tau + integral
    if settings.soft_limits is not None:
        tau = tau + settings.soft_limits.effort(*measured)
    gap = last.tau - tau if renew else last.gap
    if settings.limits_rate:
        dt = min(dt, settings.longest_cycle)
    near = limit_rate(tau + fade * gap, last.tau, settings.effort_rate, dt).tau
    command = saturate(near, limit)
    excess = np.max(np.abs(error) - settings.tracking_limit)
    return np.array([*command, integral, gap]), error, np.array([excess])


@pytest.mark.parametrize("turning", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_a_cycle_does_what_the_laws_say_step_for_step(arm, mode, turning):
    rng, n = np.random.default_rng(7), arm.robot.dof
    gains = Gains([30.0, 10.0], [3.0, 1.0], ki=[20.0, 5.0], i_clamp=[2.0, np.inf])
    model, law = Model(arm, gains), MODES[mode]
    if turning:
        object.__setattr__(model, "continuous", np.array([False, True]))
    for settings in (Settings(), settings_of(arm.robot)):
        limit = rng.choice([5.0, 50.0, np.inf], size=n)
        cycle, state = ControlCycle(n, model.continuous), np.zeros((len(CycleState._fields), n))
        cycle.use(settings, limit)
        for _ in range(STEPS):
            before, after, offset = rng.normal(scale=2.0, size=(3, 2, n))
            motion = ReferenceSegment(before, after, *rng.uniform(size=2), rng.normal(size=n))
            measured = Measured(*rng.normal(scale=2.0, size=(2, n)))
            now = rng.choice([0.0, 1e-3, 2e-2]), rng.uniform(), rng.uniform() < 0.1
            reference = Reference(*motion.desired() + offset, motion.tau)
            expected = cycle_by_the_laws(
                law, model, settings, limit, reference, measured, state, *now
            )
            found = cycle.closed_loop(law, model, motion, offset, measured, state, *now)
            for a, b in zip(found, expected, strict=True):
                np.testing.assert_allclose(a, b, rtol=ROUND_OFF, atol=1e3 * ROUND_OFF)
            state = found[0]


def test_an_open_loop_commands_the_efforts_alone_and_keeps_the_integral_part(arm):
    cycle, asked = ControlCycle(2), np.array([1.0, -2.0])
    cycle.use(replace(settings_of(arm.robot), effort_rate=np.inf), np.full(2, 50.0))
    state = np.array(CycleState(np.zeros(2), np.zeros(2), np.array([3.0, 4.0]), np.zeros(2)))
    outside = Measured(np.full(2, 9.0), np.ones(2))
    found = CycleState(*cycle.open_loop(asked, outside, state, PERIOD_S)[0])
    np.testing.assert_array_equal(found.tau, asked)
    np.testing.assert_array_equal(found.integral, [3.0, 4.0])


def test_a_law_without_feedback_by_joint_has_none_compiled_either(arm):
    model = Model(arm, Gains([1e3, 1e3], [1e3, 1e3]))
    cycle, zero = ControlCycle(2), np.zeros(2)
    cycle.use(Settings(), np.full(2, np.inf))
    far, state = ReferenceSegment.at(zero + 1.0, zero, zero), np.zeros((4, 2))
    law, measured = MODES["gravity_compensation"], Measured(zero, zero)
    found = cycle.closed_loop(law, model, far, np.zeros((2, 2)), measured, state, 1e-3)
    np.testing.assert_array_equal(found[0][0], arm.gravity(zero))


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["asked", "q", "qd", "before"])
def test_a_number_that_is_not_finite_changes_nothing(name, wrong):
    rng, n = np.random.default_rng(3), 2
    x = {key: rng.normal(size=shape) for key, shape in input_shapes(n).items()}
    x["scalars"] = np.array(Scalars(0.3, 0.0, 1e-3, np.inf, 0.5, 0.0, 1.0))
    x["settings"] = np.abs(x["settings"])
    x["settings"][JointSettings._fields.index("limit")] = np.inf
    cycle = ControlCycle(n)
    assert (cycle._kernel(*x.values())[0][0] != x["state"][0]).all()
    x[name].flat[1] = wrong
    np.testing.assert_array_equal(cycle._kernel(*x.values())[0], x["state"])


def happen(rng, k, controller, model):
    """Change something now and then."""
    if k % 400 == 150:
        mode = list(MODES)[1 + k // 400 % 5]
        controller.change(settings=replace(controller.settings, mode=mode))
    elif k % 400 == 200:
        controller.change(settings=replace(controller.settings, mode="feedforward"))
    elif k % 400 == 250:
        gains = Gains(*rng.uniform(1.0, 30.0, (2, 2)), ki=rng.uniform(0, 9, 2))
        controller.change(replace(model, gains=gains))
    elif k % 400 == 300:  # as a load that passes over does
        gains = controller.model.gains
        controller.model = replace(model, gains=gains, coupled=k % 800 > 400)
    elif k % 400 in (350, 360):
        controller.refuse("slow states" if k % 400 == 350 else "")
    if controller.status is Status.STOPPED and k % 50 == 0:
        controller.resume()


def commands(arm, seed, controller, model):
    """Commands of a controller fed as a node feeds it, shape (2400, 2, 2), and their statuses."""
    rng, history = np.random.default_rng(seed), ReferenceHistory(0.02)
    now, found, statuses = 0.0, [], []
    middle = np.clip(np.zeros(2), arm.robot.limits.lower, arm.robot.limits.upper)
    for k in range(2400):
        now += PERIOD_S * rng.choice([1.0, 1.0, 1.0, 0.4, 3.0])
        q_d, qd_d = middle + 0.3 * np.sin([now, 2.0 * now]), 0.3 * np.cos([now, 2.0 * now])
        tau = rng.normal(scale=5.0, size=2)
        if k % 617 == 400:
            tau[0] = np.nan
        if k % 900 == 500:
            now += 0.15  # longer than states and references may stay away
        if not 700 < k % 900 < 780 or k % 7 == 0:
            history.add(now - 1e-4 * rng.integers(-3, 9), np.array([q_d, qd_d]))
            effort, at = tau, now
        far = 1.0 if k % 1000 == 600 else 0.02
        q, qd = q_d + far * rng.normal(size=2), qd_d + 0.1 * rng.normal(size=2)
        happen(rng, k, controller, model)
        if not 820 < k % 1000 < 900:
            controller.set_state(Measured(q, qd), now)
        controller.set_reference(history.around(now, effort), at)
        command = controller.update(now)
        found.append(command[:2])
        statuses.append(command.status)
    return np.array(found), statuses


@pytest.mark.parametrize("seed", range(2))
def test_whatever_happens_a_controller_commands_what_its_uncompiled_equations_say(arm, seed):
    gains = Gains([30.0, 10.0], [3.0, 1.0], ki=[20.0, 0.0] if seed % 2 else [0.0, 0.0])
    model = Model(arm, gains)
    compiled, plain = (Controller(model, settings_of(arm.robot)) for _ in range(2))
    plain._equations._kernel = plain_cycle(model.continuous)
    (a, ours), (b, theirs) = (commands(arm, seed, one, model) for one in (compiled, plain))
    assert ours == theirs
    np.testing.assert_allclose(a, b, rtol=ROUND_OFF, atol=1e3 * ROUND_OFF)
    assert set(ours) >= {Status.TRACKING, Status.SETTLING, Status.STOPPED, Status.BLIND}


def test_a_reference_between_two_states_is_followed_as_one_that_is_given(arm):
    model, efforts = Model(arm, Gains([30.0, 10.0], [3.0, 1.0])), []
    for given in (False, True):
        controller, rng = Controller(model, settings_of(arm.robot)), np.random.default_rng(4)
        for k in range(300):
            states = rng.normal(scale=0.05, size=(2, 2, 2))
            motion = ReferenceSegment(*states, 0.3, 0.01, rng.normal(size=2))
            reference = Reference(*motion.desired(), motion.tau) if given else motion
            controller.set_state(Measured(*rng.normal(scale=0.05, size=(2, 2))), PERIOD_S * k)
            controller.set_reference(reference, PERIOD_S * k)
            efforts.append(controller.update(PERIOD_S * k).tau)
    assert controller.status is Status.TRACKING
    np.testing.assert_allclose(efforts[:300], efforts[300:], rtol=0.0, atol=1e3 * ROUND_OFF)
