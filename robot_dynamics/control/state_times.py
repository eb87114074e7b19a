"""Times at which states were measured, where hardware gives no stamps.

Hardware interfaces keep their values where no new state comes, and say nothing of its age. A moving
arm tells it: the distance from one state to the next takes as long as the time between both.
"""

from __future__ import annotations

from typing import Any

from robot_dynamics.compiler.graph.piecewise import maximum, minimum
from robot_dynamics.control.fields import SCALAR, Field
from robot_dynamics.control.laws import position_error
from robot_dynamics.control.logic import NEVER, all_of, both, chosen, either, less, negated

SLOW = 0.05
"""Speed below which ways tell no time, the root of the sum of squares, rad/s or m/s."""

JITTER_S = 0.008
"""Difference of times that may come from the driver, s."""

EQUAL = 1e-15
"""Difference of numbers that are the same."""

TIMED = {
    "repeated": Field(SCALAR, "1 if the last state repeats the numbers of the one before"),
    "stood": Field(SCALAR, "1 if a state was repeated since the last other one"),
    "behind_by": Field(SCALAR, "time by which states without stamps are late, s"),
    "rested_for": Field(SCALAR, "time for which these states have been at rest, s"),
}


def timed(x: Any, sound: Any) -> dict[str, Any]:
    """Return the fields of `TIMED`, and whether the state that came is another one.

    States that go on where they stood are late until they catch up, or have rested for that time:
    an old state of an arm at rest is as good as a new one. A glitch seems to go back in time, or
    makes the states newer.

    Args:
        x: Fields of the step.
        sound: Whether a state came, and every number of it is finite.

    Returns:
        Fields by name, beside them `new`, and `state_stamp` and `state_delay` as they then are.
    """
    step = position_error(x.state_q, x.received_q, x.continuous)
    speed = (x.state_qd + x.received_qd) / 2.0
    displacement, square = sum(speed * step), sum(speed * speed)
    known = less(NEVER / 2.0, x.received_at)
    moves = both(x.unstamped, known, less(SLOW * SLOW, square))
    same = both(
        all_of(less(abs(step), EQUAL)), all_of(less(abs(x.state_qd - x.received_qd), EQUAL))
    )
    repeated = both(sound, moves, same)
    new = both(sound, negated(repeated))

    between = displacement / chosen(moves, square, 1.0)
    passed = x.state_came - x.received_at
    behind = maximum(x.behind_by + passed - between, 0.0)
    behind = chosen(x.stood, behind, minimum(behind, x.behind_by))
    differs = both(negated(less(between, 0.0)), less(JITTER_S, abs(passed - between)))
    behind = chosen(both(moves, differs), behind, x.behind_by)
    rested = chosen(moves, 0.0, x.rested_for + passed)
    behind = chosen(both(negated(moves), less(behind, rested)), 0.0, behind)
    behind = chosen(both(new, x.unstamped), behind, x.behind_by)
    return {
        "repeated": chosen(either(new, repeated), repeated, x.repeated),
        "stood": chosen(new, 0.0, either(x.stood, repeated)),
        "behind_by": behind,
        "rested_for": chosen(new, rested, x.rested_for),
        "new": new,
        "state_stamp": chosen(x.unstamped, x.state_came - behind, x.state_stamp),
        "state_delay": chosen(x.unstamped, behind, x.state_delay),
    }
