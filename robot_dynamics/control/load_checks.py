"""Checks of a load in a pose: efforts at rest, as functions of numbers or symbols.

`step` is the step of the robot, whose equations and layouts they use.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.compiler.graph.piecewise import clip
from robot_dynamics.control.fields import Facts
from robot_dynamics.control.intake import parts_of_load
from robot_dynamics.control.logic import both, chosen, less
from robot_dynamics.control.refusals import Refusal
from robot_dynamics.control.step import Step
from robot_dynamics.foundation.arrays import Array


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


def holding_effort(step: Step, q: Array, settings: Array, load: Array) -> Array:
    """Return the efforts that hold an arm, within their limits, shape (n,); arguments as `held`."""
    tau, limit = held(step, q, settings, load)
    return np.asarray(clip(tau, -limit, limit))


def check_load(
    step: Step, q: Array, settings: Array, before: Array, after: Array
) -> dict[str, Any]:
    """Refuse a load that takes more effort than a joint has, and more than the one before."""
    present, limit = held(step, q, settings, before)
    added, _ = held(step, q, settings, after)
    return _worst("heavy_load", added, limit, less(abs(present), abs(added)))


def check_wrench(
    step: Step, q: Array, settings: Array, load: Array, effort: Array
) -> dict[str, Any]:
    """Refuse a wrench whose joint efforts, shape (n,), N m or N, are too much for a joint."""
    present, limit = held(step, q, settings, load)
    return _worst("heavy_wrench", present + effort, limit, np.ones(len(q)))


def _worst(name: str, tau: Array, effort: Array, counts: Array) -> dict[str, Any]:
    """Return the refusal of the joint farthest beyond its limit, among those that count."""
    refusal, worst = Refusal(), 1.0
    for i in range(len(tau)):
        share = abs(tau[i]) / effort[i]
        takes = both(counts[i], less(worst, share))
        worst = chosen(takes, share, worst)
        refusal.replace(takes, name, abs(tau[i]), effort[i], float(i))
    return refusal.found
