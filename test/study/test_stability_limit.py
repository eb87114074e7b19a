"""A study finds the gain at which a loop with delay swings up where theory puts it."""

import numpy as np
import pytest
from scipy.optimize import brentq

from arms import slider
from choices import first
from robot_dynamics.study import Distribution, StudyPlan, study
from robot_dynamics.study.runs import model_of

MASS = 2.0


def critical_damping_gain(ratio, delay):
    """kd at which M s^2 + (kd s + kp) e^(-s T) = 0 has a root on the imaginary axis; kp = ratio kd.

    At s = i w the phases ask for atan(w / ratio) = w T, and then the sizes for
    M w^2 = kd sqrt(w^2 + ratio^2).
    """
    w = brentq(lambda w: np.arctan(w / ratio) - w * delay, 1e-3, np.pi / 2 / delay)
    return MASS * w**2 / np.hypot(w, ratio)


@pytest.mark.parametrize("delay", first([0.01], [0.005, 0.01]))
def test_a_study_finds_the_stability_limit_of_a_joint_with_delay(delay):
    gains_up = Distribution("uniform", (0.0, 9.0))
    plan = StudyPlan(
        slider(effort=1000.0),
        runs=900,
        vary={"gain_error": gains_up, "delay": Distribution("values", (delay,))},
        sampling="latin",
        rate=4000.0,
        duration=10.0,
        rest=0.8,
    )
    table = study(plan)
    gains = model_of(plan).gains
    ratio, kd = float(gains.kp[0] / gains.kd[0]), float(gains.kd[0])
    grown = 1.0 + table["gain_error"]
    stable = table["ok[stability]"]
    found = 0.5 * (grown[stable].max() + grown[~stable].min())
    assert grown[stable].max() <= 1.005 * grown[~stable].min()  # one limit, and no mixture
    # An effort that stands for a period is late by half of one on average
    late = delay + 0.5 / plan.rate
    # Beyond ratio T = 1 no damping is enough
    most = 0.99 / (ratio * late)
    theory = brentq(lambda x: kd * x - critical_damping_gain(ratio * x, late), 0.5, most)
    assert found == pytest.approx(theory, rel=0.02)
