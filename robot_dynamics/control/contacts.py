"""Contacts: external efforts of a new state, and the joint that has one beyond its threshold."""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.control.collision import (
    NOTE_S,
    RETREAT_S,
    ObserverSettings,
    ObserverState,
    judge_contact,
    observer_equations,
)
from robot_dynamics.control.counted_twice import TWICE, count_twice
from robot_dynamics.control.fields import SCALAR, VECTOR, Field
from robot_dynamics.control.friction import (
    ELEMENTS,
    MEASURED_JUMP,
    FrictionRows,
    friction_effort,
)
from robot_dynamics.control.guard import LONGEST_GAP_S
from robot_dynamics.control.intake import slipped_on
from robot_dynamics.control.logic import (
    HUGE,
    NEVER,
    any_of,
    both,
    chosen,
    either,
    less,
    negated,
)

NOTES = round(RETREAT_S / NOTE_S) + 1
"""Positions that are kept for a retreat."""

OBSERVED = {
    "observer": Field((len(ObserverState._fields), "n"), "the rows of `ObserverState`"),
    "external": Field(VECTOR, "external efforts, N m or N, in the direction in which they push"),
    "threshold": Field(VECTOR, "their thresholds, N m or N", np.inf),
    "observed_at": Field(SCALAR, "time of the last observed state, s", NEVER),
    "observed_rotor": Field(VECTOR, "rotor inertia of the last momentum, kg m^2 or kg"),
    "above_since": Field(VECTOR, "time since which the threshold is exceeded, s", HUGE),
    "contact": Field(SCALAR, "joint with a contact, or -1", -1.0),
    "path": Field((NOTES, "n"), "positions of the last moments, the latest first"),
    "noted_at": Field(SCALAR, "time of the latest of them, s", NEVER),
    **TWICE,
}

ADDED = {
    "robot_tau": Field(VECTOR, "Coriolis and centrifugal efforts that the robot adds, N m or N"),
}

SENSED = {
    "observed_elements": Field((ELEMENTS, "n"), "states of the elements of friction"),
    "observed_direction": Field(VECTOR, "presliding direction on the measured motion, -1 to 1"),
    "observed_q": Field(VECTOR, "positions of the last observed state, rad or m"),
}


def _afresh(x: Any) -> Any:
    """Return whether the observer starts afresh with this state."""
    passed = x.stamp - x.observed_at
    other = any_of(less(0.0, abs(x.rotor - x.observed_rotor)))
    goes_on = both(less(0.0, passed), negated(less(LONGEST_GAP_S, passed)), negated(other))
    return negated(both(goes_on, negated(x.unheard)))


def sense(x: Any) -> dict[str, Any]:
    """Advance presliding friction along the measured motion."""
    afresh = _afresh(x)
    moved = chosen(afresh, 0.0 * x.q, x.q - x.observed_q)
    z = chosen(afresh, 0.0 * x.observed_elements, x.observed_elements)
    z, direction = slipped_on(z, moved, x.slip, x.elastic, MEASURED_JUMP)
    return {"observed_elements": z, "observed_direction": direction, "observed_q": x.q}


def add(x: Any, arm: Any) -> dict[str, Any]:
    """Compute the efforts that the robot adds itself to those that are commanded."""
    return {"robot_tau": arm.bias(x.q, x.qd) - arm.gravity(x.q)}


def observe(x: Any, arm: Any) -> dict[str, Any]:
    """Observe the external efforts since the last state, and judge them.

    Args:
        x: Fields of the step.
        arm: The `Arm`.
    """
    at = x.stamp
    afresh = _afresh(x)
    dt = chosen(afresh, 1.0, at - x.observed_at)
    p, rate = arm.momentum(x.q, x.qd)
    direction = x.has_memory * x.observed_direction
    friction = FrictionRows(*x.friction)
    settings = ObserverSettings.of(friction, x.friction_width, x.rotor, x.contact_rows)
    width = settings.friction.width
    found = observer_equations(
        {
            "p": p,
            "rate": rate,
            "qd": x.qd,
            "direction": direction,
            "tau": x.total + x.adds_velocity_terms * x.robot_tau,
            "dt": dt,
            "gain": x.contact_gain,
            "afresh": afresh,
        },
        ObserverState(*chosen(afresh, 0.0 * x.observer, x.observer)),
        settings,
    )
    kept, share = found["state"], found["share"]
    since = chosen(afresh, HUGE + 0.0 * x.above_since, x.above_since)
    contact = chosen(afresh, -1.0, x.contact)
    since, contact = judge_contact(share, found["largest"], since, contact, x.contact_time, at)
    due = either(afresh, negated(less(at - x.noted_at, NOTE_S)))
    path = chosen(due, np.concatenate([x.q[None], x.path[:-1]]), x.path)
    path = chosen(afresh, 0.0 * x.path + x.q, path)
    rubs = friction_effort(settings.friction, x.qd, width, x.total, presliding=direction)
    threshold = settings.threshold + kept.band
    passed = chosen(afresh, 0.0, dt)
    twice = count_twice(x, kept.effort, threshold, arm.gravity(x.q), rubs, width, passed)
    return {
        **twice,
        "observer": np.array(kept),
        "external": kept.effort,
        "threshold": threshold,
        "observed_at": at,
        "observed_rotor": x.rotor,
        "above_since": since,
        "contact": contact,
        "path": path,
        "noted_at": chosen(due, at, x.noted_at),
    }
