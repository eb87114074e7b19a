"""Controller: what a control node asks every cycle, with time and messages passed in.

Puts the laws, the limits and the watchdogs together, so that whatever happens
(a mode switch, new gains, a message that does not come) the efforts change
without a step.
"""

from __future__ import annotations

import enum
import functools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.control.effort_limits import effort_limits, limit_rate, saturate
from robot_dynamics.control.integral import Cut, integrate_error
from robot_dynamics.control.laws import (
    MODES,
    Law,
    Measured,
    Reference,
    gravity_compensation,
    position_error,
)
from robot_dynamics.control.model import Model
from robot_dynamics.control.safety import Brakes, SoftLimits, Watchdog, all_finite, lost_tracking
from robot_dynamics.control.transitions import Fade
from robot_dynamics.errors import ArgumentError, unknown_name
from robot_dynamics.trajectory.follower import Follower
from robot_dynamics.trajectory.interpolation import quintic
from robot_dynamics.trajectory.replacement import at_rest_after
from robot_dynamics.trajectory.trajectory import State, Trajectory

REST, HOLD, GRAVITY, ZERO_EFFORT = "rest", "hold", "gravity_compensation", "zero_effort"
ON_STATE_TIMEOUT = (REST, ZERO_EFFORT)
ON_REFERENCE_TIMEOUT = (HOLD, GRAVITY)

USUAL_SPEED = 1.0
"""Speed of a joint that a URDF gives no limit for, rad/s or m/s."""

SHORTEST_JOIN = 1e-3
"""Least time to pass from one motion to another, s."""

SHORTEST_PAUSE = 0.1
"""Least time for which joints that did not move are left alone, s."""


@dataclass(frozen=True, eq=False)
class Settings:
    """How a controller behaves; every time in s.

    Args:
        mode: One of `MODES`.
        effort_rate: Largest change of effort, N m/s or N/s, shape (n,) or one number.
        fade: Time over which efforts pass from one law, or one set of gains, to another.
        soft_limits: Springs at the edges of the joint ranges; by default none.
        tracking_limit: Position error that stops the arm, shape (n,), rad or m; infinite for none.
        state_timeout: Age at which measured states are stale.
        reference_timeout: Age at which references are stale.
        on_state_timeout: What becomes of an arm that nobody sees, one of `ON_STATE_TIMEOUT`: it is
            brought to rest and held by its model, or its efforts fade to zero.
        on_reference_timeout: What becomes of one that nobody leads, one of
            `ON_REFERENCE_TIMEOUT`: it comes to rest and is held, or only its weight is.
        resume_by_itself: Whether references are followed again as soon as messages come again;
            otherwise `resume` decides.
        settle: Time for which the arm is held where it is, before references are followed, once its
            states come or come again and its commands are received. Brakes may take that long to
            open; feedback of a reference that moves away meanwhile would let go with a jerk.
        stop: Time to come to rest when the references stop.
        join: Least time to join references that are not where the arm is; more where the joints
            would have to hurry.
        longest_cycle: Time between two cycles that counts for `effort_rate`: after a stall a
            drive would feel a larger change as a step.
    """

    mode: str = "feedforward"
    effort_rate: Array | float = np.inf
    fade: float = 0.2
    soft_limits: SoftLimits | None = None
    tracking_limit: Array | float = np.inf
    state_timeout: float = 0.1
    reference_timeout: float = 0.2
    on_state_timeout: str = REST
    on_reference_timeout: str = HOLD
    resume_by_itself: bool = True
    settle: float = 0.3
    stop: float = 0.5
    join: float = 0.5
    longest_cycle: float = 0.01

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise unknown_name("mode", self.mode, "robot_dynamics.control", MODES)
        for name, choices in (
            ("on_state_timeout", ON_STATE_TIMEOUT),
            ("on_reference_timeout", ON_REFERENCE_TIMEOUT),
        ):
            if getattr(self, name) not in choices:
                raise unknown_name(name, getattr(self, name), "robot_dynamics.control", choices)
        for name in ("effort_rate", "tracking_limit", "state_timeout", "reference_timeout"):
            if not np.all(np.asarray(getattr(self, name)) > 0.0):
                raise ArgumentError(f"{name} is {getattr(self, name)}; give a positive number")
        for name in ("fade", "settle", "stop", "join", "longest_cycle"):
            if not 0.0 <= getattr(self, name) < np.inf:
                raise ArgumentError(f"{name} is {getattr(self, name)} s; give zero or more")

    @functools.cached_property
    def limits_rate(self) -> bool:
        """Whether any joint has a limit on the change of its effort."""
        return bool(np.isfinite(self.effort_rate).any())

    @functools.cached_property
    def limits_tracking(self) -> bool:
        """Whether any joint has a limit on its position error."""
        return bool(np.isfinite(self.tracking_limit).any())


class Status(enum.Enum):
    """What a controller is doing; the values are words for a log."""

    WAITING = "waiting for joint states"
    SETTLING = "holding still for a moment before the reference is followed"
    TRACKING = "tracking the reference"
    HOLDING = "holding still: no reference comes"
    BLIND = "coming to rest blindly: no joint states come"
    STOPPED = "stopped: tracking error too large"
    PAUSED = "holding still until it is resumed: messages had stopped"


AT_REST = (Status.SETTLING, Status.HOLDING, Status.STOPPED, Status.PAUSED)
"""In which the arm is held, or on its way to rest."""


class Command(NamedTuple):
    """Efforts of one cycle, shape (n,), which joints were saturated, (n,), and why they are so."""

    tau: Array
    saturated: Array
    status: Status


class Controller:
    """Efforts for one robot, cycle by cycle.

    Reads no clock: every call says what time it is, in seconds on a clock that
    never jumps. The first command after `activate` holds the arm where it is.

    Args:
        model: The arm and its gains.
        settings: Behaviour.
    """

    def __init__(self, model: Model, settings: Settings | None = None) -> None:
        self.model = model
        self.settings = settings or Settings()
        robot = model.dynamics.robot
        self.joint_names = robot.joint_names
        self.limit = effort_limits(robot)
        self._n = robot.dof
        self._state_watch = Watchdog(self.settings.state_timeout)
        self._reference_watch = Watchdog(self.settings.reference_timeout)
        self._fade = Fade(self._n, self.settings.fade)
        self._measured: Measured | None = None
        self._reference: Reference | None = None
        self._hold = Follower(self.joint_names, np.zeros(self._n))
        self._gap = Follower(self.joint_names, np.zeros(self._n))  # joined minus given reference
        self._status = Status.WAITING
        self._stopped_by: int | None = None
        self._brakes = Brakes(self._n)
        self._braked_by: int | None = None
        self._integral = np.zeros(self._n)
        self._last: Cut | None = None
        self._effort: Array | None = None  # what the first command begins with
        self._last_time = 0.0
        self._settled_at = 0.0
        self._renew = False
        self._halted = self._let_go = False
        self._paused = self._rejoin = False

    # -- messages in ------------------------------------------------------------------------

    def measure(self, measured: Measured, now: float) -> bool:
        """Take a measured state; return whether it was usable (every number finite)."""
        if not all_finite(*measured):
            return False
        self._measured = measured
        self._state_watch.feed(now)
        return True

    def refer(self, reference: Reference, now: float) -> bool:
        """Take a reference; return whether it was usable (every number finite)."""
        if not all_finite(*reference):
            return False
        self._reference = reference
        self._reference_watch.feed(now)
        return True

    # -- changes from outside ---------------------------------------------------------------

    def change(self, model: Model | None = None, settings: Settings | None = None) -> None:
        """Use another model (payload, gravity, gains) or other settings (mode) from now on.

        Efforts pass from the old law to the new one over `settings.fade`.
        """
        adrift = self._law is gravity_compensation
        self.model = model or self.model
        self.settings = settings or self.settings
        self.limit = effort_limits(self.model.dynamics.robot)
        self._state_watch.timeout = self.settings.state_timeout
        self._reference_watch.timeout = self.settings.reference_timeout
        self._fade.duration = self.settings.fade
        self._renew = True
        if adrift and self._law is not gravity_compensation:
            self._rejoin = True  # led by hand meanwhile, the arm may be anywhere

    def activate(self, effort: Array | None = None) -> None:
        """Start afresh, holding the arm where it is until a reference comes.

        Args:
            effort: Effort that the joints have now, shape (n,), if it is known in N m or N: the
                first command then starts from it. By default from the effort of gravity.
        """
        self._status = Status.WAITING
        self._stopped_by = None
        self._halted = self._let_go = self._paused = False
        self._reference = None
        self._reference_watch = Watchdog(self.settings.reference_timeout)
        self._integral = np.zeros(self._n)
        self._last = None
        self._effort = effort

    def unheard(self, now: float) -> None:
        """Nobody receives the commands: unless it is in motion, the arm settles once one does."""
        if self._status is not Status.TRACKING:
            self._settled_at = now + self.settings.settle

    def halt(self) -> float:
        """Follow references no longer: come to rest and hold.

        Returns:
            Time that it takes, s.
        """
        self._halted = True
        return self.settings.stop if self._status is Status.TRACKING else 0.0

    def let_go(self) -> float:
        """Let the efforts fade to zero.

        Returns:
            Time that it takes, s.
        """
        self._renew = self._let_go = True
        return self.settings.fade

    def resume(self) -> None:
        """Follow references again after a stop by tracking error or by silence."""
        self._stopped_by = None
        self._paused = False

    @property
    def paused(self) -> bool:
        """Whether messages had stopped and `resume` is waited for."""
        return self._paused

    @property
    def stopped_by(self) -> str | None:
        """Name of the joint whose tracking error stopped the arm, if one did."""
        return None if self._stopped_by is None else self.joint_names[self._stopped_by]

    @property
    def braked_by(self) -> str | None:
        """Name of a joint that does not move although it is pushed, if there is one."""
        return None if self._braked_by is None else self.joint_names[self._braked_by]

    # -- the cycle --------------------------------------------------------------------------

    def update(self, now: float) -> Command | None:
        """Efforts for this cycle, or None before the first measured state.

        Args:
            now: Present time, s.
        """
        measured = self._measured
        if measured is None:
            return None
        last = self._last or self._first_command(measured, now)
        dt = now - self._last_time
        status = self._next_status(measured, now)
        if status is not self._status:
            self._enter(status, measured, now)
        elif self._rejoin:
            self._go_on_from(State(measured.q, measured.qd, np.zeros(self._n)), now)
        self._rejoin = False
        wanted = self._wanted(measured, now, max(dt, 0.0))
        if self._renew:
            self._fade.begin(last.tau - wanted, now)
        self._renew = False
        wanted = wanted + self._fade.value(now)

        dt = min(max(dt, 0.0), self.settings.longest_cycle)
        if self.settings.limits_rate:
            wanted = limit_rate(wanted, last.tau, self.settings.effort_rate, dt).tau
        tau, cut = saturate(wanted, self.limit)
        if not all_finite(tau):  # no law gives this for finite input; never let it out if one does
            tau = last.tau
        self._last, self._last_time = Cut(tau, cut), now
        self._look_at_brakes(measured, tau, now)
        return Command(tau, cut, status)

    def _look_at_brakes(self, measured: Measured, tau: Array, now: float) -> None:
        """Push no further against a brake: settle again, and join the reference after that."""
        if self._status is not Status.TRACKING:
            return
        closed = self._brakes.closed(measured.q, tau, self.limit, now)
        if closed is not None:
            self._braked_by = closed
            self._settled_at = now + max(self.settings.settle, SHORTEST_PAUSE)
        elif self._braked_by is not None and self._brakes.free(self._braked_by):
            self._braked_by = None

    def _first_command(self, measured: Measured, now: float) -> Cut:
        """What commands begin with: the effort that the joints have now, or that of gravity."""
        effort = self.model.gravity(measured.q) if self._effort is None else self._effort
        self._last, self._last_time = Cut(effort, np.zeros(self._n, dtype=bool)), now
        self._settled_at = now + self.settings.settle
        self._renew = True
        return self._last

    def _next_status(self, measured: Measured, now: float) -> Status:
        blind, led = self._state_watch.stale(now), not self._reference_watch.stale(now)
        if self._status is Status.TRACKING and (blind or not led):
            self._paused = not self.settings.resume_by_itself
        if blind:
            self._settled_at = now + self.settings.settle
            return Status.BLIND
        follows = self._status is Status.TRACKING and self.settings.mode != "gravity_compensation"
        watched = self.settings.limits_tracking and self._stopped_by is None
        if watched and follows and self._reference is not None:
            joined = self._joined(self._reference, now)
            error = position_error(joined.q, measured.q, self.model.continuous)
            self._stopped_by = lost_tracking(error, np.asarray(self.settings.tracking_limit))
        if self._stopped_by is not None:
            return Status.STOPPED
        if self._halted or self._reference is None or not led:
            return Status.HOLDING
        if self._paused:
            return Status.PAUSED
        return Status.SETTLING if now < self._settled_at else Status.TRACKING

    def _enter(self, status: Status, measured: Measured, now: float) -> None:
        """Prepare for another status: go on from where the arm is, or is meant to be."""
        zero = np.zeros(self._n)
        before, at = self._status, State(measured.q, measured.qd, zero)
        held = before in AT_REST and self._law is not gravity_compensation
        if before is Status.TRACKING and status is Status.HOLDING and self._reference is not None:
            joined = self._joined(self._reference, now)
            at = State(joined.q, joined.qd, zero)
        elif held and status not in (Status.STOPPED, Status.BLIND):
            at = self._hold.sample(now)._replace(qdd=zero)
        elif status is Status.BLIND:
            at = self._unseen(measured, now)
        else:
            self._integral = np.zeros(self._n)
        self._renew = True
        self._status = status
        if status not in (Status.SETTLING, Status.TRACKING):
            self._braked_by = None
        if status is Status.TRACKING:
            self._brakes.begin(measured.q, self.model.gravity(measured.q))
        self._go_on_from(at, now)

    def _go_on_from(self, at: State, now: float) -> None:
        """From a state, join the references that are to be followed, or else come to rest."""
        if self._status is Status.TRACKING and self._reference is not None:
            self._join(at, self._reference, now)
        else:
            self._hold.follow(at_rest_after(self.joint_names, at, self.settings.stop), now)

    def _unseen(self, measured: Measured, now: float) -> State:
        """Where the arm is by now if it has gone on under the efforts that it had.

        What brings it to rest must begin with these efforts: while others faded in, the arm would
        not do what is planned, and nobody would see it.
        """
        q, qd = measured
        tau = np.zeros(self._n) if self._last is None else self._last.tau
        qdd = self.model.forward(q, qd, tau - self.model.friction_effort(qd))
        age = min(self._state_watch.age(now), 2.0 * self.settings.state_timeout)
        return State(q + age * qd + 0.5 * age**2 * qdd, qd + age * qdd, qdd)

    def _join(self, start: State, reference: Reference, now: float) -> None:
        """Pass from a state to the references, at a quarter of the speed limits or less."""
        gap = position_error(start.q, reference.q, self.model.continuous)
        speed = self.model.dynamics.robot.limits.velocity
        speed = np.where((speed > 0.0) & np.isfinite(speed), speed, USUAL_SPEED) / 4.0
        # The steepest part of a quintic is 15/8 of its mean
        needed = float((15.0 / 8.0 * np.abs(gap) / speed).max(initial=0.0))
        zero = np.zeros(self._n)
        fade = quintic(
            np.asarray(duration := max(self.settings.join, needed, SHORTEST_JOIN)),
            State(gap, start.qd - reference.qd, zero),
            State(zero, zero, zero),
        )
        self._gap.follow(Trajectory(self.joint_names, np.array([0.0, duration]), fade[None]), now)

    def _joined(self, reference: Reference, now: float) -> Reference:
        """A reference, and what is left of the way to it."""
        if not self._gap.moving(now):
            return reference
        gap = self._gap.sample(now)
        return Reference(reference.q + gap.q, reference.qd + gap.qd, reference.tau)

    @property
    def _law(self) -> Law:
        """The control law of the moment."""
        adrift = self._status is Status.HOLDING and self._reference is not None
        if adrift and not self._halted and self.settings.on_reference_timeout == GRAVITY:
            return gravity_compensation
        return MODES[self.settings.mode]

    def _wanted(self, measured: Measured, now: float, dt: float) -> Array:
        """What the law of the mode asks for, soft limits included."""
        model = self.model
        blind = self._status is Status.BLIND
        if self._let_go or (blind and self.settings.on_state_timeout == ZERO_EFFORT):
            return np.zeros(self._n)
        if blind:  # nothing to feed back: what it takes to stop and hold
            return model.feedforward(*self._hold.sample(now))
        law = self._law
        if self._status is Status.TRACKING and self._reference is not None:
            reference = self._joined(self._reference, now)
        else:
            state = self._hold.sample(now)
            reference = Reference(state.q, state.qd, model.feedforward(*state))
        tau = law(model, reference, measured)
        if law is not gravity_compensation and model.gains.ki.any():
            error = position_error(reference.q, measured.q, model.continuous)
            self._integral = integrate_error(self._integral, error, model.gains, dt, self._last)
            tau = tau + self._integral
        if self.settings.soft_limits is not None:
            tau = tau + self.settings.soft_limits.effort(measured.q, measured.qd)
        return tau
