"""Guard: what the controller believes of the robot in a cycle."""

from __future__ import annotations

from typing import Any

from robot_dynamics.compiler.graph.piecewise import clip, maximum
from robot_dynamics.control.fields import SCALAR, VECTOR, Field
from robot_dynamics.control.logic import (
    NEVER,
    both,
    chosen,
    equal,
    less,
    negated,
)

LARGEST_STATE = 1e6
"""Sum of magnitudes of positions and velocities beyond which they are no measurement."""

MISSED = 2.0
"""Gap between two states, as a multiple of the timeout, that counts although no cycle saw it: the
process itself may have stood still."""

TRUSTED_SHARE = 0.25
"""Age of a state up to which feedback is whole, as a share of `state_timeout`; beyond it the
feedback fades to nothing, so that a gap adds no energy."""

BELIEVED = {
    "cycle_at": Field(SCALAR, "time of the last cycle, s", NEVER),
    "dt": Field(SCALAR, "time since the cycle before, s"),
    "seen": Field(SCALAR, "1 once a state is known"),
    "fresh": Field(SCALAR, "1 if a state came since the cycle before"),
    "missed": Field(SCALAR, "1 if states had stopped before the one that came"),
    "state_at": Field(SCALAR, "time at which the last state came, s", NEVER),
    "age": Field(SCALAR, "time since the last state, s"),
    "trust": Field(SCALAR, "share of the feedback that acts, from 1 to 0 as a state grows old"),
    "q": Field(VECTOR, "positions of the last state, rad or m"),
    "qd": Field(VECTOR, "velocities of the last state, rad/s or m/s"),
    "stamp": Field(SCALAR, "time at which the last state was measured, s", NEVER),
    "senses": Field(SCALAR, "1 if friction remembers its measured way"),
    "observes": Field(SCALAR, "1 if the external efforts of a new state are observed"),
}


def believe(x: Any) -> dict[str, Any]:
    """Take a state that came, if its numbers are those of a measurement."""
    sound = less(sum(abs(number) for number in (*x.state_q, *x.state_qd)), LARGEST_STATE)
    fresh = both(sound, x.state_new)
    seen = chosen(x.seen, 1.0, fresh)
    gap = x.state_came - x.state_at
    missed = both(fresh, x.seen, less(MISSED * x.state_timeout, gap))
    state_at = chosen(fresh, x.state_came, x.state_at)
    age = x.now - state_at
    grace = TRUSTED_SHARE * x.state_timeout
    u = clip((age - grace) / (x.state_timeout - grace), 0.0, 1.0)
    stamp = chosen(fresh, x.state_stamp, x.stamp)
    observes = both(fresh, negated(equal(x.reaction, 0.0)), less(0.0, abs(stamp - x.stamp)))
    return {
        "cycle_at": x.now,
        "dt": chosen(less(x.cycle_at, NEVER / 2.0), 0.0, maximum(x.now - x.cycle_at, 0.0)),
        "seen": seen,
        "fresh": fresh,
        "missed": missed,
        "state_at": state_at,
        "age": age,
        "trust": 1.0 - u * u * (3.0 - 2.0 * u),
        "q": chosen(fresh, x.state_q, x.q),
        "qd": chosen(fresh, x.state_qd, x.qd),
        "stamp": stamp,
        "senses": both(observes, x.remembers),
        "observes": observes,
    }
