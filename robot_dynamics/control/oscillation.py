"""Oscillation: finds a joint that oscillates instead of coming to rest, for any gains.

Each joint has its last turning points: the times at which its position error turned, and the sizes
of the half waves between. A response to a push dies out; an oscillation of the loop does not.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.compiler.graph.piecewise import maximum, minimum
from robot_dynamics.control.fields import SCALAR, VECTOR, Field
from robot_dynamics.control.guard import JITTER_S, LONGEST_GAP_S
from robot_dynamics.control.logic import (
    NEVER,
    any_of,
    both,
    chosen,
    either,
    equal,
    first_largest,
    less,
    negated,
)
from robot_dynamics.control.status import Cause
from robot_dynamics.foundation.arrays import Array

LEAST_SIZE = 1e-3
"""Least change of an error between two turning points, rad or m, of a joint at rest; smaller ones
are noise. In motion, uneven times of the states look like errors: `JITTER_S` times the speed."""


class Rule(NamedTuple):
    """A rule that tells an oscillation from the response to a push.

    Args:
        turns: Number of consecutive turning points, at most `TURNS`.
        growth: Least size of each half wave, relative to the one before.
        longest: Longest time of these turns, s: PD near its stability limit oscillates fast.
    """

    turns: int
    growth: float
    longest: float


TURNS = 6
"""Turning points that are remembered for each joint."""

RULES = (Rule(TURNS, 0.0, 1.0), Rule(4, 1.5, 0.3))
"""A sustained oscillation, and one that grows fast and must be found early."""

STEADY = 0.8
"""Least size, in an oscillation that does not die out, of every half wave relative to the first and
of the last relative to the largest."""

UNEVEN = 0.5
"""Largest relative deviation of the times between turns from their mean: a loop near its stability
limit oscillates evenly, an arm under repeated pushes does not."""

SOFT, SOFTER, SOFTEST = 0.5, 0.25, 0.5 / 64.0
"""Bandwidth that holds an arm which oscillated, relative to the one that fits the sampling, the
factor on it each time it oscillates still, and the least one: the rule does not know the resonance
of an elastic joint that the model takes for rigid. An arm that moves faster than its limits was
thrown, and is caught as firmly as before."""

PERIOD_S = 4e-3
"""Least time between two samples of the error, s."""

OSCILLATION = {
    "looked_at": Field(SCALAR, "time of the last sample, s", NEVER),
    "turn": Field(VECTOR, "error at the last turning point, rad or m"),
    "extreme": Field(VECTOR, "furthest error since, rad or m"),
    "rising": Field(VECTOR, "1 while the error grows", 1.0),
    "sizes": Field((TURNS, "n"), "sizes of the last half waves, rad or m, the latest last"),
    "times": Field((TURNS, "n"), "times of the last turning points, s, the latest last", NEVER),
    "oscillates": Field(SCALAR, "number of the cause if a joint oscillates, else 0"),
    "oscillating_joint": Field(SCALAR, "this joint"),
    "oscillating_size": Field(SCALAR, "size of its last half wave, rad or m"),
    "oscillating_rate": Field(SCALAR, "frequency of the oscillation, Hz"),
    "softness": Field(SCALAR, "relative bandwidth that holds an arm which oscillated", SOFT),
}


def looks(x: Any, closed: Any) -> Any:
    """Return whether the error of this cycle is looked at, or forgotten."""
    due = both(x.fresh, x.has_feedback, closed, negated(less(x.now - x.looked_at, PERIOD_S)))
    return both(x.seen, either(due, x.entered))


def look(x: Any) -> dict[str, Any]:
    """Note turning points of the position errors, and find a joint that oscillates."""
    error = x.error
    anew = either(x.entered, less(LONGEST_GAP_S, x.now - x.looked_at), negated(x.has_feedback))
    turn, extreme = chosen(anew, error, x.turn), chosen(anew, error, x.extreme)
    rising = chosen(anew, 1.0 + 0.0 * x.rising, x.rising)
    times = chosen(anew, NEVER + 0.0 * x.times, x.times)
    sizes = chosen(anew, 0.0 * x.sizes, x.sizes)

    further = chosen(rising, less(extreme, error), less(error, extreme))
    extreme = chosen(further, error, extreme)
    least = LEAST_SIZE + JITTER_S * abs(x.compared[1])
    turned = less(least, abs(error - extreme))
    size = maximum(abs(extreme - turn), least)
    new_sizes = np.concatenate([sizes[1:], size[None]])
    new_times = np.concatenate([times[1:], (x.now + 0.0 * size)[None]])
    sizes, times = chosen(turned, new_sizes, sizes), chosen(turned, new_times, times)
    found = either(0.0 * size, *(_obeys(rule, sizes, times) for rule in RULES)) * turned
    span = maximum(times[-1] - times[-4], PERIOD_S)
    thrown = any_of(less(x.velocity, abs(x.qd)))
    softer = maximum(chosen(thrown, 1.0, SOFTER) * x.softness, SOFTEST)
    softer = chosen(equal(x.cause, Cause.OSCILLATION), softer, SOFT)
    i, oscillates, last, rate = first_largest(found, sizes[-1], 1.5 / span)
    return {
        "looked_at": x.now,
        "turn": chosen(turned, extreme, turn),
        "extreme": chosen(turned, error, extreme),
        "rising": chosen(turned, 1.0 - rising, rising),
        "sizes": sizes,
        "times": chosen(found, NEVER + 0.0 * times, times),  # found; count anew
        "oscillates": oscillates * float(Cause.OSCILLATION),
        "oscillating_joint": i,
        "oscillating_size": last,
        "oscillating_rate": rate,
        "softness": chosen(oscillates, softer, x.softness),
    }


def _obeys(rule: Rule, sizes: Array, times: Array) -> Array:
    """Return which joints oscillate by a rule: fast enough, evenly, and without dying out."""
    sizes, times = sizes[-rule.turns :], times[-rule.turns :]
    span = times[-1] - times[0]
    mean = span / (rule.turns - 1.0)
    fails = [less(rule.longest, span)]
    least = largest = sizes[0]
    for k in range(1, rule.turns):
        fails.append(less(sizes[k], rule.growth * sizes[k - 1]))
        off = abs(times[k] - times[k - 1] - mean)
        fails.append(less(UNEVEN * mean + PERIOD_S, off))
        least, largest = minimum(sizes[k], least), maximum(sizes[k], largest)
    fails += [less(least, STEADY * sizes[0]), less(sizes[-1], STEADY * largest)]
    return np.asarray(negated(either(*fails)))
