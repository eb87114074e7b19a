"""Collision detection: external efforts by the momentum of the arm, thresholds and reactions.

The observer of De Luca and Mattone ([DeLucaMattone2003], [Haddadin2017]) needs positions,
velocities and the efforts that act, but no accelerations. With p = M qd and
dp/dt = tau + tau_ext + C^T qd - g it computes

    r = K (p - p(0) - integral of (tau + C^T qd - g + r) dt),  so that  dr/dt = K (tau_ext - r)

r is the external effort through a low-pass of time constant 1/K. The equations take numbers or
symbols; `contacts` has the stage of the step with them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.compiler.graph.piecewise import maximum, minimum
from robot_dynamics.control.friction import (
    Friction,
    FrictionRows,
    breakaway,
    effort_beyond_friction,
    friction_effort,
)
from robot_dynamics.control.limits import default_thresholds, effort_limits
from robot_dynamics.control.logic import HUGE, both, chosen, first_largest, less
from robot_dynamics.control.model import Model
from robot_dynamics.errors import ArgumentError, unknown_name
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.kinematics.rates import weighted_inverse
from robot_dynamics.robot.robot import Robot

NONE, REPORT, STOP, FLOAT, RETREAT = "none", "report", "stop", "float", "retreat"
REACTIONS = (NONE, REPORT, STOP, FLOAT, RETREAT)

NO_REACTION, FLOATS, RETREATS = (REACTIONS.index(name) for name in (NONE, FLOAT, RETREAT))
ACTING = tuple(REACTIONS.index(name) for name in (STOP, FLOAT, RETREAT))
"""Numbers of reactions: none, to give way, to retreat, and all that change the motion."""

DEVIATIONS, LEAST_SHARE = 5.0, 0.01
"""Standard deviations of what an identified model leaves that make a threshold, and the least
threshold, relative to the effort limit: measured velocities have noise."""

FRICTION_SHARE = 0.3
"""Uncertainty of the friction of a joint in motion, relative to it: it varies with temperature."""

SLOW = 5.0
"""Speed below which dry friction may act in either direction, relative to the friction width."""

REACH = 3.0
"""Speed at which the band of a slow joint has faded, relative to that below which it is slow."""

RELEASE = 0.5
"""External effort at which a contact ends, relative to the threshold at which it begins."""

FADE_S, STOP_S = 0.02, 0.1
"""Longest fade of the efforts and longest time to come to rest after a collision, s."""

RETREAT_S, NOTE_S = 0.2, 0.02
"""Duration of the motion that a retreat takes back, and period of its recording, s."""

INSENSITIVE = 0.02
"""Joint effort per force (N m/N) or moment (N m/(N m)) below which no joint feels a wrench."""


@dataclass(frozen=True, eq=False)
class ThresholdBands:
    """Uncertainty of the efforts of an identified model, of n joints.

    Args:
        moving: Half-width while moving, at low speed, shape (n,), N m or N.
        per_speed: Its growth with speed, shape (n,), N m s/rad or N s/m.
        slow: Half-width while reversing or at rest, shape (n,), N m or N.
        slow_speed: Speed below which a joint reverses or rests, shape (n,), rad/s or m/s.

    Raises:
        ArgumentError: If a number is negative or NaN.
    """

    moving: Array
    per_speed: Array
    slow: Array
    slow_speed: Array

    def __post_init__(self) -> None:
        for one in fields(self):
            values = getattr(self, one.name)
            if not np.all(values >= 0.0):
                raise ArgumentError(f"{one.name} is {values}; give numbers of 0 or more")


@dataclass(frozen=True, eq=False)
class Collision:
    """Settings of the detection of collisions.

    A contact is an external effort of a joint beyond its threshold for `time`. The threshold is
    the uncertainty of the model: a constant part for masses, and a band of friction and drives.

    - The constant part is `threshold`, by default `THRESHOLD_SHARE` of the effort limit: masses
      that are wrong by 10 % stay below it. An identified model has `identified_thresholds`.
    - The band is `FRICTION_SHARE` of the friction of the model, and all of its dry friction where
      the joint moves slower than `SLOW` times the friction width: there dry friction may act in
      either direction. The last change of the command is added: a drive may apply it up to a
      period late. The band passes through the same low-pass as the external effort, so that an
      error within it never exceeds the threshold.

    With `bands` the identified bands replace both: the threshold is `factor` times their half-width
    at the present speed, at least `LEAST_SHARE` of the effort limit, and the last change of the
    command.

    Args:
        reaction: One of `REACTIONS`.
        gain: K, the reciprocal of the time constant, 1/s.
        time: Time above the threshold that counts as a contact, s.
        threshold: Constant part, shape (n,), N m or N; by default `default_thresholds`.
        bands: Bands of the identified model, if they are the thresholds.
        factor: Thresholds over their half-widths.

    Raises:
        UnknownNameError: If there is no such reaction.
        ArgumentError: If a number is out of its range.
    """

    reaction: str = REPORT
    gain: float = 100.0
    time: float = 0.005
    threshold: Array | None = None
    bands: ThresholdBands | None = None
    factor: float = 2.5

    def __post_init__(self) -> None:
        if not 0.0 < self.factor < np.inf:
            raise ArgumentError(f"factor is {self.factor}; give a positive number")
        if self.reaction not in REACTIONS:
            raise unknown_name("reaction", self.reaction, "robot_dynamics.control", REACTIONS)
        if not 0.0 < self.gain < np.inf:
            raise ArgumentError(f"gain is {self.gain} 1/s; give a positive number")
        if not 0.0 <= self.time < np.inf:
            raise ArgumentError(f"time is {self.time} s; give zero or more")
        if self.threshold is not None and not np.all(self.threshold > 0.0):
            raise ArgumentError(f"threshold is {self.threshold}; give positive numbers")


def identified_thresholds(robot: Robot, deviation: Array) -> Array:
    """Return thresholds by the uncertainty of an identified model, shape (n,), N m or N.

    Args:
        robot: The robot.
        deviation: Standard deviation of the efforts that the model does not explain on a held-out
            motion, shape (n,), N m or N.
    """
    return np.maximum(DEVIATIONS * deviation, least_thresholds(robot))


def least_thresholds(robot: Robot) -> Array:
    """Return the least thresholds of an identified model, shape (n,), N m or N."""
    limit = effort_limits(robot)
    return np.where(np.isfinite(limit), LEAST_SHARE * limit, 0.0)


class ObserverState(NamedTuple):
    """Numbers kept from state to state, shape (n,) each, the rows of the field `observer`.

    Args:
        p: Generalized momentum with rotors, N m s or N s.
        rate: C^T qd - g, N m or N.
        qd: Velocity, rad/s or m/s.
        direction: Presliding direction of friction, -1 to 1.
        tau: Effort since the state before, N m or N.
        effort: The external effort r, N m or N.
        band: Uncertainty of friction and drives in the threshold, N m or N.
    """

    p: Array
    rate: Array
    qd: Array
    direction: Array
    tau: Array
    effort: Array
    band: Array


class ObserverSettings(NamedTuple):
    """Numbers of each joint; see `Friction`, `Collision`.

    Args:
        friction: The rows of `FrictionRows`, with a width above zero.
        rotors: Rotor inertia, kg m^2 or kg.
        threshold: Constant part of the threshold, N m or N.
        dry: Share of dry friction in the band of a slow joint.
        share: Share of all friction in the band.
        per_speed: Growth of the band with speed, N m s/rad or N s/m.
        slow: Further part of the band of a slow joint, N m or N.
        slow_speed: Speed at which that of a slow joint has fallen to 24 %, rad/s or m/s.
    """

    friction: FrictionRows
    rotors: Array
    threshold: Array
    dry: Array
    share: Array
    per_speed: Array
    slow: Array
    slow_speed: Array

    @staticmethod
    def of(friction: FrictionRows, width: Any, rotors: Any, rows: Array) -> ObserverSettings:
        """Return the numbers of a step.

        Args:
            friction: Its friction.
            width: Width of friction that has none, rad/s or m/s.
            rotors: Its rotors.
            rows: See `contact_rows`.
        """
        own = chosen(less(0.0, friction.width), friction.width, width)
        return ObserverSettings(friction._replace(width=own), rotors, *rows)


def observer_equations(
    x: Mapping[str, Any], last: ObserverState, settings: ObserverSettings
) -> dict[str, Any]:
    """Advance the observer by one state, of numbers or of symbols.

    The mean external effort since the last state is the change of momentum less the impulse of
    the efforts, of gravity and of C^T qd (by the trapezoidal rule). r follows it by the exact
    solution of dr/dt = K (tau_ext - r) for a constant tau_ext, so every gain is stable at every
    period.

    Args:
        x: `p` and `rate` of the kernel `momentum` and `qd` at the present state; `direction` of
            presliding friction; `tau`, the effort since the last state, shape (n,) or (N, n) each;
            `dt` since then, s; `gain`, 1/s; and `afresh`, 1 to start afresh, else 0.
        last: From the last state.
        settings: Numbers of the joints.

    Returns:
        state: The `ObserverState` from now on.
        share: External efforts relative to their thresholds, shape (n,).
        largest: The largest of them.
    """
    dt, gain, afresh, tau, qd = (x[name] for name in ("dt", "gain", "afresh", "tau", "qd"))
    f = settings.friction
    p = x["p"] + settings.rotors * qd
    motions = (last.qd, last.direction), (qd, x["direction"])
    acted = (effort_beyond_friction(f, v, tau, f.width, presliding=z) for v, z in motions)
    mean = (sum(acted) + last.rate + x["rate"]) / 2.0
    share = 1.0 - np.exp(-gain * dt)
    external = (p - last.p) / dt - mean
    effort = (1.0 - afresh) * (last.effort + share * (external - last.effort))

    dry = f.coulomb + breakaway(f.stiction, f.stribeck, qd) + f.load * abs(tau)
    slow = 1.0 - abs(np.tanh(qd / settings.slow_speed))
    uncertain = dry * slow * settings.dry + settings.slow * slow + settings.per_speed * abs(qd)
    friction = friction_effort(f, qd, f.width, tau, presliding=x["direction"])
    uncertain = uncertain + settings.share * abs(friction)
    uncertain = uncertain + (1.0 - afresh) * abs(tau - last.tau)
    grown = share + afresh * (1.0 - share)
    band = last.band + grown * (uncertain - last.band)

    state = ObserverState(p, x["rate"], qd, x["direction"], tau, effort, band)
    over = abs(effort) / (settings.threshold + band)
    largest = over[0]
    for other in over[1:]:
        largest = maximum(other, largest)
    return {"state": state, "share": over, "largest": largest}


def unidentified_rows(width: Array) -> tuple[Array, ...]:
    """Return the rows behind `threshold` of a model without bands, each of shape (n,).

    Args:
        width: Friction width above zero, shape (n,), rad/s or m/s.
    """
    none = 0.0 * width
    return none + 1.0, none + FRICTION_SHARE, none, none, SLOW * width


def contact_rows(model: Model, collision: Collision) -> Array:
    """Return the rows of `ObserverSettings` behind the rotors, shape (6, n)."""
    robot = model.dynamics.robot
    n, none = robot.dof, np.zeros(robot.dof)
    own = model.friction or Friction.none(n)
    width = np.broadcast_to(np.where(own.width > 0.0, own.width, model.friction_width), n)
    bands, factor = collision.bands, collision.factor
    if bands is None:
        threshold = collision.threshold
        threshold = default_thresholds(robot) if threshold is None else threshold
        return np.array([threshold, *unidentified_rows(width)])
    threshold = np.maximum(factor * bands.moving, least_thresholds(robot))
    known = np.isfinite(threshold)
    slow = np.maximum(factor * np.where(known, bands.slow, 0.0) - threshold, 0.0)
    reach = np.where(bands.slow_speed > 0.0, REACH * bands.slow_speed, width)
    return np.array([threshold, none, none, factor * bands.per_speed, slow, reach])


def judge_contact(
    share: Any, worst: Any, since: Any, contact: Any, time: Any, at: Any
) -> tuple[Any, Any]:
    """Return the joint with a contact: that above its threshold for long enough.

    Args:
        share: External efforts relative to their thresholds, shape (n,).
        worst: The largest of them.
        since: Times since which joints are above their thresholds, shape (n,), s; `HUGE` for none.
        contact: Index of the joint with a contact until now, or -1.
        time: Time after which a joint is in contact, s.
        at: Time of the state, s.

    Returns:
        The new `since` and `contact`.
    """
    since = chosen(less(1.0, share), minimum(since, at), HUGE + 0.0 * since)
    long = less(since, at - time + 1e-9)
    contact = chosen(less(worst, RELEASE), -1.0, contact)
    joint, largest = first_largest(long * share)
    return since, chosen(both(less(contact, -0.5), less(0.0, largest)), joint, contact)


class EndEffectorWrench(NamedTuple):
    """Wrench that the surroundings exert on the end effector, as far as the joints feel it.

    Args:
        wrench: Force (N) over moment (N m) about the origin of the frame, axes of the root link,
            shape (6,).
        unobservable: Directions of wrenches that no joint feels, as columns, shape (6, k).
        left_over: External efforts that no wrench at the end effector explains, shape (n,): the
            contact is elsewhere, or the model is wrong.
    """

    wrench: Array
    unobservable: Array
    left_over: Array

    def __str__(self) -> str:
        values = ", ".join(f"{x:.3g}" for x in self.wrench)
        lost = self.unobservable.shape[1]
        return f"[{values}] N, N m" + (f"; {lost} of 6 directions move no joint" if lost else "")


def end_effector_wrench(J: Array, effort: Array) -> EndEffectorWrench:
    """Find the wrench at the end effector by external efforts: least squares of J^T F = effort.

    The component in directions that no joint feels, with singular values of J below `INSENSITIVE`,
    stays zero. They are those of a singular pose, and of an arm with fewer than six joints.
    Damping keeps the others from being magnified next to such poses.

    Args:
        J: Jacobian of the end effector, shape (6, n), linear over angular.
        effort: External efforts, shape (n,), N m or N.
    """
    U, values, _ = np.linalg.svd(J)
    observable = U[:, : int(np.sum(values > INSENSITIVE))]
    wrench = observable @ (weighted_inverse(J.T @ observable, damping=INSENSITIVE) @ effort)
    return EndEffectorWrench(wrench, U[:, observable.shape[1] :], effort - J.T @ wrench)
