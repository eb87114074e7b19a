"""Supervision: which status follows, which law acts, and where the motion of a status begins."""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.compiler.graph.piecewise import clip, maximum, minimum
from robot_dynamics.control.collision import ACTING, FLOATS, NO_REACTION
from robot_dynamics.control.fields import SCALAR, VECTOR, Facts, Field
from robot_dynamics.control.guard import LATEST, Flaw
from robot_dynamics.control.laws import (
    FEEDBACK,
    FEEDFORWARD,
    FLOATING_LAW,
    GRAVITY_LAW,
    IN_TASK_SPACE,
    INERTIA_WEIGHTED,
    position_error,
)
from robot_dynamics.control.limits import FAST
from robot_dynamics.control.logic import (
    HUGE,
    NEVER,
    all_of,
    among,
    any_of,
    both,
    chosen,
    either,
    equal,
    finite,
    first_largest,
    less,
    negated,
)
from robot_dynamics.control.motion import FARTHEST_S, JOINING, Segment, desired_state, on_segment
from robot_dynamics.control.status import (
    AT_REST,
    GIVEN_UP,
    WITHOUT_STATES,
    Cause,
    Status,
    next_status,
)
from robot_dynamics.control.watches import LIMITED
from robot_dynamics.foundation.arrays import Array

AT_END = 0.01
"""Distance from the end of its range at which a joint stands there, rad or m."""

PUSHED = (
    Cause.TRACKING_ERROR,
    Cause.SOFTENED,
    Cause.OVERLOADED,
    Cause.SATURATION,
    Cause.STANDING,
)
"""Causes behind which there may be the end of a range."""

SHORTEST_PAUSE_S = 0.1
"""Least time to settle after a joint did not move, s."""

BLENDED = 0.05
"""Jump of a reference that is followed at once, relative to the distance at which it is near."""

AT_ARM = 0.2
"""Distance from the arm at which a reference begins, relative to the one at which it is near."""

EXPLAINED = 2.0
"""Way of a reference in one motion, relative to its speed times the time: it may accelerate."""

UNTIMED_S = 1.0
"""Age of a reference beyond which its stamp is of another clock, or none, s."""

ALONE_S = 0.15
"""Time without a leap after which a reference is that of one source: two of them leap by turns."""

AT_REST_SPEED = 1e-3
"""Speed of a reference at rest, relative to the speed limit."""

TOO_FAST = 1.2
"""Measured speed that stops the arm, relative to the speed limit."""

WEIGHTLESS_S = 1.0
"""Time for which external efforts are those of gravity before that stops the arm, s."""

SOONEST_S = 0.1
"""Least time in which a joint reaches its speed limit, s."""

REFERENCE = {
    "reference": Field((2, "n"), "the last reference, q and qd"),
    "reference_ahead": Field(SCALAR, "time since the reference, s"),
    "before": Field((2, "n"), "reference before the time of the last state, q and qd"),
    "after": Field((2, "n"), "reference after it"),
    "share": Field(SCALAR, "share of the motion between them"),
    "ahead": Field(SCALAR, "time beyond the second one, s"),
    "reference_qdd": Field(VECTOR, "accelerations of the reference; 0 where unknown"),
    "reference_tau": Field(VECTOR, "efforts that came with the reference, N m or N"),
    "has_tau": Field(SCALAR, "1 if efforts came with the reference"),
    "reference_at": Field(SCALAR, "time at which the last reference came, s", NEVER),
    "referenced": Field(SCALAR, "1 if there is a reference"),
    "leapt_at": Field(SCALAR, "time at which the reference last leapt, s", NEVER),
    "requested_at": Field(
        SCALAR, "last time at which a reference or target asked for motion", NEVER
    ),
}

SUPERVISION = {
    "begun": Field(SCALAR, "1 once efforts have been computed"),
    "status": Field(SCALAR, "number of the status"),
    "cause": Field(SCALAR, "number of the cause of the present stop"),
    "stop_joint": Field(SCALAR, "joint that stopped the arm"),
    "stop_value": Field(SCALAR, "magnitude that exceeded its limit"),
    "stop_limit": Field(SCALAR, "the limit"),
    "warning": Field(SCALAR, "number of the cause that is reported and does not stop the arm"),
    "warning_joint": Field(SCALAR, "its joint"),
    "warning_value": Field(SCALAR, "its magnitude"),
    "warning_limit": Field(SCALAR, "the limit"),
    "paused": Field(SCALAR, "1 from a loss of messages to `resume`"),
    "armed": Field(SCALAR, "1 if the present motion of the reference began where the arm is"),
    "settled_at": Field(SCALAR, "time until which the arm is held before it follows, s", NEVER),
    "touched": Field(SCALAR, "joint with a contact, or -1", -1.0),
    "law": Field(SCALAR, "number of the law that acts"),
    "has_feedback": Field(SCALAR, "1 if the law of the mode brings the arm to the desired motion"),
    "open_loop": Field(SCALAR, "1 if efforts act without feedback"),
    "follows": Field(SCALAR, "1 if the arm follows the reference"),
    "entered": Field(SCALAR, "1 if the status is new"),
    "begins": Field(SCALAR, "1 if a transition begins"),
    "shakes": Field(SCALAR, "1 if an oscillation was found in this cycle"),
    "jumps": Field(SCALAR, "1 if the reference went on elsewhere"),
    "blends": Field(SCALAR, "1 if it went on near where it was, which the arm joins"),
    "reason": Field(SCALAR, "number of the `Flaw` for which the status is this one, or 0"),
    "reason_joint": Field(SCALAR, "its joint"),
    "reason_value": Field(SCALAR, "its value"),
    "lasting_error": Field(VECTOR, "position errors under whole feedback, rad or m"),
    "predicts": Field(SCALAR, "1 if its acceleration is that of the reference's efforts"),
    "start": Field((3, "n"), "state in which the transition begins"),
    "starts_measured": Field(SCALAR, "1 if that is the measured state"),
    "gives_up": Field(SCALAR, "1 if targets in task space are given up"),
    "forgets": Field(SCALAR, "1 if the end effector is held where it is"),
    "was_in_task": Field(SCALAR, "1 if the mode controls the end effector"),
    "enters_task": Field(SCALAR, "1 if it did not in the last cycle"),
}


def present_of(x: Any) -> Segment:
    """Return the reference now."""
    return Segment(x.reference, x.reference, 0.0, x.reference_ahead, x.reference_qdd)


def compared_of(x: Any) -> Segment:
    """Return the reference at the time of the last state."""
    return Segment(x.before, x.after, x.share, x.ahead, x.reference_qdd)


def behind(x: Any, follows: Any) -> Any:
    """Return the displacement of the reference since the last state, shape (3, n); zero at rest."""
    displacement = on_segment(present_of(x)) - on_segment(compared_of(x))
    return chosen(follows, displacement, 0.0 * displacement)


def take_reference(x: Any) -> dict[str, Any]:
    """Take the reference that came, if it is sound; tell whether it goes on elsewhere."""
    in_task = among(x.mode, IN_TASK_SPACE)
    known = less(NEVER / 2.0, x.came_ahead)
    ahead = chosen(known, x.came_ahead, 0.0)
    sound = both(
        less(NEVER / 2.0, x.reference_came),
        finite(x.came_reference, x.came_before, x.came_after, x.came_qdd, x.came_tau),
        finite(np.array([x.came_share, ahead, x.came_reference_age])),
    )
    usable = both(sound, negated(in_task))
    new = both(usable, less(x.reference_at, x.reference_came))
    since = chosen(usable, maximum(x.now - x.reference_came, 0.0), 0.0)
    age = since + _believed_age(x.came_reference_age)
    ahead = chosen(known, ahead + maximum(since - FARTHEST_S, 0.0), age)
    given = {
        "reference": x.came_reference,
        "reference_ahead": age,
        "before": x.came_before,
        "after": x.came_after,
        "share": x.came_share,
        "ahead": ahead,
        "reference_qdd": x.came_qdd,
        "reference_tau": x.came_tau,
        "has_tau": x.came_has_tau,
    }
    tracking = equal(x.status, Status.TRACKING)
    went_on = both(new, tracking, x.referenced)
    old = present_of(x)
    expected = on_segment(old._replace(ahead=old.ahead + x.dt))
    here = on_segment(Segment(x.came_reference, x.came_reference, 0.0, age, x.came_qdd))
    jump = abs(position_error(here[0], expected[0] + _accelerated(x, old, age), x.continuous))
    jumps = both(went_on, any_of(less(x.nearest, jump)))
    blends = both(went_on, negated(jumps), any_of(less(BLENDED * x.nearest, jump)))
    # References may be rare: one that passes the arm moves as its speed says
    speed = maximum(abs(x.came_reference[1]), abs(x.reference[1]))
    explained = EXPLAINED * maximum(x.reference_came - x.reference_at, x.dt) * speed
    displacement = abs(position_error(x.came_reference[0], x.reference[0], x.continuous))
    leaps = both(new, x.referenced, any_of(less(AT_ARM * x.nearest + explained, displacement)))
    requested_at = chosen(both(in_task, negated(x.was_in_task)), NEVER, x.requested_at)
    requested_at = chosen(both(in_task, x.target_moves), x.now, requested_at)
    return {
        **{name: chosen(usable, value, getattr(x, name)) for name, value in given.items()},
        "reference_at": chosen(either(new, in_task), x.reference_came, x.reference_at),
        "referenced": chosen(in_task, 0.0, either(x.referenced, new)),
        "requested_at": chosen(new, x.reference_came, requested_at),
        "new_reference": new,
        "jumps": jumps,
        "blends": blends,
        "leapt_at": chosen(leaps, x.now, x.leapt_at),
        "anew": both(leaps, less(ALONE_S, x.now - x.leapt_at)),
    }


def _accelerated(x: Any, old: Segment, age: Any) -> Array:
    """Return the displacement of a reference by its change of velocity, as fast as a joint may."""
    until, since = (minimum(time, FARTHEST_S) for time in (old.ahead + x.dt, age))
    most = maximum(until - since, 1e-9) / SOONEST_S * x.velocity
    changed = clip(x.came_reference[1] - x.reference[1], -most, most)
    return np.asarray((until + since) / 2.0 * changed)


def _believed_age(age: Any) -> Any:
    """Return the age of a reference by its stamp; zero if the stamp is of another clock."""
    return chosen(both(less(0.0, age), less(age, UNTIMED_S)), age, 0.0)


def supervise(x: Facts) -> dict[str, Any]:
    """Decide on status, law and transition of a cycle."""
    reference = take_reference(x)
    old = present_of(x)
    present = desired_state(x, x.follows, old._replace(ahead=old.ahead + x.dt), x.now)
    x.learn({name: reference[name] for name in reference if name not in ("blends", "anew")})
    now, in_task, jumps = x.now, among(x.mode, IN_TASK_SPACE), reference["jumps"]
    before = x.status
    tracking = equal(before, Status.TRACKING)
    segment = present_of(x)
    current = desired_state(x, x.follows, segment, now) - behind(x, x.follows)
    tested = chosen(either(jumps, reference["blends"]), present, current)
    error = chosen(x.fresh, position_error(tested[0], x.q, x.continuous), x.error)

    # What stops the arm: the first cause is kept until `resume`
    resumed = both(x.resume, either(x.paused, less(0.5, x.cause)))
    cause, joint, value, limit = _first_cause(x, error, resumed)

    without_states = less(x.state_timeout, x.age + x.late_by / LATEST)
    without_states = either(without_states, both(x.missed, negated(among(before, WITHOUT_STATES))))
    commanded = negated(less(x.reference_timeout, now - x.requested_at))
    lost = both(tracking, either(without_states, negated(either(commanded, in_task))))
    paused = chosen(lost, negated(x.resume_by_itself), both(x.paused, negated(resumed)))
    first = both(x.seen, negated(x.begun))
    settled_at = chosen(
        x.brake_closed, now + maximum(x.settling_time, SHORTEST_PAUSE_S), x.settled_at
    )
    waits = either(first, without_states, both(x.unheard, negated(tracking)))
    settled_at = chosen(waits, now + x.settling_time, settled_at)
    goes_on = both(commanded, negated(either(without_states, jumps)))
    armed = _is_armed(x, segment, goes_on, reference["anew"])
    by_hand = both(x.begun, negated(x.has_feedback))
    follows_on = both(tracking, negated(either(jumps, by_hand)))
    _, would_follow, _ = _law(x, float(Status.TRACKING), cause, in_task)
    comes = both(would_follow, negated(either(in_task, armed, follows_on)))

    status = next_status(
        Facts(
            {name: getattr(x, name) for name in ("seen", "age", "now", "halted", "refused")},
            {name: getattr(x, name) for name in ("state_timeout", "open_loop_timeout", "stop")},
            {
                "without_states": without_states,
                "cause": cause,
                "commanded": commanded,
                "paused": paused,
            },
            {"comes": comes, "settled_at": settled_at},
        )
    )
    entered = both(negated(equal(status - before, 0.0)), x.seen)
    law, has_feedback, open_loop = _law(x, status, cause, in_task)

    # Where the transition of a new status begins
    shakes = both(equal(cause, Cause.OSCILLATION), negated(equal(x.cause, Cause.OSCILLATION)))
    led = either(both(by_hand, has_feedback), shakes)
    stays = both(among(before, AT_REST), negated(by_hand), negated(equal(status, Status.STOPPED)))
    left = both(tracking, among(status, (Status.HOLDING, Status.RESUMED)), negated(by_hand))
    goes_on = either(stays, left)
    predicts = both(entered, equal(status, Status.OPEN_LOOP))
    measured = negated(either(predicts, both(entered, goes_on)))
    blends = both(reference["blends"], negated(either(entered, led)))
    flees = both(negated(either(entered, led, tracking)), _runs_away(x, has_feedback, error))
    none = 0.0 * x.q
    # What the arm lost while feedback had faded is made up for by a slow motion, not by feedback
    whole = both(x.fresh, negated(either(less(x.trust, 1.0), x.regained)))
    lasting_error = chosen(tracking, chosen(whole, error, x.lasting_error), none)
    grown = abs(error - lasting_error) - JOINING * x.velocity / maximum(x.bandwidth, 1e-9)
    lags = both(x.regained, follows_on, negated(entered), any_of(less(0.0, grown)))
    start = np.array([x.q, chosen(flees, none, x.qd), none])
    start = chosen(both(entered, goes_on), np.array([present[0], present[1], none]), start)
    went_on = both(x.has_feedback, negated(among(before, WITHOUT_STATES)), negated(x.fresh))
    drifted = np.array([x.q + (x.age + x.late_by) * x.qd, x.qd, none])
    start = chosen(predicts, chosen(went_on, present, drifted), start)
    start = chosen(blends, present, start)
    start = chosen(lags, np.array([x.q + lasting_error, x.qd, none]), start)
    # The motion to rest is one that the arm can make, also from a wrong state
    fastest = TOO_FAST * x.velocity
    sudden = fastest / SOONEST_S
    start = np.array([start[0], clip(start[1], -fastest, fastest), clip(start[2], -sudden, sudden)])
    follows = both(equal(status, Status.TRACKING), x.referenced, negated(in_task))

    stopped = equal(status, Status.STOPPED)
    unsure = among(before, (Status.STOPPED, Status.OPEN_LOOP, Status.SILENT))
    forgets = both(entered, either(stopped, unsure))
    return {
        **{name: reference[name] for name in REFERENCE},
        "requested_at": chosen(both(forgets, in_task), NEVER, x.requested_at),
        "begun": either(x.begun, x.seen),
        "status": status,
        "cause": cause,
        "stop_joint": joint,
        "stop_value": abs(value),
        "stop_limit": limit,
        **_warning(x, cause),
        "paused": paused,
        "armed": armed,
        "settled_at": settled_at,
        "touched": _touched(x),
        "law": law,
        "has_feedback": has_feedback,
        "open_loop": open_loop,
        "follows": follows,
        "entered": entered,
        "begins": either(entered, led, flees, blends, lags),
        "shakes": shakes,
        "jumps": jumps,
        "blends": blends,
        "lasting_error": lasting_error,
        **_reason(x, status, segment),
        "predicts": both(predicts, went_on, x.follows, x.has_tau),
        "start": start,
        "starts_measured": both(either(entered, led, flees), measured),
        "gives_up": either(x.halted, x.refused, among(status, GIVEN_UP)),
        "forgets": forgets,
        "was_in_task": in_task,
        "enters_task": both(in_task, negated(x.was_in_task)),
    }


def _touched(x: Any) -> Any:
    """Return the joint with a contact, or -1: closed brakes are none, nor is a person who leads."""
    tracking = equal(x.status, Status.TRACKING)
    judged = either(tracking, among(x.status, (Status.HOLDING, Status.STOPPED)))
    braked = either(both(tracking, negated(x.answers)), less(-0.5, x.brake_joint))
    led = negated(either(x.has_feedback, x.was_in_task))
    seen = both(judged, negated(braked), negated(led), negated(equal(x.reaction, NO_REACTION)))
    return chosen(seen, x.contact, -1.0)


def _warning(x: Any, cause: Any) -> dict[str, Any]:
    """Return what is reported, with joint, value and limit: a contact, or friction counted twice.

    Args:
        x: Fields of the step.
        cause: Cause of the present stop.
    """
    touched = _touched(x)
    touches = both(less(-0.5, touched), negated(equal(cause, Cause.COLLISION)))
    contact = (float(Cause.COLLISION), touched, *_of_contact(x))
    rubs = (float(Cause.FRICTION_TWICE), x.rubs_joint, x.rubs_value, x.rubs_limit)
    seen = both(x.rubs_twice, negated(equal(x.reaction, NO_REACTION)))
    found = (chosen(touches, a, seen * b) for a, b in zip(contact, rubs, strict=True))
    warning, joint, value, limit = found
    return {
        "warning": warning,
        "warning_joint": joint,
        "warning_value": abs(value),
        "warning_limit": limit,
    }


def _of_contact(x: Any) -> tuple[Any, Any]:
    """Return external effort and threshold of the joint with a contact."""
    here = [less(abs(x.contact - k), 0.5) for k in range(len(x.q))]
    external, threshold = (
        sum(a * b for a, b in zip(here, row, strict=True)) for row in (x.external, x.threshold)
    )
    return external, threshold


def _first_cause(x: Any, error: Any, resumed: Any) -> tuple[Any, ...]:
    """Return cause, joint, value and limit of the present stop; the cause is 0 without one."""
    tracking = both(equal(x.status, Status.TRACKING), x.has_feedback)
    found = tuple(
        chosen(resumed, 0.0, own) for own in (x.cause, x.stop_joint, x.stop_value, x.stop_limit)
    )
    speed = abs(x.reference[1])
    i, ratio, value, limit = first_largest(speed / (FAST * x.velocity), speed, x.velocity)
    fast = both(x.new_reference, tracking, less(1.0, ratio))
    hit = both(less(-0.5, _touched(x)), among(x.reaction, ACTING))
    external, threshold = _of_contact(x)
    k, excess, off, allowed, soft, at_limit = first_largest(
        abs(error) - x.allowed, error, x.allowed, x.softened, x.at_limit
    )
    strays = chosen(less(LIMITED, at_limit), float(Cause.OVERLOADED), float(Cause.TRACKING_ERROR))
    strays = chosen(less(0.0, soft), float(Cause.SOFTENED), strays)
    # One glitch of a velocity is none
    rushing = minimum(abs(x.qd), abs(x.last_speed))
    j, over, rushed, fastest = first_largest(rushing / (TOO_FAST * x.velocity), x.qd, x.velocity)
    rushes = both(x.fresh, less(1.0, over), negated(x.open_loop))
    # A person may lift an arm for a moment
    sure = chosen(rushes, x.contact_time, WEIGHTLESS_S)
    observed = negated(either(x.open_loop, equal(x.reaction, NO_REACTION)))
    weightless = both(less(sure, x.weightless_for), observed)
    candidates = (
        (both(less(0.5, x.watched), negated(resumed)), x.watched, x.watched_joint,
         x.watched_value, x.watched_limit),
        (weightless, float(Cause.GRAVITY_TWICE), x.weightless_joint, x.weightless_value,
         x.weightless_limit),
        (rushes, float(Cause.OVERSPEED), j, rushed, fastest),
        (fast, float(Cause.FAST_REFERENCE), i, value, limit),
        (hit, float(Cause.COLLISION), x.contact, external, threshold),
        (both(tracking, less(0.0, excess)), strays, k, off, chosen(less(0.0, soft), soft, allowed)),
    )  # fmt: skip
    for happens, *reason in candidates:
        takes = both(happens, equal(found[0], Cause.NONE))
        found = tuple(chosen(takes, a, b) for a, b in zip(reason, found, strict=True))
    if_at_end = _at_end(x, found[0], found[1], error)
    found = tuple(chosen(if_at_end[0], a, b) for a, b in zip(if_at_end[1:], found, strict=True))
    # An oscillation is also found in an arm that is stopped for another cause
    shakes = both(less(0.5, x.oscillates), negated(resumed))
    shakes = both(shakes, negated(among(found[0], (Cause.COLLISION, Cause.OSCILLATION))))
    shaking = x.oscillates, x.oscillating_joint, x.oscillating_size, x.oscillating_rate
    return tuple(chosen(shakes, a, b) for a, b in zip(shaking, found, strict=True))


def _at_end(x: Any, cause: Any, joint: Any, error: Any) -> tuple[Any, ...]:
    """Return whether an arm stops anew because a joint is at the end of its range, and the reason.

    Args:
        x: Fields of the step.
        cause: Cause of the stop so far.
        joint: Its joint.
        error: Position errors, shape (n,), rad or m.
    """
    to_end, off = HUGE, 0.0
    for k, distance in enumerate(minimum(x.q - x.lower, x.upper - x.q)):
        here = less(abs(joint - k), 0.5)
        to_end, off = chosen(here, distance, to_end), chosen(here, error[k], off)
    pushed = both(among(cause, PUSHED), equal(x.cause, Cause.NONE), less(to_end, AT_END))
    return pushed, float(Cause.END_OF_RANGE), joint, off, to_end


def _is_armed(x: Any, segment: Segment, goes_on: Any, anew: Any) -> Any:
    """Return whether the reference rests or begins anew at the arm, or has gone on from there.

    One that passes the arm did not begin there, and those of two sources leap by turns. A
    controller that was given positions only writes their speed from the start.
    """
    q, qd, _ = on_segment(segment)
    distance = abs(position_error(q, x.q, x.continuous))
    here = all_of(less(distance, AT_ARM * x.nearest))
    rests = negated(any_of(less(AT_REST_SPEED * x.velocity, abs(qd))))
    close = all_of(less(distance, x.nearest))
    begins = both(here, either(both(rests, less(ALONE_S, x.now - x.leapt_at)), anew))
    return both(x.referenced, goes_on, either(begins, both(x.armed, close)))


def _reason(x: Any, status: Any, segment: Segment) -> dict[str, Any]:
    """Return why states are missing, or the reference is not where a motion may begin."""
    away = equal(status, Status.RESUMED)
    lost = among(status, (Status.OPEN_LOOP, Status.SILENT))
    of_state = (
        chosen(less(0.5, x.absent), getattr(x, f"absent{part}"), getattr(x, f"flaw{part}"))
        for part in ("", "_joint", "_value")
    )
    found = (chosen(away, a, lost * b) for a, b in zip(_away(x, segment), of_state, strict=True))
    return dict(zip(("reason", "reason_joint", "reason_value"), found, strict=True))


def _away(x: Any, segment: Segment) -> tuple[Any, Any, Any]:
    """Return the `Flaw` of the reference, its joint farthest from the arm, and its distance."""
    distance = abs(position_error(on_segment(segment)[0], x.q, x.continuous))
    joint, ratio, value = first_largest(distance / x.nearest, distance)
    leaps = less(x.now - x.leapt_at, ALONE_S)
    far = chosen(less(AT_ARM, ratio), float(Flaw.AWAY), 0.0)
    found = chosen(leaps, float(Flaw.LEAPS), far)
    return chosen(x.referenced, found, 0.0), joint, value


def _law(x: Any, status: Any, cause: Any, in_task: Any) -> tuple[Any, Any, Any]:
    """Return the number of the law, whether it has feedback, and whether it acts without it."""
    held = chosen(x.inertia_weighted, float(INERTIA_WEIGHTED), float(FEEDFORWARD))
    law = chosen(equal(x.mode, FEEDFORWARD), held, x.mode)
    # An arm that is led, or whose end effector is, is brought to rest by the feedback of its joints
    free = either(in_task, among(cause, (Cause.OVERSPEED, Cause.GRAVITY_TWICE)))
    law = chosen(both(free, equal(status, Status.STOPPED)), held, law)
    floats_at_rest = both(
        equal(status, Status.HOLDING), x.referenced, negated(x.halted), x.floats_on_timeout
    )
    law = chosen(both(floats_at_rest, negated(in_task)), float(GRAVITY_LAW), law)
    # The feedback that oscillates would not end it; that of drives cannot be changed
    softens = both(equal(cause, Cause.OSCILLATION), negated(x.drive_feedback))
    law = chosen(softens, float(INERTIA_WEIGHTED), law)
    floats = both(equal(cause, Cause.COLLISION), equal(x.reaction, FLOATS))
    law = chosen(floats, float(FLOATING_LAW), law)
    # A state that comes late still tells where the arm was
    late = both(x.fresh, less(0.0, x.late_by), negated(x.missed))
    predicted = both(equal(status, Status.OPEN_LOOP), negated(late))
    open_loop = either(predicted, less(0.5, x.ending))
    return chosen(open_loop, float(FEEDFORWARD), law), among(law, FEEDBACK), open_loop


def _runs_away(x: Any, has_feedback: Any, error: Any) -> Any:
    """Return whether the arm is too fast and far from its motion to rest for stable feedback."""
    fast = any_of(less(x.velocity, abs(x.qd)))
    far = any_of(less(x.allowed, abs(error)))
    return both(x.begun, x.fresh, has_feedback, negated(x.open_loop), fast, far)
