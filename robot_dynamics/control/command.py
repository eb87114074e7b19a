"""Command: the efforts of a cycle, from those that the law asks for, within all limits."""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.compiler.graph.piecewise import clip, maximum, minimum, select
from robot_dynamics.control.collision import FADE_S
from robot_dynamics.control.fields import SCALAR, VECTOR, Field
from robot_dynamics.control.guard import Flaw
from robot_dynamics.control.laws import BY_JOINT, FEEDFORWARD, INERTIA_WEIGHTED, integrated
from robot_dynamics.control.limits import Limited, SoftLimits, limit_rate, saturate
from robot_dynamics.control.logic import (
    NEVER,
    among,
    both,
    chosen,
    either,
    equal,
    finite,
    less,
    negated,
)
from robot_dynamics.control.status import WITHOUT_STATES, Cause, Status
from robot_dynamics.control.supervision import AT_REST_SPEED
from robot_dynamics.control.transitions import share_of_fade
from robot_dynamics.foundation.arrays import Array

DISTURBANCE_WINDOW_S = 0.05
"""Time over which efforts are compared with those of the model, s."""

MOST_SHARE = 0.1
"""Largest disturbance by friction or load, relative to the effort limit; more is a collision."""

CALM = 10.0
"""Largest acceleration by a disturbance that is wrong, rad/s^2 or m/s^2."""

MOVES = 0.01
"""Speed above which a disturbance may be friction, rad/s or m/s."""

LONGEST_LEAD_S = 0.17
"""Lead kd/kp of feedback, s, from which it becomes no lasting effort: that of slow and late states,
which leave no margin for it. At 20 rad/s the lead is 0.1 s, and the lasting effort costs 3 degrees
of phase where the loop gain passes 1."""

SLOW_SHARE = 0.5
"""Speed below which friction fades on the way to rest, relative to the last one: dry friction stays
whole down to rest."""

COMMAND = {
    "tau": Field(VECTOR, "commanded efforts, N m or N"),
    "commanded_position": Field(
        VECTOR, "commanded positions, measured ones without feedback, rad or m"
    ),
    "commanded_velocity": Field(
        VECTOR, "commanded velocities, zero without feedback, rad/s or m/s"
    ),
    "total": Field(VECTOR, "commanded efforts and those of the drives' own feedback, N m or N"),
    "saturation": Field(VECTOR, "1 where the effort limit saturates the effort"),
    "integral": Field(VECTOR, "efforts of the integral part, N m or N"),
    "fade_offset": Field(
        VECTOR, "effort before the last fade minus the one that the fade leads to"
    ),
    "proportional": Field(VECTOR, "efforts of the own feedback joint by joint, N m or N"),
    "soft": Field(VECTOR, "efforts of the soft limits, N m or N"),
    "fade_began": Field(SCALAR, "time at which the last fade began, s", NEVER),
    "commands": Field(SCALAR, "1 if the efforts are to be commanded"),
    "edition": Field(SCALAR, "edition of the settings in use", -1.0),
    "was_ending": Field(SCALAR, "1 while efforts pass to the last command"),
    "disturbance": Field(VECTOR, "efforts that the model does not explain, N m or N"),
    "last_speed": Field(VECTOR, "velocity of the last state, rad/s or m/s"),
}


def command(x: Any) -> dict[str, Any]:
    """Compute the command: law, feedback joint by joint, soft limits, fade, rate and size.

    If any number is not finite, the last command stays. Without states the efforts pass to those of
    gravity where the arm was last.
    """
    starts = both(x.seen, negated(less(NEVER / 2.0, x.fade_began)))
    first = chosen(x.has_begin_tau, x.begin_tau, x.held_tau)
    last = Limited(chosen(starts, first, x.tau), x.saturation)
    none = np.zeros(len(x.q))
    closed = negated(x.open_loop)

    ends = less(0.5, x.ending)
    law_effort = chosen(x.open_loop, x.expected + _disturbance(x), x.law_effort)
    law_effort = chosen(
        both(equal(x.status, Status.OPEN_LOOP), x.ends_without_states), none, law_effort
    )
    law_effort = chosen(ends, x.end_tau, law_effort)

    changed = less(0.5, abs(x.settings_edition - x.edition))
    by_joint = both(among(x.law, BY_JOINT), closed)
    drives = less(0.5, x.drive_feedback)
    feedback = x.kp * x.error + x.kd * x.error_rate
    pd = chosen(drives, 0.0, by_joint * x.trust) * feedback
    velocity = chosen(x.has_feedback, x.desired[1], none)
    # Drives without a commanded velocity damp the motion itself
    undamping = chosen(both(drives, negated(x.drive_velocity)), x.kd * velocity, none)
    by_drives = chosen(x.has_feedback, feedback, -x.kd * x.qd) - undamping
    integrates = both(x.has_feedback, closed, negated(equal(x.cause, Cause.OSCILLATION)))
    began = chosen(both(x.entered, x.starts_measured), none, x.integral)
    error = chosen(x.fresh, x.error, none)
    # Unknown friction and load: what feedback has to add for long. It stays at rest, where friction
    # may hold any error, and a person may hold the arm. A joint with an integral gain needs none
    alone = negated(less(0.0, x.ki))
    compensates = both(equal(x.mode, FEEDFORWARD), less(0.0, x.integral_time), alone)
    tracks = both(equal(x.status, Status.TRACKING), negated(less(x.trust, 1.0)))
    moves = tracks * less(AT_REST_SPEED * x.velocity, abs(x.desired[1]))
    # Drives that hold a position move less fast when a state is taken than on the mean
    lasting = chosen(drives, by_joint * x.trust * x.kp * x.error, x.law_effort - x.expected + pd)
    rises = _is_quick(x) * lasting / maximum(x.integral_time, 1e-9)
    # Another model, mode or load lacks something else
    began = chosen(both(alone, changed), none, began)
    grows = both(compensates, moves) * rises
    most = minimum(x.i_clamp, chosen(compensates, _most_lasting(x), x.i_clamp))
    whole = Limited(chosen(starts, first, x.total), x.saturation)
    integral = integrated(began, x.dt * (x.ki * error + grows), most, whole)
    integral = chosen(integrates, integral, began)
    zones = SoftLimits(
        x.soft_lower, x.soft_upper, x.soft_velocity, x.soft_stiffness, x.soft_damping
    )
    soft = closed * zones.effort(x.q, x.qd)
    # What feedback added is kept while it fades, as far as the model does not explain it
    bridged = both(x.has_feedback, closed) * (1.0 - x.trust) * _disturbance(x)
    wanted = law_effort + pd + undamping + bridged + integrates * x.trust * integral + soft

    ends_now = both(ends, negated(x.was_ending))
    renew = either(starts, changed, x.entered, x.shakes, ends_now)
    began_at = chosen(renew, x.now, x.fade_began)
    at_once = less(1.5, x.ending)
    began_at = chosen(at_once, x.now - 2.0 * x.fade - 1.0, began_at)
    # The last effort threw the arm, or would once a blocked joint is free
    failed = both(equal(x.status, Status.STOPPED), negated(equal(x.cause, Cause.FAST_REFERENCE)))
    sudden = either(failed, x.shakes)
    duration = chosen(sudden, minimum(x.fade, FADE_S), x.fade)
    fade_offset = chosen(renew, last.tau - wanted, x.fade_offset)
    fading = share_of_fade(x.now - began_at, duration) * fade_offset
    aim = wanted + fading
    sound = both(finite(aim), x.seen)
    # Drives keep the last effort, which without states nothing corrects
    lost = both(x.open_loop, negated(sound))
    aim = chosen(lost, chosen(finite(x.held_tau), x.held_tau, none), aim)
    longest = minimum(x.dt, x.longest_cycle)
    tau, saturation = saturate(limit_rate(aim, last.tau, x.effort_rate, longest), x.effort)

    acts = either(sound, both(lost, x.seen))
    tau = chosen(acts, tau, last.tau)
    total = tau + chosen(drives, by_drives, none)
    saturation = chosen(drives, saturate(total, x.effort).saturation, saturation)
    lead = chosen(drives, 0.0, x.lead)
    position = chosen(x.has_feedback, x.desired[0] + lead * x.desired[1], x.q)
    return {
        "tau": tau,
        "commanded_position": clip(position, x.lower, x.upper),
        "commanded_velocity": velocity,
        "total": total,
        "saturation": chosen(acts, saturation, x.saturation),
        "integral": chosen(sound, integral, x.integral),
        "fade_offset": chosen(sound, fade_offset, x.fade_offset),
        "proportional": pd,
        "soft": soft,
        "fade_began": chosen(x.seen, began_at, x.fade_began),
        "commands": both(x.seen, negated(among(x.status, (Status.WAITING, Status.SILENT)))),
        "edition": chosen(x.seen, x.settings_edition, x.edition),
        "was_ending": ends,
        "disturbance": _found_disturbance(x, tau - undamping - fading),
        "last_speed": chosen(x.fresh, x.qd, x.last_speed),
    }


def _is_quick(x: Any) -> Any:
    """Return 1 for joints whose feedback has the margin to become a lasting effort."""
    # Gains that fit slow states may leave a joint little damping
    by_joint = maximum(x.kd / maximum(x.kp, 1e-9), 2.0 * x.own_inertia / maximum(x.kd, 1e-9))
    lead = chosen(equal(x.law, INERTIA_WEIGHTED), 2.0 / maximum(x.bandwidth, 1e-9), by_joint)
    return less(lead, LONGEST_LEAD_S)


def _most_lasting(x: Any) -> Any:
    """Return the largest lasting effort: no more than feedback adds at the near distance.

    A light joint that comes free of friction would be thrown by more.
    """
    return minimum(MOST_SHARE * x.effort, x.bandwidth * x.bandwidth * x.own_inertia * x.nearest)


def _found_disturbance(x: Any, tau: Array) -> Any:
    """Return the mean effort that the model does not explain; it rests while no state comes.

    Velocities that drift from the positions were wrong before that showed, and so was this effort.
    """
    most = MOST_SHARE * select(x.effort, 1e9, x.effort, 1e9)
    share = minimum(x.dt / DISTURBANCE_WINDOW_S, 1.0)
    found = x.disturbance + share * (clip(tau - x.expected, -most, most) - x.disturbance)
    sees = both(x.fresh, negated(less(x.trust, 1.0)), negated(among(x.status, WITHOUT_STATES)))
    return chosen(equal(x.flaw, Flaw.DRIFT), 0.0, 1.0) * chosen(sees, found, x.disturbance)


def _disturbance(x: Any) -> Any:
    """Return the effort to add to that of the model on the way to rest.

    A disturbance against the motion may be friction. It fades at low speed, or it would push a
    joint at rest. A load stays.
    """
    speed = abs(x.last_speed)
    may = less(0.0, x.disturbance * x.last_speed) * less(MOVES, speed)
    share = minimum(abs(x.desired[1]) / (SLOW_SHARE * maximum(speed, MOVES)), 1.0)
    most = CALM * x.own_inertia
    return chosen(may, share, 1.0) * clip(x.disturbance, -most, most)
