"""Watches: closed brakes, motion at the effort limit, oscillation. They look at every command."""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.compiler.graph.piecewise import clip, maximum, minimum
from robot_dynamics.control.fields import SCALAR, VECTOR, Field
from robot_dynamics.control.laws import IN_TASK_SPACE, WITHOUT_INERTIA
from robot_dynamics.control.logic import (
    all_of,
    among,
    any_of,
    both,
    chosen,
    either,
    equal,
    first_largest,
    less,
    negated,
)
from robot_dynamics.control.status import Cause, Status
from robot_dynamics.foundation.arrays import Array

WINDOW_S = 0.3
"""Time constant with which the summed deviation of a saturated joint decays, s."""

COUNTED_S, LIMITED = 1.0, 10.0
"""Time over which efforts at their limits are counted, s, and the percentage that is reported."""

STILL = 1e-4
"""Largest displacement of a joint with a closed brake, rad or m."""

PUSHED, PUSHED_S = 0.5, 0.05
"""Change of effort, relative to the limit, that overcomes any friction, and the time in which it
moves a free joint, s."""

UNANSWERED, UNANSWERED_S = 0.1, 0.2
"""The same while no joint has moved: the drives may ignore the efforts. Then a smaller change
counts: drives that begin to use them would start the arm with a jerk."""

STOOD, SOONEST = 1.0, 0.2
"""Largest and smallest displacement of the reference of a joint that stands, relative to the
distance at which it is near. Dry friction may hold a slow joint, but none that is to move fast."""

HELD, UNPUSHED = 0.05, 2.0
"""Effort of friction that holds a joint, relative to the effort limit; and displacement of the
reference of a joint that stands and is pushed by less, relative to the distance at which it is
near."""

STOOD_S = 0.1
"""Least time for which a joint stands, s, with a law that lets it begin to move late."""

SLOW = 0.05
"""Desired speed from which that displacement is smaller, relative to the speed limit."""

WATCHES = {
    "looks": Field(SCALAR, "1 if the error is looked at for an oscillation"),
    "moved": Field(VECTOR, "summed deviation of saturated joints, rad or m"),
    "at_limit": Field(VECTOR, "recent percentage of time with the effort at its limit"),
    "limited": Field(SCALAR, "number of the cause for which that is reported, or 0"),
    "limited_joint": Field(SCALAR, "joint that has the largest percentage"),
    "limited_value": Field(SCALAR, "its percentage"),
    "limited_limit": Field(SCALAR, "its effort limit, N m or N"),
    "watched": Field(SCALAR, "number of the cause that a watch found in the last cycle"),
    "watched_joint": Field(SCALAR, "joint that it found"),
    "watched_value": Field(SCALAR, "value that it found"),
    "watched_limit": Field(SCALAR, "limit of that value"),
    "stood_at": Field(VECTOR, "positions up to which joints last moved, rad or m"),
    "stood_desired": Field(VECTOR, "desired positions then, rad or m"),
    "brake_q": Field(VECTOR, "positions at which the arm began to follow, rad or m"),
    "brake_tau": Field(VECTOR, "efforts that held it there, N m or N"),
    "free": Field(VECTOR, "1 for joints that have moved since"),
    "pushed_for": Field(VECTOR, "time for which a joint has been pushed in vain, s"),
    "answers": Field(SCALAR, "1 if any joint has moved since"),
    "brake_joint": Field(SCALAR, "joint that does not move although it is pushed, or -1", -1.0),
    "brake_cause": Field(SCALAR, "number of the `Cause` for which that is, else 0"),
    "brake_value": Field(SCALAR, "effort with which it is pushed, N m or N"),
    "brake_limit": Field(SCALAR, "its effort limit, N m or N"),
    "brake_closed": Field(SCALAR, "1 if a joint was found that does not move"),
}


def watch(x: Any) -> dict[str, Any]:
    """Look at the command of a cycle."""
    found = {**watch_limits(x), **watch_saturation(x), **watch_brakes(x)}
    return watch_standing(x, found)


def summed_deviation(moved: Array, speed: Array, dt: Any) -> Array:
    """Return the deviation of saturated joints within about `WINDOW_S`.

    Args:
        moved: The deviation so far, shape (n,), rad or m.
        speed: Difference from the desired velocity of saturated joints, otherwise zero, shape (n,).
        dt: Duration of the cycle, s.
    """
    return np.asarray(np.exp(-dt / WINDOW_S) * moved + dt * speed)


def watch_limits(x: Any) -> dict[str, Any]:
    """Count how often efforts are at their limits."""
    share = minimum(x.dt / COUNTED_S, 1.0)
    at_limit = x.at_limit + share * (100.0 * x.commands * x.saturation - x.at_limit)
    joint, value, limit = first_largest(at_limit, x.effort)
    return {
        "at_limit": at_limit,
        "limited": float(Cause.LIMITED) * less(LIMITED, value),
        "limited_joint": joint,
        "limited_value": value,
        "limited_limit": limit,
    }


def watch_saturation(x: Any) -> dict[str, Any]:
    """Find an arm that moves as it should not while its efforts are at their limits."""
    in_task = among(x.law, IN_TASK_SPACE)
    judged = both(
        x.seen, x.fresh, negated(equal(x.status, Status.OPEN_LOOP)), either(x.has_feedback, in_task)
    )
    wanted = chosen(in_task, x.task_velocity, x.desired[1])
    speed = judged * x.saturation * abs(x.qd - wanted)
    moved = summed_deviation(x.moved, speed, minimum(x.dt, x.state_timeout))
    i, excess, value, limit = first_largest(moved - x.nearest, speed, x.effort)
    found = both(judged, less(0.0, excess), less(0.0, value))
    return {
        "moved": moved,
        "watched": found * float(Cause.SATURATION),
        "watched_joint": i,
        "watched_value": value,
        "watched_limit": limit,
    }


def watch_standing(x: Any, found: dict[str, Any]) -> dict[str, Any]:
    """Find a joint that had moved and stands while its reference moves on.

    Args:
        x: Fields of the step.
        found: Results of the other watches.
    """
    # Friction may hold a joint while late states leave it little feedback
    late = both(x.fresh, less(x.trust, 1.0))
    tracks = both(equal(x.status, Status.TRACKING), x.has_feedback, negated(x.entered))
    judged = both(x.seen, tracks, negated(late))
    counts = judged * found["free"]
    moves = chosen(counts, less(STILL, abs(x.q - x.stood_at)), 1.0 + 0.0 * counts)
    displacement = (1.0 - moves) * abs(x.compared[0] - x.stood_desired)
    share = SLOW * x.velocity / maximum(abs(x.desired[1]), 1e-9)
    limit = x.nearest * clip(share, SOONEST, STOOD)
    lag = among(x.law, WITHOUT_INERTIA) * minimum(STOOD_S * abs(x.desired[1]), x.nearest / 2.0)
    limit = maximum(limit, lag)
    # Friction may hold a joint that is hardly pushed
    pushed = less(HELD * x.effort, abs(x.total - x.expected))
    limit = chosen(pushed, limit, maximum(limit, UNPUSHED * x.nearest))
    # Soft feedback does not push a joint out of dry friction
    soft = negated(pushed) * x.softened
    i, excess, value, most, frequency = first_largest(
        displacement - limit, displacement, limit, soft
    )
    held = less(0.0, frequency)
    stands = both(judged, x.fresh, less(0.0, excess), equal(found["watched"], 0.0))
    found |= {
        "stood_at": chosen(moves, x.q, x.stood_at),
        "stood_desired": chosen(moves, x.compared[0], x.stood_desired),
    }
    reason = {
        "watched": chosen(held, float(Cause.SOFTENED), float(Cause.STANDING)),
        "watched_joint": i,
        "watched_value": value,
        "watched_limit": chosen(held, frequency, most),
    }
    return found | {name: chosen(stands, new, found[name]) for name, new in reason.items()}


def watch_brakes(x: Any) -> dict[str, Any]:
    """Find a joint that has not moved since the arm began to follow, although it was pushed."""
    tracking = equal(x.status, Status.TRACKING)
    begins = both(x.entered, tracking)
    q, tau = chosen(begins, x.q, x.brake_q), chosen(begins, x.total, x.brake_tau)
    free = chosen(begins, 0.0 * x.free, x.free)
    free = either(free, less(STILL, abs(x.q - q)))
    answers = any_of(free)
    share = chosen(answers, PUSHED, UNANSWERED)
    delay = chosen(answers, PUSHED_S, UNANSWERED_S)
    pushed = less(share * x.effort, abs(x.total - tau)) * (1.0 - free)
    time = pushed * (chosen(begins, 0.0 * x.pushed_for, x.pushed_for) + x.dt)
    i, longest, push, limit = first_largest(time, abs(x.total - tau), x.effort)
    closed = both(tracking, x.seen, less(delay, longest), negated(all_of(free)))
    before = x.brake_joint
    at = [both(less(abs(before - k), 0.5), free[k]) for k in range(len(x.q))]
    came_free = both(tracking, either(0.0, *at))
    may = among(x.status, (Status.TRACKING, Status.SETTLING, Status.RESUMED))
    kept = chosen(may, before, -1.0)
    kept = chosen(came_free, -1.0, kept)
    cause = chosen(answers, float(Cause.BRAKED), float(Cause.UNANSWERED))
    cause = chosen(closed, cause, chosen(less(-0.5, kept), x.brake_cause, 0.0))
    return {
        "brake_q": q,
        "brake_tau": tau,
        "free": chosen(tracking, free, x.free),
        "pushed_for": chosen(tracking, time, 0.0 * time),
        "answers": chosen(tracking, answers, x.answers),
        "brake_joint": chosen(closed, i, kept),
        "brake_cause": cause,
        "brake_value": chosen(closed, push, x.brake_value),
        "brake_limit": chosen(closed, limit, x.brake_limit),
        "brake_closed": closed,
    }
