"""Guard: which states the controller believes, and how much feedback by them may act.

A state is believed if it can follow the one before: its positions fit the velocities and the time
between both. A state that does not fit is refused, and the arm is taken to move as desired. Once
the arm has come to rest without states, states that fit each other are believed again.

Feedback fades with the age of the last believed state, and with the time by which states come later
than usual, so that a gap adds no energy and a delay makes no oscillation.
"""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from robot_dynamics.compiler.graph.piecewise import clip, maximum, minimum
from robot_dynamics.control.fields import SCALAR, VECTOR, Field
from robot_dynamics.control.laws import FEEDFORWARD, position_error
from robot_dynamics.control.logic import (
    HUGE,
    NEVER,
    any_of,
    both,
    chosen,
    either,
    equal,
    first_largest,
    less,
    magnitude,
    negated,
)
from robot_dynamics.control.state_times import TIMED, timed
from robot_dynamics.control.status import Sentence
from robot_dynamics.foundation.arrays import Array

LARGEST_STATE = 1e6
"""Sum of magnitudes of positions and velocities beyond which they are no measurement."""

MISSED = 2.0
"""Gap between two states, as a multiple of the timeout, that counts although no cycle saw it: the
process itself may have stood still."""

TRUSTED_SHARE = 0.25
"""Age of a state up to which feedback is whole, as a share of `state_timeout`; beyond it the
feedback fades to nothing, so that a gap adds no energy."""

FADED = 0.5
"""Share of the feedback below which the arm may have left its motion."""

PROMPT = 0.5
"""Phase by which a delay that leaves feedback whole shifts it where the loop gain passes 1, rad."""

ANOTHER_CLOCK_S = 1.0
"""Change of the transmission time that is a step of a clock, s."""

DRIFT_OF_CLOCKS = 1e-4
"""Rate at which the clocks of two computers part."""

JUMP, JUMP_SPEED = 0.03, 0.1
"""Part of a step of position that the velocities do not explain and that may be noise: relative to
the distance at which a reference is near, and to the speed limit times the time of the step."""

STUCK = 0.05
"""Way by the velocity while the position does not change, relative to the distance at which a
reference is near; a coarse encoder shows less."""

FROZEN_S, FROZEN_SPEED = 0.05, 1e-4
"""Time after which a joint whose position and velocity stay the same numbers is frozen, and least
speed relative to the speed limit: that of a joint at rest may be the last digit of a sensor."""

LATE_S = 0.15
"""Time constant with which lateness is forgotten, s: errors have grown meanwhile."""

DRIFT, DRIFT_SPEED, JITTER_S = 0.02, 0.05, 2e-3
"""Difference of velocities from those by positions that may come from noise and filters: a distance
relative to the distance at which a reference is near, and a speed relative to the speed limit; and
error of the times of states, s. Feedback follows a wrong velocity at once: by the bandwidth."""

DRIFT_S = 0.01
"""Time over which velocities are compared with those by positions, s."""

STUCK_S = 0.5
"""Time within which the ways by the velocity of a position that stands add up, s."""

LONGEST_STEP_S = 0.1
"""Longest time between two states over which velocities explain a step of position, s."""

LONGEST_GAP_S = 0.1
"""Time between two states after which motion and external efforts are observed anew, s."""

LATEST = 0.5
"""Lateness of states that count as none, relative to `state_timeout`: with as little feedback as
they allow, friction would hold joints, which then catch up fast."""

CONFIRMED = 5
"""Consecutive states that fit each other and are believed although none fits the last one."""


class Flaw(enum.IntEnum):
    """Reason for which a state is not believed, or a reference not followed.

    Its number is that of the fields `flaw`, `absent` and `reason`.
    """

    NONE = 0
    JUMP = 1
    STUCK = 2
    DRIFT = 3
    UNREAD = 4
    REPEATED = 5
    LATE = 6
    AWAY = 7
    LEAPS = 8


FLAWS = {
    Flaw.NONE: Sentence("", ("", ""), ""),
    Flaw.JUMP: Sentence(
        "the position of joint '{joint}' jumps by {value}",
        ("position", ""),
        "is a sensor wrong, or do two nodes publish states?",
    ),
    Flaw.STUCK: Sentence(
        "the position of joint '{joint}' stands although its velocity is {value}",
        ("velocity", ""),
        "",
    ),
    Flaw.DRIFT: Sentence(
        "position and velocity of joint '{joint}' differ by {value}",
        ("position", ""),
        "check units and signs of the driver",
    ),
    Flaw.UNREAD: Sentence("the state of joint '{joint}' is not a finite number", ("", ""), ""),
    Flaw.REPEATED: Sentence(
        "they have not changed for {value} although the joints move",
        ("s", ""),
        "does the driver receive any?",
    ),
    Flaw.LATE: Sentence("they come {value} later than usual", ("s", ""), ""),
    Flaw.AWAY: Sentence("that of joint '{joint}' is {value} away", ("position", ""), ""),
    Flaw.LEAPS: Sentence("references leap by turns", ("", ""), "do two nodes send them?"),
}
"""Words for every flaw."""

BELIEVED = {
    "cycle_at": Field(SCALAR, "time of the last cycle, s", NEVER),
    "dt": Field(SCALAR, "time since the cycle before, s"),
    "seen": Field(SCALAR, "1 once a state is known"),
    "fresh": Field(SCALAR, "1 if a state came since the cycle before"),
    "missed": Field(SCALAR, "1 if states had stopped before the one that came"),
    "state_at": Field(SCALAR, "time at which the last believed state came, s", NEVER),
    "age": Field(SCALAR, "time since the last state, s"),
    "trust": Field(SCALAR, "share of the feedback that acts, from 1 to 0 as a state grows old"),
    "lateness": Field(SCALAR, "lateness of the last states, slowly forgotten, s"),
    "bridging": Field(SCALAR, "1 if feedback begins to fade"),
    "regained": Field(SCALAR, "1 if a state comes after feedback had faded"),
    "q": Field(VECTOR, "positions of the last state, rad or m"),
    "qd": Field(VECTOR, "velocities of the last state, rad/s or m/s"),
    "stamp": Field(SCALAR, "time at which the last state was measured, s", NEVER),
    "typical_delay": Field(SCALAR, "typical time from a stamp to its arrival, s", HUGE),
    "received_delay": Field(SCALAR, "time from the stamp of the last state, s", -HUGE),
    "fitted_delay": Field(SCALAR, "setting `delay` to which it belongs, s"),
    "late_by": Field(SCALAR, "time by which the last state came later than usual, s"),
    "received_at": Field(SCALAR, "time at which the last state came, believed or not, s", NEVER),
    "received_stamp": Field(SCALAR, "its stamp, s", NEVER),
    "received_q": Field(VECTOR, "its positions, rad or m"),
    "received_qd": Field(VECTOR, "its velocities, rad/s or m/s"),
    "fitting": Field(SCALAR, "consecutive states that fit each other"),
    "stuck_for": Field(
        VECTOR, "recent displacement by the velocity while the position stands, rad or m"
    ),
    "frozen_for": Field(VECTOR, "time for which position and velocity have not changed, s"),
    "drifted": Field(VECTOR, "recent displacement less integrated velocity, rad or m"),
    **TIMED,
    "absent": Field(SCALAR, "number of the reason for which no state came in time, or any"),
    "absent_joint": Field(SCALAR, "joint of that reason"),
    "absent_value": Field(SCALAR, "time of that reason, s"),
    "flaw": Field(SCALAR, "number of the reason for which the last state was not believed"),
    "flaw_joint": Field(SCALAR, "joint of that reason"),
    "flaw_value": Field(SCALAR, "value of that reason"),
    "senses": Field(SCALAR, "1 if presliding follows the measured motion"),
    "observes": Field(SCALAR, "1 if the external efforts of a new state are observed"),
}


def believe(x: Any) -> dict[str, Any]:
    """Take a state that came, if it is one of this arm at this time."""
    sound = less(magnitude(x.state_q, x.state_qd), LARGEST_STATE)
    came = timed(x, both(sound, x.state_new))
    x.learn({name: came[name] for name in ("state_stamp", "state_delay")})
    received = came["new"]
    # One of another publisher or clock, if it is alone: the next one is later than it
    older = both(received, less(x.state_stamp, x.received_stamp))
    delay = _delay(x, received)
    judged = _judge(x, received)
    unsure = either(negated(x.seen), less(x.state_timeout, x.now - x.state_at))
    enough = chosen(x.seen, float(CONFIRMED), 1.0)
    confirmed = both(unsure, negated(less(judged["fitting"], enough)))
    plain = equal(judged["flaw"], Flaw.NONE)
    fresh = both(received, negated(older), either(plain, confirmed))
    seen = chosen(x.seen, 1.0, fresh)
    interval = x.state_came - x.state_at
    # An arm that is found elsewhere has moved as no cycle saw
    elsewhere = either(less(MISSED * x.state_timeout, interval), negated(plain))
    missed = both(fresh, x.seen, elsewhere)
    state_at = chosen(fresh, x.state_came, x.state_at)
    age = x.now - state_at
    stamp = chosen(fresh, x.state_stamp, x.stamp)
    observes = both(fresh, negated(equal(x.reaction, 0.0)), less(0.0, abs(stamp - x.stamp)))
    late_by = chosen(fresh, delay["late_by"], x.late_by)
    dt = chosen(less(x.cycle_at, NEVER / 2.0), 0.0, maximum(x.now - x.cycle_at, 0.0))
    lateness = maximum(late_by, np.exp(-dt / LATE_S) * x.lateness)
    flaw = chosen(fresh, 0.0, judged["flaw"])
    # Some flaws show after a while: the states before them are wrong already
    trust = chosen(equal(flaw, Flaw.NONE), _trust(x, age, lateness), 0.0)
    return {
        "cycle_at": x.now,
        "dt": dt,
        "seen": seen,
        "fresh": fresh,
        "missed": missed,
        "state_at": state_at,
        "age": age,
        "trust": trust,
        "lateness": lateness,
        "bridging": both(less(trust, 1.0), negated(less(x.trust, 1.0))),
        "regained": both(fresh, less(x.trust, FADED)),
        "q": chosen(fresh, x.state_q, x.q),
        "qd": chosen(fresh, x.state_qd, x.qd),
        "stamp": stamp,
        **delay,
        **{name: came[name] for name in TIMED},
        **_absent(x, sound, came, late_by),
        "late_by": late_by,
        **judged,
        "flaw": flaw,
        "received_at": chosen(received, x.state_came, x.received_at),
        "received_stamp": chosen(received, x.state_stamp, x.received_stamp),
        "received_q": chosen(received, x.state_q, x.received_q),
        "received_qd": chosen(received, x.state_qd, x.received_qd),
        "senses": both(observes, x.has_memory),
        "observes": observes,
    }


def _absent(x: Any, sound: Any, came: dict[str, Any], late_by: Any) -> dict[str, Any]:
    """Return why no state came in time, and the first joint whose state is no number."""
    joint: Any = 0.0
    for k in range(len(x.state_q) - 1, -1, -1):
        whole = less(abs(x.state_q[k]) + abs(x.state_qd[k]), LARGEST_STATE)
        joint = chosen(whole, joint, float(k))
    unread = both(x.state_new, negated(sound))
    reason = chosen(came["repeated"], float(Flaw.REPEATED), x.absent)
    late = both(came["new"], less(LATEST * x.state_timeout, late_by))
    reason = chosen(came["new"], float(Flaw.LATE) * late, reason)
    value = chosen(came["repeated"], x.now - x.received_at, x.absent_value)
    return {
        "absent": chosen(unread, float(Flaw.UNREAD), reason),
        "absent_joint": chosen(unread, joint, x.absent_joint),
        "absent_value": chosen(late, late_by, value),
    }


def _delay(x: Any, received: Any) -> dict[str, Any]:
    """Return the typical transmission time, and by how much this state exceeds it.

    Stamps may come from another clock, so a change alone tells, and that of one stamp alone does
    not. It is the typical time once gains fit it.
    """
    passed = x.state_delay
    since = clip(x.state_came - x.received_at, 0.0, ANOTHER_CLOCK_S)
    typical = minimum(x.typical_delay + DRIFT_OF_CLOCKS * since, maximum(passed, x.received_delay))
    another = both(
        less(ANOTHER_CLOCK_S, abs(passed - x.typical_delay)),
        less(abs(passed - x.received_delay), ANOTHER_CLOCK_S),
    )
    typical = chosen(either(another, less(1e-9, abs(x.delay - x.fitted_delay))), passed, typical)
    return {
        "received_delay": chosen(received, passed, x.received_delay),
        "typical_delay": chosen(received, typical, x.typical_delay),
        "fitted_delay": chosen(received, x.delay, x.fitted_delay),
        "late_by": passed - typical,
    }


def _trust(x: Any, age: Any, late_by: Any) -> Any:
    """Return the share of the feedback that acts."""
    grace = TRUSTED_SHARE * x.state_timeout
    u = clip((age - grace) / (x.state_timeout - grace), 0.0, 1.0)
    # Feedback by the mass matrix and critically damped, and joint by joint; drives have no delay
    slow = either(both(x.inertia_weighted, equal(x.mode, FEEDFORWARD)), x.drive_feedback)
    crossing = maximum(chosen(slow, 0.0, x.fastest_mode), 2.0 * x.bandwidth)
    prompt = PROMPT / maximum(crossing, 1e-9)
    share = minimum(prompt / maximum(age + late_by, 1e-9), 1.0)
    return share * (1.0 - u * u * (3.0 - 2.0 * u))


def _judge(x: Any, received: Any) -> dict[str, Any]:
    """Return whether the state that came fits the one received before, and the last one."""
    step = elapsed(x.state_stamp - x.received_stamp, x.state_came - x.received_at)
    beyond, slack = _unexplained(x, x.received_q, x.received_qd, step)
    steps = negated(any_of(less(slack, abs(beyond))))
    fits = both(less(0.5, x.fitting), steps)
    aged = elapsed(x.state_stamp - x.stamp, x.state_came - x.state_at)
    jump, most = _unexplained(x, x.q, x.qd, aged)

    stands = less(abs(position_error(x.state_q, x.received_q, x.continuous)), 1e-12)
    again = both(stands, less(NEVER / 2.0, x.received_at))
    speed = abs(x.state_qd)
    lasting = maximum(1.0 - step / STUCK_S, 0.0) * x.stuck_for
    # One glitch of a velocity is no motion
    lasts = chosen(less(0.0, x.state_qd * x.received_qd), 1.0, 0.0)
    moves = lasts * chosen(less(speed, abs(x.received_qd)), x.state_qd, x.received_qd)
    most_stuck = STUCK * x.nearest
    stuck = clip(lasting + step * moves, -2.0 * most_stuck, 2.0 * most_stuck)
    stuck = chosen(again, stuck, 0.0 * stuck)
    same = both(again, less(abs(x.state_qd - x.received_qd), 1e-12))
    same = both(same, less(FROZEN_SPEED * x.velocity, speed), less(x.received_stamp, x.state_stamp))
    frozen = chosen(same, x.frozen_for + step, 0.0 * speed)
    kept = maximum(1.0 - step / DRIFT_S, 0.0)
    drifted = kept * x.drifted + chosen(steps, beyond, 0.0 * beyond)
    largest_drift = DRIFT * x.nearest + DRIFT_S * DRIFT_SPEED * x.velocity
    largest_drift = largest_drift + JITTER_S * maximum(speed, abs(x.received_qd))

    found: tuple[Any, ...] = (0.0, 0.0, 0.0)
    for flaw, excess, value in (
        (Flaw.JUMP, abs(jump) / most, jump),
        (Flaw.DRIFT, abs(drifted) / largest_drift, drifted),
        (Flaw.STUCK, maximum(abs(stuck) / most_stuck, frozen / FROZEN_S), x.state_qd),
    ):
        i, ratio, of_joint = first_largest(excess, value)
        happens = both(x.seen, less(1.0, ratio))
        found = tuple(
            chosen(happens, a, b) for a, b in zip((float(flaw), i, of_joint), found, strict=True)
        )
    stands_still = either(less(most_stuck, abs(stuck)), less(FROZEN_S, frozen))
    fine = negated(any_of(either(stands_still, less(largest_drift, abs(drifted)))))
    count = chosen(both(fits, fine), minimum(x.fitting + 1.0, 2.0 * CONFIRMED), fine)
    names = ("flaw", "flaw_joint", "flaw_value")
    return {
        **{
            name: chosen(received, new, getattr(x, name))
            for name, new in zip(names, found, strict=True)
        },
        "fitting": chosen(received, count, x.fitting),
        "stuck_for": chosen(received, stuck, x.stuck_for),
        "frozen_for": chosen(received, frozen, x.frozen_for),
        "drifted": chosen(received, drifted, x.drifted),
    }


def elapsed(by_stamps: Any, by_arrival: Any) -> Any:
    """Return the time from one state to the next over which velocities explain a step of position.

    A clock of a simulation runs at another speed than that of the arrival, or stands still. The
    arrival has to do where that clock jumps.
    """
    goes_on = both(negated(less(by_stamps, 0.0)), less(by_stamps, ANOTHER_CLOCK_S))
    return clip(chosen(goes_on, by_stamps, by_arrival), 0.0, LONGEST_STEP_S)


def _unexplained(x: Any, q: Array, qd: Array, step: Any) -> tuple[Array, Array]:
    """Return the displacement that velocities do not explain, and what may be noise.

    Args:
        x: Fields of the step.
        q: Positions of the earlier state, shape (n,).
        qd: Its velocities, shape (n,).
        step: Time since then, s.
    """
    moved = position_error(x.state_q, q, x.continuous)
    return moved - step * (x.state_qd + qd) / 2.0, noise(x.nearest, x.velocity, step)


def noise(nearest: Any, velocity: Any, step: Any) -> Any:
    """Return the displacement in a step of a time, s, that may be noise, rad or m."""
    return JUMP * nearest + JUMP_SPEED * velocity * step
