"""The compiled part of a controller beside the equations that it is made from."""

import numpy as np
import pytest

from robot_dynamics.control import MODES, Gains, Limited, Model, Reference, Settings, SoftLimits
from robot_dynamics.control.joint_feedback import JointFeedback, functions_of
from robot_dynamics.control.laws import Measured

ROUND_OFF = 1e-12  # of efforts up to 1e3: the compiler may contract a product and a sum
STEPS = 300


def random_loop(model, feedback, law, settings, seed):
    """Commands, shape (STEPS, 2, n), and cuts of a loop with random states, step for step."""
    rng = np.random.default_rng(seed)
    n = model.dynamics.robot.dof
    feedback.use(settings)
    integral, last, found = np.zeros(n), Limited(np.zeros(n), np.zeros(n)), []
    for _ in range(STEPS):
        reference = Reference(*rng.normal(scale=2.0, size=(3, n)))
        measured = Measured(*rng.normal(scale=2.0, size=(2, n)))
        dt = rng.choice([0.0, 1e-3, 1e-2])
        lost = feedback.lost(reference.q, measured.q)
        result = feedback.wanted(law, model, reference, measured, integral, last, dt)
        gap, limit = rng.normal(size=n), rng.choice([5.0, 50.0, np.inf], size=n)
        last = feedback.limited(result.wanted, gap, last, dt, limit)
        integral = result.integral
        found.append([*result, *last, np.full(n, float(lost))])
    return np.array(found, dtype=float)


def with_soft_limits(robot):
    return Settings(
        effort_rate=np.array([200.0, np.inf]),
        tracking_limit=np.array([3.0, np.inf]),
        soft_limits=SoftLimits.of(robot, np.ones(robot.dof)),
    )


@pytest.mark.parametrize("continuous", [None, np.array([False, True])])
@pytest.mark.parametrize("mode", MODES)
def test_compiled_joint_feedback_does_what_its_equations_say_step_for_step(arm, mode, continuous):
    gains = Gains([30.0, 10.0], [3.0, 1.0], ki=[20.0, 5.0], i_clamp=[2.0, np.inf])
    model, n = Model(arm, gains), arm.robot.dof
    for settings in (Settings(), with_soft_limits(arm.robot)):
        compiled, plain = JointFeedback(n, continuous), JointFeedback(n, continuous)
        plain._excess, plain._feedback, plain._limits, plain._cycle = functions_of(continuous)
        a, b = (random_loop(model, one, MODES[mode], settings, 7) for one in (compiled, plain))
        np.testing.assert_allclose(a, b, rtol=ROUND_OFF, atol=1e3 * ROUND_OFF)


def test_a_law_without_feedback_by_joint_has_none_compiled_either(arm):
    model = Model(arm, Gains([1e3, 1e3], [1e3, 1e3]))
    feedback, zero = JointFeedback(2), np.zeros(2)
    feedback.use(Settings())
    far = Reference(zero + 1.0, zero, zero)
    law = MODES["gravity_compensation"]
    last = Limited(zero, zero)
    found = feedback.wanted(law, model, far, Measured(zero, zero), zero, last, 1e-3)
    np.testing.assert_array_equal(found.wanted, arm.gravity(zero))
