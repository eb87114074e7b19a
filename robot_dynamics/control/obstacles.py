"""Obstacles: why an end effector does not come to its target, and the sentence about it."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

import numpy as np

from robot_dynamics.compiler.graph.piecewise import maximum, minimum
from robot_dynamics.control.fields import SCALAR, Field
from robot_dynamics.control.logic import (
    any_of,
    both,
    chosen,
    either,
    equal,
    first_largest,
    less,
    negated,
)
from robot_dynamics.control.status import Sentence
from robot_dynamics.control.target_motion import size_of
from robot_dynamics.foundation.arrays import Array

SHORT_M, SHORT_RAD = 0.005, 0.02
"""Distance from its target, m, and angle, rad, of an end effector that has not come to it."""

NONE_M = 1e-4
"""Distance and angle that are reported as none, m and rad."""

PATIENCE_S = 1.0
"""Time after which a reason for which the end effector does not come to its target is reported,
s."""

NEARER = 0.75
"""Share of the square of an error that joints can take away if the target is within reach: half of
the error remains."""

COMES = 0.95
"""Error relative to the least one so far that is progress."""

RESTLESS = 0.02
"""Speed of a joint, relative to its limit, of an end effector that moves to and fro."""

HELD_BACK, AT_END = 0.1, 0.05
"""Acceleration that is kept from a joint by a target for which it would have to leave its range,
rad/s^2 or m/s^2, and its distance from where it is stopped, rad or m: strong springs ask a light
joint that friction holds for more than it could be braked from, too."""


class Obstacle(enum.IntEnum):
    """Reason for which an end effector stays away from its target: number of field `obstacle`."""

    NONE = 0
    OUT_OF_REACH = 1
    END_OF_RANGE = 2
    RESTLESS = 3
    SATURATED = 4
    HELD = 5


OBSTACLES: Mapping[Obstacle, Sentence] = {
    Obstacle.NONE: Sentence(
        "the end effector stays {value} and {limit} from its target", ("m", "rad"), ""
    ),
    Obstacle.OUT_OF_REACH: Sentence(
        "it is out of reach: the arm is stretched towards it, and joint motion leads nearer by "
        "{value} of the distance",
        ("%", ""),
        "give a nearer target",
        2,
    ),
    Obstacle.END_OF_RANGE: Sentence(
        "joint '{joint}' would have to leave its range, and is stopped {value} before the end",
        ("position", ""),
        "give a target or a posture within the range",
        2,
    ),
    Obstacle.RESTLESS: Sentence(
        "joints move to and fro, joint '{joint}' at up to {value} with a limit of {limit}",
        ("velocity", "velocity"),
        "is an obstacle too stiff, or are the springs, to be damped with states so late?",
        2,
    ),
    Obstacle.SATURATED: Sentence(
        "the effort of joint '{joint}' is at its limit of {limit}, and {value} would be needed",
        ("effort", "effort"),
        "lighten the load or the wrench, or give another pose",
        2,
    ),
    Obstacle.HELD: Sentence(
        "friction or an obstacle holds joint '{joint}' against {value}, with an effort limit of "
        "{limit}",
        ("effort", "effort"),
        "clear it, give the model the friction, or raise task.stiffness, which slow or late states "
        "bound",
        2,
    ),
}
"""Words for every obstacle; those of none come first in every line, with distance and angle."""

OBSTACLE = {
    "sought": Field(SCALAR, "1 until the end effector has come to the pose that was given"),
    "stretched_since": Field(SCALAR, "time since which no joint motion leads nearer, s"),
    "ended_since": Field(SCALAR, "time since which a joint is held back at its end, s"),
    "least_error": Field(SCALAR, "least error at a target at rest, relative to the largest; or 0"),
    "stays_since": Field(SCALAR, "time since which it has not become less, s"),
    "stays_speed": Field(SCALAR, "largest joint speed since, relative to its limit, fading"),
    "stays_joint": Field(SCALAR, "the joint that had it"),
    "behind": Field((2,), "distance from a target that is not reached, m, and angle, rad"),
    "obstacle": Field(SCALAR, "number of the `Obstacle` for which it is not reached"),
    "obstacle_joint": Field(SCALAR, "its joint"),
    "obstacle_value": Field(SCALAR, "its quantity"),
    "obstacle_limit": Field(SCALAR, "the limit"),
    "obstacles_told": Field((len(Obstacle),), "1 for those found since there was none"),
    "obstacle_reports": Field(SCALAR, "obstacles to report: each once until there is none"),
}
"""State of an end effector that does not come to its target."""


def errors_of(x: Any) -> tuple[Any, Any]:
    """Return the distance of the end effector from the target, m, and the angle, rad."""
    error = x.task_selection * x.task_error
    return size_of(error[:3]), size_of(error[3:])


def short(x: Any) -> Any:
    """Return whether the end effector has not come to the target."""
    distance, angle = errors_of(x)
    return either(less(SHORT_M, distance), less(SHORT_RAD, angle))


def find_obstacle(
    x: Any, held: Any, leads: Any, rests: Any, away: Array, ends: Array
) -> dict[str, Any]:
    """Find what keeps the end effector from its target for longer than a moment.

    Args:
        x: Fields of the step.
        held: Whether the end effector is led to a target or held at it.
        leads: Whether a target that was given is not reached.
        rests: Whether a pose is sought and the target rests.
        away: Way from the end effector to the goal in task axes, shape (3,), m.
        ends: Positions at which joints are stopped, shape (2, n).
    """
    behind, turned = errors_of(x)
    at_end = less(minimum(x.q - ends[0], ends[1] - x.q), AT_END)
    ended_joint, most, to_end = first_largest(
        at_end * abs(x.held_back), maximum(minimum(x.q - x.lower, x.upper - x.q), 0.0)
    )
    ended = both(held, short(x), less(HELD_BACK, most))
    ended_since = chosen(ended, x.ended_since, x.now)
    stretched = less(x.nearer, NEARER)
    percent = 100.0 * (1.0 - np.sqrt(maximum(1.0 - x.nearer, 0.0)))
    to_goal = size_of(x.task_selection[:3] * away)
    far = both(held, leads, stretched, less(SHORT_M, behind), less(SHORT_M, to_goal))
    stretched_since = chosen(far, x.stretched_since, x.now)
    stay, stays = _stay(x, both(held, rests))
    speed = stay["stays_speed"]

    pushed = abs(x.law_effort - x.expected)
    i, _, held_by, of_limit = first_largest(abs(x.task_way), pushed, x.effort)
    k, saturated, needed, effort = first_largest(x.saturation, abs(x.law_effort), x.effort)
    j = stay["stays_joint"]
    limits = [(less(abs(j - at), 0.5), limit) for at, limit in enumerate(x.velocity)]
    fastest: Any = 0.0
    for here, limit in limits:
        fastest = chosen(here, limit, fastest)
    candidates = (
        (Obstacle.END_OF_RANGE, less(PATIENCE_S, x.now - ended_since), ended_joint, to_end, 0.0),
        (Obstacle.OUT_OF_REACH, less(PATIENCE_S, x.now - stretched_since), 0.0, percent, 0.0),
        (Obstacle.RESTLESS, both(stays, less(RESTLESS, speed)), j, speed * fastest, fastest),
        (Obstacle.SATURATED, both(stays, less(0.5, saturated)), k, needed, effort),
        (Obstacle.OUT_OF_REACH, both(stays, stretched), 0.0, percent, 0.0),
        (Obstacle.HELD, stays, i, held_by, of_limit),
    )
    found: tuple[Any, ...] = (float(Obstacle.NONE), 0.0, 0.0, 0.0)
    for number, happens, *reason in reversed(candidates):
        new = (float(number), *reason)
        found = tuple(chosen(happens, a, b) for a, b in zip(new, found, strict=True))
    # Joint and numbers are those of the moment at which it was found
    same = equal(found[0] - x.obstacle, 0.0)
    before = (x.obstacle, x.obstacle_joint, x.obstacle_value, x.obstacle_limit)
    found = tuple(chosen(same, a, b) for a, b in zip(before, found, strict=True))
    names = ("obstacle", "obstacle_joint", "obstacle_value", "obstacle_limit")
    is_one = negated(equal(found[0], Obstacle.NONE))
    this = np.array([both(is_one, equal(found[0], float(number))) for number in Obstacle])
    told = is_one * x.obstacles_told
    distances = np.array([to_goal, turned])
    return {
        "stretched_since": stretched_since,
        "ended_since": ended_since,
        "behind": chosen(less(NONE_M, distances), distances, 0.0 * distances),
        "obstacles_told": maximum(told, this),
        "obstacle_reports": x.obstacle_reports + any_of(less(told, this)),
        **stay,
        **dict(zip(names, found, strict=True)),
    }


def _stay(x: Any, judged: Any) -> tuple[dict[str, Any], Any]:
    """Return how long an end effector has not come nearer to a target at rest, and if too long."""
    error = size_of(x.task_selection * x.task_error / x.task_largest)
    comes = either(negated(less(0.0, x.least_error)), less(error, COMES * x.least_error))
    stays = both(judged, short(x))
    anew = either(negated(stays), comes)
    faded = x.stays_speed * (1.0 - minimum(x.dt / PATIENCE_S, 1.0))
    joint, speed = first_largest(abs(x.qd) / x.velocity)
    faster = less(faded, speed)
    state = {
        "least_error": chosen(anew, stays * error, x.least_error),
        "stays_since": chosen(anew, x.now, x.stays_since),
        "stays_speed": chosen(anew, 0.0, chosen(faster, speed, faded)),
        "stays_joint": chosen(faster, joint, x.stays_joint),
    }
    return state, both(stays, negated(anew), less(PATIENCE_S, x.now - x.stays_since))
