"""Checks of a load in a pose: efforts at rest, as functions of numbers or symbols.

`step` is the step of the robot, whose equations and layouts they use.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.compiler.graph.piecewise import maximum
from robot_dynamics.control.fields import Facts
from robot_dynamics.control.intake import parts_of_load
from robot_dynamics.control.logic import both, chosen, less
from robot_dynamics.control.refusals import Refusal
from robot_dynamics.control.rest import holding_effort
from robot_dynamics.control.step import Step
from robot_dynamics.foundation.arrays import Array

SLIGHT = 1e-9
"""Joint effort of a wrench that counts as none, N m or N."""


def held(step: Step, q: Array, settings: Array, load: Array) -> tuple[Array, Array]:
    """Return the efforts at rest under a load, and their limits, shape (n,) each, N m or N.

    Args:
        step: The step of the robot.
        q: Joint positions, shape (n,), rad or m.
        settings: Settings of the step.
        load: Payload, gravity and wrench.
    """
    known = {name: step.settings.of(settings, name) for name in step.settings}
    standing = np.concatenate([parts_of_load(load)["gravity"], np.zeros(12)])
    facts = Facts(known, {"load": load, "base": standing, "direction": 0.0 * q})
    return step._arm(facts).gravity(q), known["effort"]


def last_effort(step: Step, state: Array, settings: Array, load: Array) -> Array:
    """Return the efforts that hold an arm from a state on: see `rest.holding_effort`.

    Args:
        step: The step of the robot.
        state: State of the step.
        settings: Settings of the step.
        load: Payload, gravity and wrench.
    """
    q, mean, rests = (step.state.of(state, name) for name in ("q", "mean_effort", "at_rest"))
    gravity, limit = held(step, q, settings, load)
    return holding_effort(gravity, mean[0], limit, rests)


def check_load(
    step: Step, q: Array, settings: Array, before: Array, after: Array
) -> dict[str, Any]:
    """Refuse a load that takes more effort than a joint has, and more than the one before."""
    present, limit = held(step, q, settings, before)
    added, _ = held(step, q, settings, after)
    refusal, worst = Refusal(), 1.0
    for i in range(len(q)):
        share = abs(added[i]) / limit[i]
        takes = both(less(abs(present[i]), abs(added[i])), less(worst, share))
        worst = chosen(takes, share, worst)
        refusal.replace(takes, "heavy_load", abs(added[i]), limit[i], float(i))
    return refusal.found


def check_wrench(
    step: Step, q: Array, settings: Array, load: Array, effort: Array
) -> dict[str, Any]:
    """Refuse a wrench whose joint efforts, shape (n,), N m or N, are too much for a joint."""
    return heavy_wrench(*held(step, q, settings, load), effort)


def heavy_wrench(present: Array, limit: Array, effort: Array) -> dict[str, Any]:
    """Return the refusal of the joint that can exert the least share of an effort, if below one.

    Args:
        present: Efforts that hold the arm, shape (n,), N m or N.
        limit: Their limits, shape (n,).
        effort: Efforts of a wrench, shape (n,).
    """
    refusal, least = Refusal(), 1.0
    for i in range(len(effort)):
        against = chosen(less(effort[i], 0.0), -present[i], present[i])
        share = maximum(limit[i] - against, 0.0) / maximum(abs(effort[i]), SLIGHT)
        takes = both(less(SLIGHT, abs(effort[i])), less(share, least))
        least = chosen(takes, share, least)
        total = abs(present[i] + effort[i])
        refusal.replace(takes, "heavy_wrench", total, 100.0 * share, float(i))
    return refusal.found
