"""Counted twice: gravity or friction that the controller adds although the robot does so itself.

What a robot adds shows as an external effort. Gravity that counts twice is one like the gravity of
the model in every joint: the arm seems to have no weight. Wrong masses and loads leave another
pattern. A table under the arm may leave the same one, but that arm has moved with its weight.
Friction that counts twice pushes every joint along its motion, by as much as the friction of the
model. Friction that the model lacks pushes against it, and gravity pushes in the same direction on
the way back.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.compiler.graph.piecewise import clip, maximum, minimum
from robot_dynamics.control.collision import LEAST_SHARE, SLOW
from robot_dynamics.control.fields import SCALAR, Field
from robot_dynamics.control.logic import all_of, any_of, both, chosen, either, first_largest, less
from robot_dynamics.foundation.arrays import Array

OFF, UNSURE = 0.5, 1.0 / 3.0
"""Largest difference between an external effort and gravity that are the same: parts of gravity,
and of the threshold for what friction and drives may add."""

WINDOW_S = 5.0
"""Time of motion in one direction over which external efforts are averaged, s."""

BORNE_S = 0.1
"""Time of motion with its weight after which gravity of an arm cannot count twice, s; the observer
needs a tenth of it."""

JUDGED = 0.4
"""Part of the window from which a direction is judged: 2.6 s of motion."""

LEAST, STILL, MOST = 0.6, 0.4, 1.4
"""External effort along the motion, relative to friction of the model, from which friction counts
twice, to which it does so still, and up to which."""

WEIGHED, RUBBED = 2, 3
"""Fewest joints that must show it. A person who lifts one link is felt in one joint as its gravity;
two joints may move along wrong gravity by chance."""

TWICE = {
    "weightless_for": Field(SCALAR, "time for which external efforts have been those of gravity"),
    "borne_for": Field(SCALAR, "time for which the arm has moved with its weight, s"),
    "weightless_joint": Field(SCALAR, "joint with the largest of them"),
    "weightless_value": Field(SCALAR, "its external effort, N m or N"),
    "weightless_limit": Field(SCALAR, "its gravity, N m or N"),
    "rubbed_by": Field((2, "n"), "mean external efforts in motion forward and backward, N m or N"),
    "rubbed_by_model": Field((2, "n"), "mean friction of the model then, N m or N"),
    "rubbed_for": Field((2, "n"), "part of the window in which the joints moved so"),
    "rubs_twice": Field(SCALAR, "1 if friction counts twice"),
    "rubs_joint": Field(SCALAR, "joint in which it counts the most"),
    "rubs_value": Field(SCALAR, "its external effort along the motion, N m or N"),
    "rubs_limit": Field(SCALAR, "its friction by the model, N m or N"),
}


def count_twice(
    x: Any, external: Array, threshold: Array, gravity: Array, friction: Array, width: Array,
    dt: Any,
) -> dict[str, Any]:  # fmt: skip
    """Compare external efforts with gravity and friction of the model.

    Args:
        x: Fields of the step.
        external: External efforts, shape (n,), N m or N.
        threshold: Their thresholds.
        gravity: Of the model, shape (n,), N m or N.
        friction: Of the model at the measured velocities, shape (n,), N m or N.
        width: Widths of the crossing of friction, shape (n,), rad/s or m/s.
        dt: Time since the last state, s; 0 if it does not count.
    """
    return {
        **_weightless(x, external, threshold, gravity, width, dt),
        **_rubbing(x, external, friction, width, dt),
    }


def _weightless(
    x: Any, external: Array, threshold: Array, gravity: Array, width: Array, dt: Any
) -> dict[str, Any]:
    i, worst, value, limit = first_largest(abs(external) / threshold, external, gravity)
    same = less(abs(external - gravity), OFF * abs(gravity) + UNSURE * threshold)
    # Without an external effort these would not be the same
    shows = less(UNSURE / (1.0 - OFF) * threshold, abs(gravity))
    holds = both(less(1.0, worst), all_of(same), less(WEIGHED - 0.5, sum(shows)))
    slight = either(1.0 - shows, less(abs(external), OFF * abs(gravity)))
    moves = any_of(less(SLOW * width, abs(x.qd)))
    bears = both(moves, less(0.5, sum(shows)), all_of(slight))
    borne_for = chosen(less(0.0, dt), x.borne_for + bears * dt, 0.0)  # anew with the observer
    holds = both(holds, less(borne_for, BORNE_S))
    return {
        "borne_for": borne_for,
        "weightless_for": holds * (x.weightless_for + dt),
        "weightless_joint": i,
        "weightless_value": value,
        "weightless_limit": abs(limit),
    }


def _rubbing(x: Any, external: Array, friction: Array, width: Array, dt: Any) -> dict[str, Any]:
    moves = np.array([less(SLOW * width, x.qd), less(SLOW * width, -x.qd)])
    share = moves * minimum(dt / WINDOW_S, 1.0)
    part = x.rubbed_for + share * (1.0 - x.rubbed_for)
    pushed = x.rubbed_by + share * (external - x.rubbed_by)
    rubbed = x.rubbed_by_model + share * (friction - x.rubbed_by_model)
    # Means begin at zero: the part of the window that they have seen is their weight
    weight = maximum(part, 1e-9)
    own, of_model = (0.5 * (row[0] - row[1]) for row in (pushed / weight, rubbed / weight))
    judged = less(JUDGED, minimum(part[0], part[1])) * less(LEAST_SHARE * x.effort, of_model)
    ratio = own / maximum(of_model, 1e-9)
    least = chosen(x.rubs_twice, STILL, LEAST)
    fits = [both(less(least, one), less(one, MOST)) for one in ratio]
    found = all_of(np.array([either(1.0 - a, b) for a, b in zip(judged, fits, strict=True)]))
    i, _, value, limit = first_largest(judged * clip(ratio, 0.0, MOST), own, of_model)
    return {
        "rubbed_by": pushed,
        "rubbed_by_model": rubbed,
        "rubbed_for": part,
        "rubs_twice": both(found, less(min(RUBBED, len(x.q)) - 0.5, sum(judged))),
        "rubs_joint": i,
        "rubs_value": value,
        "rubs_limit": limit,
    }
