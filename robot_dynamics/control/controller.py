"""Controller: what a control node asks every cycle, with time and messages passed in.

Puts the laws, the limits and the watchdogs together, so that whatever happens
(a mode switch, new gains, a message that does not come) the efforts change
without a step.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from robot_dynamics.control.integral import Cut, integrate_error
from robot_dynamics.control.laws import (
    MODES,
    Measured,
    Reference,
    gravity_compensation,
    position_error,
)
from robot_dynamics.control.limits import effort_limits, limit_rate, saturate
from robot_dynamics.control.model import Model
from robot_dynamics.control.safety import SoftLimits, Watchdog, all_finite, lost_tracking
from robot_dynamics.control.transitions import Fade
from robot_dynamics.errors import ArgumentError, unknown_name
from robot_dynamics.robot.robot import Array
from robot_dynamics.trajectory.follower import Follower


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
        stop: Time to come to rest when the references stop.
    """

    mode: str = "feedforward"
    effort_rate: Array | float = np.inf
    fade: float = 0.2
    soft_limits: SoftLimits | None = None
    tracking_limit: Array | float = np.inf
    state_timeout: float = 0.1
    reference_timeout: float = 0.2
    stop: float = 0.5

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise unknown_name("mode", self.mode, "robot_dynamics.control", MODES)
        for name in ("effort_rate", "tracking_limit", "state_timeout", "reference_timeout"):
            if not np.all(np.asarray(getattr(self, name)) > 0.0):
                raise ArgumentError(f"{name} is {getattr(self, name)}; give a positive number")
        for name in ("fade", "stop"):
            if not 0.0 <= getattr(self, name) < np.inf:
                raise ArgumentError(f"{name} is {getattr(self, name)} s; give zero or more")


class Status(enum.Enum):
    """What a controller is doing; the values are words for a log."""

    WAITING = "waiting for joint states"
    TRACKING = "tracking the reference"
    HOLDING = "holding still: no reference comes"
    BLIND = "gravity compensation at the last position: no joint states come"
    STOPPED = "stopped: tracking error too large"


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
        self._hold = Follower(self.joint_names, np.zeros(self._n), stop=self.settings.stop)
        self._status = Status.WAITING
        self._stopped_by: int | None = None
        self._integral = np.zeros(self._n)
        self._last: Cut | None = None
        self._last_time = 0.0
        self._renew = False

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
        self.model = model or self.model
        self.settings = settings or self.settings
        self._state_watch.timeout = self.settings.state_timeout
        self._reference_watch.timeout = self.settings.reference_timeout
        self._fade.duration = self.settings.fade
        self._hold.stop_time = self.settings.stop
        self._renew = True

    def activate(self, effort: Array | None = None) -> None:
        """Start afresh, holding the arm where it is until a reference comes.

        Args:
            effort: Effort that the joints have now, shape (n,), if it is known in N m or N: the
                first command then starts from it. By default from the effort of gravity.
        """
        self._status = Status.WAITING
        self._stopped_by = None
        self._reference = None
        self._reference_watch = Watchdog(self.settings.reference_timeout)
        self._integral = np.zeros(self._n)
        self._last = None if effort is None else Cut(effort, np.zeros(self._n, dtype=bool))
        self._renew = effort is not None

    def resume(self) -> None:
        """Follow references again after a stop by tracking error."""
        self._stopped_by = None

    @property
    def stopped_by(self) -> str | None:
        """Name of the joint whose tracking error stopped the arm, if one did."""
        return None if self._stopped_by is None else self.joint_names[self._stopped_by]

    # -- the cycle --------------------------------------------------------------------------

    def update(self, now: float) -> Command | None:
        """Efforts for this cycle, or None before the first measured state.

        Args:
            now: Present time, s.
        """
        measured = self._measured
        if measured is None:
            return None
        dt = now - self._last_time if self._last is not None else 0.0
        status = self._next_status(measured, now)
        if status is not self._status:
            self._enter(status, measured, now)
        wanted = self._wanted(measured, now, max(dt, 0.0))
        if self._renew and self._last is not None:
            self._fade.begin(self._last.tau - wanted, now)
        self._renew = False
        wanted = wanted + self._fade.value(now)

        if self._last is not None:
            wanted = limit_rate(wanted, self._last.tau, self.settings.effort_rate, max(dt, 0.0)).tau
        tau, cut = saturate(wanted, self.limit)
        if not all_finite(tau):  # no law gives this for finite input; never let it out if one does
            tau = np.zeros(self._n) if self._last is None else self._last.tau
        self._last, self._last_time = Cut(tau, cut), now
        return Command(tau, cut, status)

    def _next_status(self, measured: Measured, now: float) -> Status:
        if self._state_watch.stale(now):
            return Status.BLIND
        follows = self._status is Status.TRACKING and self.settings.mode != "gravity_compensation"
        if self._stopped_by is None and follows and self._reference is not None:
            error = position_error(self._reference.q, measured.q, self.model.continuous)
            self._stopped_by = lost_tracking(error, np.asarray(self.settings.tracking_limit))
        if self._stopped_by is not None:
            return Status.STOPPED
        if self._reference is None or self._reference_watch.stale(now):
            return Status.HOLDING
        return Status.TRACKING

    def _enter(self, status: Status, measured: Measured, now: float) -> None:
        """Prepare for another status: decide where to hold, and let efforts pass over smoothly."""
        if status in (Status.HOLDING, Status.STOPPED):
            coming_from_motion = status is Status.HOLDING and self._status is Status.TRACKING
            if coming_from_motion and self._reference is not None:
                self._hold.come_to_rest(self._reference.q, self._reference.qd, now)
            else:
                self._hold.hold(measured.q)
                self._integral = np.zeros(self._n)
        self._renew = self._last is not None
        self._status = status

    def _wanted(self, measured: Measured, now: float, dt: float) -> Array:
        """What the law of the mode asks for, soft limits included."""
        model = self.model
        if self._status is Status.BLIND:  # positions are old and velocities unknown
            return model.gravity(measured.q)
        law = MODES[self.settings.mode]
        if self._status is Status.TRACKING and self._reference is not None:
            reference = self._reference
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
