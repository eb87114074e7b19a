"""The usual cycle in one kernel, beside the ordinary way: the same commands, whatever happens."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.control import Controller, Gains, Model, Reference, Settings, SoftLimits, Status
from robot_dynamics.control.laws import Measured
from robot_dynamics.control.setpoint import ReferenceHistory

CONTRACTED = 1e-12  # of efforts up to 1e2: the compiler may join products and sums in other places
PERIOD_S = 1e-3
OTHER_MODES = ("pd_gravity", "computed_torque", "impedance")


class Loop:
    """A controller with its history, fed as a node feeds it."""

    def __init__(self, model, settings, usual):
        self.controller = Controller(model, settings)
        self.history = ReferenceHistory(0.02)
        self.usual, self.usual_cycles = usual, Counter()
        self.effort, self.at = None, 0.0

    def lead(self, stamp, q, qd, tau, now):
        self.history.add(stamp, np.array([q, qd]))
        self.effort, self.at = tau, now

    def cycle(self, stamp, q, qd, now):
        controller = self.controller
        if q is not None:
            controller.set_state(Measured(q, qd), now)
        if self.effort is None:
            return controller.update(now)
        motion = self.history.around(stamp) if self.usual else None
        command = motion and controller.steady(motion, self.effort, self.at, now)
        if command is not None:
            self.usual_cycles[controller.settings.mode, controller.model.coupled] += 1
            controller.note_steady()
            return command
        controller.set_reference(Reference(*self.history.at(stamp), self.effort), self.at)
        return controller.update(now)


def settings_of(robot):
    return Settings(
        effort_rate=np.array([500.0, np.inf]),
        tracking_limit=np.array([0.3, np.inf]),
        soft_limits=SoftLimits.of(robot, np.ones(robot.dof)),
        settle=0.02,
        join=0.05,
        fade=0.02,
        stop=0.05,
    )


def happen(rng, k, loops, model):
    """Now and then something that is not usual; the same to all."""
    controllers = [loop.controller for loop in loops]
    if k % 400 == 150:
        mode = (*OTHER_MODES, "gravity_compensation")[k // 400 % 4]
        for one in controllers:
            one.change(settings=replace(one.settings, mode=mode))
    elif k % 400 == 200:
        for one in controllers:
            one.change(settings=replace(one.settings, mode="feedforward"))
    elif k % 400 == 250:
        other = replace(
            model, gains=Gains(*rng.uniform(1.0, 30.0, (2, 2)), ki=rng.uniform(0, 9, 2))
        )
        for one in controllers:
            one.change(other)
    elif k % 400 == 300:
        for one in controllers:
            # As a load that passes over does
            one.model = replace(model, gains=one.model.gains, coupled=bool(k % 800 > 400))
    elif k % 400 in (350, 360):
        for one in controllers:
            one.refuse("slow states" if k % 400 == 350 else "")
    for one in controllers:
        if one.status is Status.STOPPED and k % 50 == 0:
            one.resume()


@pytest.mark.parametrize("seed", range(2))
def test_the_usual_cycle_commands_what_the_ordinary_way_commands(arm, seed):
    rng = np.random.default_rng(seed)
    gains = Gains([30.0, 10.0], [3.0, 1.0], ki=[20.0, 0.0] if seed % 2 else [0.0, 0.0])
    model, settings = Model(arm, gains), settings_of(arm.robot)
    loops = [Loop(model, settings, usual) for usual in (True, False)]
    now, limits, statuses = 0.0, arm.robot.limits, set()
    middle = np.clip(np.zeros(2), limits.lower, limits.upper)
    for k in range(2400):
        now += PERIOD_S * rng.choice([1.0, 1.0, 1.0, 0.4, 3.0])
        q_d, qd_d = middle + 0.3 * np.sin([now, 2.0 * now]), 0.3 * np.cos([now, 2.0 * now])
        tau = rng.normal(scale=5.0, size=2)
        if k % 617 == 400:
            tau[0] = np.nan
        if k % 900 == 500:
            now += 0.15  # states have stopped for longer than they may
        if not 700 < k % 900 < 780 or k % 7 == 0:
            stamp = now - 1e-4 * rng.integers(-3, 9)
            for loop in loops:
                loop.lead(stamp, q_d, qd_d, tau, now)
        far = 1.0 if k % 1000 == 600 else 0.02
        q, qd = q_d + far * rng.normal(size=2), qd_d + 0.1 * rng.normal(size=2)
        happen(rng, k, loops, model)
        ours, theirs = (loop.cycle(now, q, qd, now) for loop in loops)
        status = loops[0].controller.status
        assert status is loops[1].controller.status, k
        for a, b in zip(ours[:2], theirs[:2], strict=True):
            np.testing.assert_allclose(a, b, rtol=CONTRACTED, atol=1e2 * CONTRACTED, err_msg=str(k))
        statuses.add(status)
    usual = loops[0].usual_cycles
    assert usual.total() > 1200
    assert {mode for mode, _ in usual} == {"feedforward", *OTHER_MODES}
    assert usual["feedforward", True] > 100
    assert {Status.TRACKING, Status.SETTLING, Status.STOPPED} <= statuses
