"""Robots that add Coriolis and centrifugal efforts to the commanded ones themselves."""

from dataclasses import replace

import numpy as np
import pytest

from controller_bench import Q0, READY, Bench
from robot_dynamics.control import Collision, Settings, Status


class Adding(Bench):
    """An arm that adds its velocity terms to what is commanded."""

    def __init__(self, model, settings):
        super().__init__(model, settings, friction=model.friction, q=Q0)
        arm, step = self.model.dynamics, self.plant.step
        self.errors, self.external = [], []

        def adding(tau):
            q, qd = self.plant.q, self.plant.qd
            self.errors.append(np.abs(self.follower.sample(self.now).q - q).max())
            self.external.append(np.abs(self.controller.field("external")).max())
            step(tau + arm.bias(q, qd) - arm.gravity(q))

        self.plant.step = adding


def moved(model, **settings):
    bench = Adding(model, Settings(integral_time=0.0, **settings)).run(READY)
    bench.move(1.5, 0.9, seconds=0.9)
    bench.run(1.2)
    assert bench.statuses[-1] is Status.TRACKING
    return bench


@pytest.mark.parametrize("mode", ["feedforward", "computed_torque"])
def test_counted_once_the_arm_follows_as_any_other(model, mode):
    once = moved(replace(model, velocity_terms=False), mode=mode)
    twice = moved(model, mode=mode)
    # What steps of a millisecond leave; counted twice they are 1 N m and more at 3 rad/s
    assert max(once.errors) < 3e-3
    assert max(twice.errors) > 3.0 * max(once.errors)


def test_the_observer_expects_them(model):
    watching = {"collision": Collision(reaction="report")}
    once = moved(replace(model, velocity_terms=False), **watching)
    twice = moved(model, **watching)
    # Friction that reverses within a step of a millisecond leaves 0.16 N m
    assert max(once.external) < 0.2
    assert max(twice.external) > 0.5
