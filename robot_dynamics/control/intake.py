"""Intake: the load, which moves to a new one on a ramp, and presliding friction.

Joint efforts are linear in payload, gravity and wrench, so a linear ramp of a load is one of the
efforts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.control.fields import SCALAR, VECTOR, Field
from robot_dynamics.control.friction import ELEMENTS, JUMP, slipped
from robot_dynamics.control.logic import any_of, both, chosen, either, equal, less, negated
from robot_dynamics.control.status import Status
from robot_dynamics.control.transitions import on_ramp
from robot_dynamics.foundation.arrays import Array

LOADS = {"payload": 10, "gravity": 3, "wrench": 6}
"""Loads and their numbers of entries: see `Variant`."""

SIZE = sum(LOADS.values())

LOAD = {
    "load": Field((SIZE,), "payload (kg, kg m, kg m^2), gravity (m/s^2), wrench (N, N m) now"),
    "load_start": Field((SIZE,), "where the present ramp began"),
    "load_goal": Field((SIZE,), "where it ends"),
    "load_began": Field(SCALAR, "time at which it began, s"),
    "load_moves": Field(SCALAR, "1 while the load is on a ramp"),
}

MEMORY = {
    "elements": Field((ELEMENTS, "n"), "states of the elements of friction, -1 to 1"),
    "direction": Field(VECTOR, "presliding direction of friction, -1 to 1"),
    "traced_q": Field(VECTOR, "positions up to which the motion is known, rad or m"),
    "is_traced": Field(SCALAR, "1 if they are"),
}


def take_load(x: Any) -> dict[str, Any]:
    """Move the load on to the one that is wanted."""
    goal = np.concatenate([x.payload_goal, x.gravity_goal, x.wrench_goal])
    new = any_of(less(0.0, abs(goal - x.load_goal)))
    first = negated(x.begun)
    # In motion it goes on from the last cycle, or a stream of loads would stall it
    began = chosen(new, chosen(x.load_moves, x.now - x.dt, x.now), x.load_began)
    start = chosen(new, x.load, x.load_start)
    value, goes_on = on_ramp(start, goal, x.now - began, x.load_ramp)
    moves = both(either(new, x.load_moves), goes_on, negated(first))
    return {
        "load": chosen(moves, value, goal),
        "load_start": start,
        "load_goal": goal,
        "load_began": began,
        "load_moves": moves,
    }


def parts_of_load(load: Array) -> dict[str, Array]:
    """Return payload, gravity and wrench of the field `load`."""
    parts, at = {}, 0
    for name, size in LOADS.items():
        parts[name] = load[at : at + size]
        at += size
    return parts


def slipped_on(
    z: Array, moved: Array, slip: Array, elastic: Array, jump: float
) -> tuple[Array, Array]:
    """Return the elements of friction after a displacement, and their presliding direction.

    Args:
        z: States of the elements, shape (ELEMENTS, n).
        moved: The displacement, shape (n,), rad or m.
        slip: Slip distances, shape (ELEMENTS, n).
        elastic: Elastic parts, shape (ELEMENTS, n).
        jump: Largest change of a position that is motion, rad or m.
    """
    displacement = chosen(less(abs(moved), jump), moved, 0.0 * moved)
    after = np.asarray(slipped(z, displacement / slip, elastic))
    return after, sum(after) / ELEMENTS


def follow_presliding(x: Any) -> dict[str, Any]:
    """Advance presliding friction along the desired motion.

    A step against the desired velocity is no motion: late references jump to and fro.
    """
    q, qd = x.desired[0], x.desired[1]
    known = both(x.is_traced, negated(x.leaves))
    moved = chosen(known, q - x.traced_q, 0.0 * q)
    moved = chosen(less(moved * qd, 0.0), 0.0 * q, moved)
    in_task = both(x.was_in_task, equal(x.status, Status.TRACKING))
    moved = chosen(in_task, x.dt * x.task_velocity, moved)
    z = chosen(x.foresees_start, 0.0 * x.elements, x.elements)
    after, direction = slipped_on(z, moved, x.slip, x.elastic, JUMP)
    return {
        "elements": after,
        "direction": direction,
        "traced_q": q,
        "is_traced": negated(in_task),
    }
