"""Motion that the arm makes in a status: join the reference, follow it, come to rest, retreat.

A transition is one polynomial of each joint. It is added to the reference while the arm joins it,
and is the motion itself while the arm comes to rest.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.compiler.graph.piecewise import clip, maximum, minimum, select
from robot_dynamics.control.collision import RETREATS, STOP_S
from robot_dynamics.control.fields import SCALAR, VECTOR, Field
from robot_dynamics.control.laws import position_error
from robot_dynamics.control.logic import both, chosen, either, equal, largest, less, negated
from robot_dynamics.control.status import Cause, Status
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.trajectory.interpolation import quintic
from robot_dynamics.trajectory.replacement import stop_within
from robot_dynamics.trajectory.trajectory import State

DEFAULT_SPEED = 1.0
"""Speed limit assumed where the URDF gives none, rad/s or m/s."""

SHORTEST_RETURN_S = 1e-3
"""Shortest duration of a return, s."""

SHORTEST_STOP_S = 1e-6
"""Least time to come to rest, s: a motion that is to end at once."""

FARTHEST_S = 0.02
"""Longest extrapolation of a reference with its velocity, s."""

SLOWING_S = 0.1
"""Time constant with which a reference that does not come is taken to come to rest then, s."""

JOINING, RETREATING = 0.1, 0.25
"""Speed at which the arm joins a reference and retreats, relative to the speed limits."""

SHORTEST_SHARE = 0.2
"""Least time to come to rest relative to the reference, relative to the default time of a stop."""

UNBOUNDED = 1e9
"""Bound that no joint reaches, rad or m."""

TRANSITION = {
    "began": Field(SCALAR, "time at which the transition began, s", 0.0),
    "coefficients": Field(("n", 6), "of ascending powers of time, rad or m"),
    "lasts": Field(VECTOR, "duration of the transition of each joint, s"),
    "retreats_at": Field(SCALAR, "time from the transition to a retreat, s"),
    "retreats_for": Field(SCALAR, "duration of the retreat, s"),
    "retreat": Field(("n", 6), "coefficients of the retreat, rad or m"),
}

DESIRED = {
    "desired": Field((3, "n"), "positions, velocities, accelerations that the arm is to have"),
    "compared": Field((2, "n"), "positions and velocities at the time of the measured ones"),
    "measured_q": Field(VECTOR, "positions that feedback compares with them, rad or m"),
    "measured_qd": Field(VECTOR, "velocities that feedback compares with them"),
    "error": Field(VECTOR, "position errors, rad or m"),
    "error_rate": Field(VECTOR, "velocity errors, rad/s or m/s"),
}


class Segment(NamedTuple):
    """The reference at a time, between two known states.

    Args:
        before: First state, q and qd, shape (2, n).
        after: Second state, shape (2, n).
        share: Share of the motion from the first to the second that is made.
        ahead: Time for which the motion continues from there with its velocity, s.
        qdd: Accelerations, shape (n,); zero where they are unknown.
    """

    before: Array
    after: Array
    share: Any
    ahead: Any
    qdd: Array


def on_segment(segment: Segment) -> Array:
    """Return positions, velocities and accelerations of the reference, shape (3, n)."""
    q, qd = segment.before + segment.share * (segment.after - segment.before)
    ahead = clip(segment.ahead, -FARTHEST_S, FARTHEST_S)
    beyond = maximum(segment.ahead - FARTHEST_S, 0.0)
    left = np.exp(-beyond / SLOWING_S)
    displacement = ahead + SLOWING_S * (1.0 - left)
    slows = chosen(less(0.0, beyond), -left * qd / SLOWING_S, segment.qdd)
    return np.array([q + displacement * qd, left * qd, slows])


def evaluated(c: Array, t: Array) -> Array:
    """Return position, velocity and acceleration, shape (3, n), of polynomials (n, 6) at times."""
    q = c[:, 5]
    qd = 5.0 * c[:, 5]
    qdd = 20.0 * c[:, 5]
    for k in range(4, -1, -1):
        q = q * t + c[:, k]
        if k >= 1:
            qd = qd * t + float(k) * c[:, k]
        if k >= 2:
            qdd = qdd * t + float(k * (k - 1)) * c[:, k]
    return np.array([q, qd, qdd])


def desired_state(x: Any, follows: Any, segment: Segment, now: Any) -> Array:
    """Return the desired state at a time, shape (3, n), on the present transition.

    Args:
        x: Fields of `TRANSITION`.
        follows: Whether the arm follows the reference.
        segment: The reference.
        now: The time, s.
    """
    state = on_transition(x, now)
    return state + chosen(follows, on_segment(segment), 0.0 * state)


def on_transition(x: Any, now: Any) -> Array:
    """Return positions, velocities and accelerations of the transition at a time, shape (3, n)."""
    since = maximum(now - x.began, 0.0)
    state = evaluated(x.coefficients, minimum(x.lasts, since))
    later = clip(since - x.retreats_at, 0.0, x.retreats_for) + 0.0 * x.lasts
    return state + evaluated(x.retreat, later)


def return_duration(displacement: Array, speed: Array, least: Any) -> Any:
    """Return the time to cover displacements within speeds, s.

    Args:
        displacement: Displacements, shape (n,), rad or m.
        speed: Largest speeds, shape (n,), rad/s or m/s.
        least: Least duration, s.
    """
    longest = maximum(least, SHORTEST_RETURN_S)
    # The steepest part of a quintic is 15/8 of its mean
    for needed in 15.0 / 8.0 * abs(displacement) / speed:
        longest = maximum(needed, longest)
    return longest


def begin_transition(x: Any) -> dict[str, Any]:
    """Begin a transition from a state: to the reference, or to rest within the joint ranges.

    Relative to the reference, the arm comes to rest and then returns at a low speed: a motion in
    one piece would have to make up for the distance lost, faster than the reference.
    """
    start, n = State(*x.start), len(x.q)
    none = np.zeros(n)
    speed = select(x.velocity, 1e9, x.velocity, DEFAULT_SPEED)  # without a limit it is infinite
    reference = on_segment(x.segment)
    error = position_error(start.q, reference[0], x.continuous)
    rate = start.qd - reference[1]
    bend = chosen(x.blends, start.qdd - reference[2], none)
    away = State(error, rate, bend)
    state = State(*(chosen(x.follows, *pair) for pair in zip(away, start, strict=True)))
    low = chosen(x.follows, -UNBOUNDED, x.lower)
    high = chosen(x.follows, UNBOUNDED, x.upper)

    hit = both(equal(x.cause, Cause.COLLISION), equal(x.status, Status.STOPPED))
    default = chosen(hit, minimum(x.stop, STOP_S), x.stop)
    share = largest((abs(rate) + default * abs(bend)) / (JOINING * speed))
    stop = chosen(x.follows, clip(share, SHORTEST_SHARE, 1.0) * default, default)
    lasts, rest = stop_within(state, maximum(stop, SHORTEST_STOP_S), low, high)
    ends = evaluated(rest, lasts)[0]
    retreat = position_error(x.retreat_to, ends, x.continuous)
    displacement = chosen(x.follows, -ends, retreat)
    fastest = chosen(x.follows, JOINING, RETREATING) * speed
    least = chosen(x.follows, maximum(x.approach_time - stop, SHORTEST_RETURN_S), SHORTEST_RETURN_S)
    returning = return_duration(displacement, fastest, least)
    goes_back = quintic(returning, State(none, none, none), State(displacement, none, none))
    returns = either(x.follows, both(hit, equal(x.reaction, RETREATS)))
    return {
        "began": x.now,
        "coefficients": rest,
        "lasts": lasts,
        "retreats_at": largest(lasts),
        "retreats_for": returning,
        "retreat": chosen(returns, goes_back, 0.0 * goes_back),
    }


def later(state: Array, time: Any) -> Array:
    """Return positions, velocities and accelerations after a time, at constant accelerations.

    Args:
        state: Of now, shape (3, n).
        time: The time, s.
    """
    q, qd, qdd = state
    return np.array([q + time * (qd + time / 2.0 * qdd), qd + time * qdd, qdd])


def move(x: Any) -> dict[str, Any]:
    """Compute the desired state of this cycle, and what feedback compares with it.

    A late state belongs to the time at which it was measured, and is compared with the reference of
    that time.

    Between two states the errors stay as they were: the arm is taken to move as it was to move.
    Compared with an old state, a reference in motion would seem to run away. As the last state
    grows old, less of its errors counts.

    Drives that close the loop hold a command for a cycle: it is that of the middle of the cycle.
    """
    present = on_transition(x, x.now)
    desired = present + chosen(x.follows, on_segment(x.segment), 0.0 * present)
    since = x.behind + present - on_transition(x, x.now - x.late_by)
    compared = desired - chosen(x.fresh, since, 0.0 * desired)
    error = position_error(compared[0], x.q, x.continuous)
    known = chosen(x.fresh, 1.0, x.starts_measured)
    error = chosen(known, error, x.error)
    rate = chosen(known, compared[1] - x.qd, x.error_rate)
    guessed = both(x.has_feedback, either(negated(x.fresh), less(x.trust, 1.0)))
    half = chosen(x.drive_feedback, minimum(x.dt, x.longest_cycle) / 2.0, 0.0)
    return {
        "desired": later(desired, half),
        "compared": compared[:2],
        "measured_q": chosen(guessed, compared[0] - x.trust * error, x.q),
        "measured_qd": chosen(guessed, compared[1] - x.trust * rate, x.qd),
        "error": error,
        "error_rate": rate,
    }
