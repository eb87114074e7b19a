"""Controller: what a control node asks every cycle, with time and messages passed in.

Puts the laws, the limits and the watchdogs together, so that whatever happens
(a mode switch, new gains, a message that does not come) the efforts change
without a step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.control.effort_limits import Limited, effort_limits
from robot_dynamics.control.joint_feedback import JointFeedback
from robot_dynamics.control.laws import MODES, Law, Measured, Reference, position_error
from robot_dynamics.control.model import Model
from robot_dynamics.control.safety import all_finite
from robot_dynamics.control.sampling.unseen import Unseen
from robot_dynamics.control.setpoint import Setpoint, Stretch
from robot_dynamics.control.settings import GRAVITY, ZERO_EFFORT, Settings
from robot_dynamics.control.status import Start, Status, Supervisor, start_of
from robot_dynamics.control.transitions import Fade
from robot_dynamics.trajectory.trajectory import State


class Command(NamedTuple):
    """Efforts of one cycle, which joints were cut, shape (n,) each, 0 or 1, and why they are so."""

    tau: Array
    cut: Array
    status: Status

    @property
    def saturated(self) -> Array:
        """Which joints were cut, shape (n,)."""
        return np.asarray(self.cut > 0.0)


class Controller:
    """Efforts for one robot, cycle by cycle.

    Reads no clock: every call says what time it is, in seconds on a clock that
    never jumps. The first command after `activate` holds the arm where it is.

    Args:
        model: The arm and its gains.
        settings: Behaviour.

    Attributes:
        error: Position error that the last command fed back, shape (n,); None without feedback.
    """

    def __init__(self, model: Model, settings: Settings | None = None) -> None:
        self.model = model
        self.settings = settings or Settings()
        robot = model.dynamics.robot
        self.joint_names = robot.joint_names
        self.limit = effort_limits(robot)
        self._none = np.zeros(robot.dof)
        self._feedback = JointFeedback(robot.dof, model.continuous)
        self._feedback.use(self.settings)
        self._supervisor = Supervisor(robot.dof, self.settings)
        self._setpoint = Setpoint(self.joint_names)
        self._unseen = Unseen(robot.dof)
        self._fade = Fade(robot.dof, self.settings.fade)
        self._measured: Measured | None = None
        self._reference: Reference | None = None
        self._last: Limited | None = None
        self._effort: Array | None = None
        self.error: Array | None = None
        self._led_by_hand = False
        self.activate()

    # -- messages in ------------------------------------------------------------------------

    def set_state(self, measured: Measured, now: float, *, finite: bool = False) -> bool:
        """Take a measured state; return whether it was usable (every number finite).

        Args:
            measured: The state; may be written in place before the next one is given.
            now: When it came, s.
            finite: Whether every number is known to be finite, as of a message that was read.
        """
        if not (finite or all_finite(*measured)):
            return False
        self._measured = measured
        self._unseen.seen(now, measured)
        self._supervisor.states.feed(now)
        return True

    def set_reference(self, reference: Reference, now: float) -> bool:
        """Take a reference; return whether it was usable (every number finite)."""
        if not all_finite(*reference):
            return False
        self._reference = reference
        self._supervisor.references.feed(now)
        return True

    # -- changes from outside ---------------------------------------------------------------

    def change(self, model: Model | None = None, settings: Settings | None = None) -> None:
        """Use another model (payload, gravity, gains) or other settings (mode) from now on.

        Efforts pass from the old law to the new one over `settings.fade`.
        """
        by_hand = not self._law.feedback
        self.model = model or self.model
        self.settings = settings or self.settings
        self.limit = effort_limits(self.model.dynamics.robot)
        self._feedback.use(self.settings)
        self._supervisor.use(self.settings)
        self._fade.duration = self.settings.fade
        self._renew = True
        if by_hand and self._law.feedback:
            self._led_by_hand = True  # the arm may be anywhere

    def activate(self, effort: Array | None = None) -> None:
        """Start afresh, holding the arm where it is until a reference comes.

        Args:
            effort: Effort that the joints have now, shape (n,), if it is known in N m or N: the
                first command then starts from it. By default from the effort of gravity.
        """
        self._supervisor.reset()
        self._unseen.forget()
        self._let_go = self._renew = False
        self._reference = None
        self._integral = self._none
        self._last = None
        self._last_time = 0.0
        self._effort = effort

    def forget(self) -> None:
        """No state has come yet: command nothing before one does."""
        self._measured = None
        self._unseen.forget()

    def postpone(self, now: float) -> None:
        """Nobody receives the commands: unless it is in motion, the arm settles once one does."""
        if self._supervisor.status is not Status.TRACKING:
            self._supervisor.settle(now)

    def halt(self) -> float:
        """Follow references no longer: come to rest and hold.

        Returns:
            Time that it takes, s.
        """
        self._supervisor.halted = True
        return self.settings.stop if self._supervisor.status is Status.TRACKING else 0.0

    def refuse(self, why: str) -> None:
        """Come to rest and hold for as long as there is a reason; empty if there is none."""
        self._supervisor.refused = why

    def let_go(self) -> float:
        """Let the efforts fade to zero.

        Returns:
            Time that it takes, s.
        """
        self._renew = self._let_go = True
        return self.settings.fade

    @property
    def effortless(self) -> bool:
        """Whether the last command was no effort at all."""
        return self._last is not None and not self._last.tau.any()

    def resume(self) -> bool:
        """Follow references again after a stop by tracking error or by silence.

        Returns:
            Whether there was one.
        """
        stopped = self._supervisor.stopped_by is not None or self._supervisor.paused
        self._supervisor.resume()
        return stopped

    @property
    def status(self) -> Status:
        """What it does, from the last `update` on."""
        return self._supervisor.status

    def sees(self, now: float) -> bool:
        """Whether states come."""
        return not self._supervisor.states.stale(now)

    @property
    def answers(self) -> bool:
        """Whether any joint has moved since references are followed."""
        return self._supervisor.answers

    @property
    def stopped_by(self) -> str | None:
        """Name of the joint whose tracking error stopped the arm, if one did."""
        joint = self._supervisor.stopped_by
        return None if joint is None else self.joint_names[joint]

    @property
    def braked_by(self) -> str | None:
        """Name of a joint that does not move although it is pushed, if there is one."""
        joint = self._supervisor.braked_by
        return None if joint is None else self.joint_names[joint]

    # -- the cycle --------------------------------------------------------------------------

    def update(self, now: float) -> Command | None:
        """Efforts for this cycle; None before the first measured state, and long after the last.

        Args:
            now: Present time, s.
        """
        measured, supervisor = self._measured, self._supervisor
        if measured is None:
            return None
        last = self._last or self._first_command(measured, now)
        dt = max(now - self._last_time, 0.0)
        status = supervisor.next_status(now, self._lost(measured, now))
        if status is not supervisor.status:
            self._enter(status, measured, last.tau, now)
        elif self._led_by_hand:
            self._go_on_from(State(measured.q, measured.qd, self._none), now)
        self._led_by_hand = False
        self.error = None
        if status is Status.SILENT:
            return None
        wanted = self._wanted(measured, now, dt)
        if self._renew:
            self._fade.begin(last.tau - wanted, now)
            self._renew = False
        if self.settings.limits_rate:
            dt = min(dt, self.settings.longest_cycle)
        gap = self._fade.value(now)
        command = self._feedback.limited(wanted, gap, last, dt, self.limit)
        if not all_finite(command.tau):  # no law gives this for finite input; let it out never
            command = Limited(last.tau, command.cut)
        self._last, self._last_time = command, now
        self._note(command, measured, now)
        return Command(command.tau, command.cut, status)

    def _note(self, command: Limited, measured: Measured, now: float) -> None:
        """Remember what is commanded, for when states stop, and whether it moves the joints."""
        self._unseen.commanded(now, command.tau)
        self._supervisor.watch_brakes(measured.q, command.tau, self.limit, now)

    def steady(self, motion: Stretch, tau: Array, at: float, now: float) -> Limited | None:
        """What `set_reference` and `update` do in the usual cycle, in one kernel after the law's.

        That is: the arm tracks, nothing fades, changes or has to be joined, the law feeds back, no
        error is too large.

        Args:
            motion: What the joints are to do; kept, so it must not change any more.
            tau: Efforts that came with it, shape (n,).
            at: When the reference came, s.
            now: Present time, s.

        Returns:
            The efforts of the command, whose status is `TRACKING`, after which `note_steady` is to
            be called as soon as they are published; None, after which those two are to be called,
            if the cycle is another one.
        """
        measured, last, model = self._measured, self._last, self.model
        supervisor, settings = self._supervisor, self.settings
        if supervisor.status is not Status.TRACKING or measured is None or last is None:
            return None
        changes = self._renew or self._led_by_hand or self._let_go or self._fade.active
        law = MODES[settings.mode]
        if changes or now < self._setpoint.joined_at or not law.feedback:
            return None
        dt, longest = max(now - self._last_time, 0.0), settings.longest_cycle
        steps = dt, longest if dt > longest and settings.limits_rate else dt
        integrates = model.gains.has_integral
        integral = self._integral if integrates else self._none
        found = self._feedback.steady(
            law, model, motion, tau, measured, integral, last, steps, self.limit
        )
        if found is None:
            return None
        efforts, cut, error, integral, q_d, qd_d, excess = found
        if not excess[0] <= 0.0:
            return None
        supervisor.references.feed(at)
        if supervisor.next_status(now, None) is not Status.TRACKING:
            return None
        self.error = error
        if integrates:
            self._integral = integral
        command = Limited(efforts, cut)
        self._last, self._last_time = command, now
        self._steady = q_d, qd_d, tau, measured
        return command

    def note_steady(self) -> None:
        """Do what `steady` leaves for after its command, as nobody waits for it."""
        q_d, qd_d, tau, measured = self._steady
        self._reference = Reference(q_d, qd_d, tau)
        if self._last is not None:
            self._note(self._last, measured, self._last_time)

    def _first_command(self, measured: Measured, now: float) -> Limited:
        """What commands begin with: the effort that the joints have now, or that of gravity."""
        effort = self.model.gravity(measured.q) if self._effort is None else self._effort
        self._last, self._last_time = Limited(effort, self._none), now
        self._supervisor.settle(now)
        self._renew = True
        return self._last

    def _enter(self, status: Status, measured: Measured, last: Array, now: float) -> None:
        """Take up another status, going on from where the arm is, or is meant to be, and `last`."""
        start = start_of(self._supervisor.status, status, by_hand=not self._law.feedback)
        at = self._at(start, measured, now)
        if start is Start.MEASURED:
            self._integral = self._none
        self._supervisor.enter(status, measured.q, last)
        self._renew = True
        self._go_on_from(at, now)

    def _at(self, start: Start, measured: Measured, now: float) -> State:
        """The state in which the motion of a new status starts."""
        if start is Start.PREDICTED:
            return self._predicted(measured, now)
        if start is Start.MEASURED:
            return State(measured.q, measured.qd, self._none)
        if self._supervisor.status is Status.TRACKING and self._reference is not None:
            joined = self._setpoint.joined(self._reference, now)
            return State(joined.q, joined.qd, self._none)
        return self._setpoint.at_rest(now)._replace(qdd=self._none)

    def _predicted(self, measured: Measured, now: float) -> State:
        """Where the arm is by now under the efforts that it has had since it was last seen.

        What brings it to rest must begin with these efforts: while others faded in, the arm would
        not do what is planned, and nobody would see it.
        """
        age = min(self._supervisor.states.age(now), 2.0 * self.settings.state_timeout)
        self._unseen.weigh(self.model, self.limit)
        return self._unseen.predicted(self.model, measured, now - age, now)

    def _go_on_from(self, at: State, now: float) -> None:
        """From a state, join the references that are to be followed, or else come to rest."""
        if self._supervisor.status is Status.TRACKING and self._reference is not None:
            self._setpoint.join(at, self._reference, self.model, self.settings.join, now)
        else:
            limits = self.model.dynamics.robot.limits
            self._setpoint.rest_from(at, self.settings.stop, (limits.lower, limits.upper), now)

    def _lost(self, measured: Measured, now: float) -> Array | None:
        """Position error against the reference as it is joined, shape (n,), if it is too large."""
        if self._reference is None or not self._supervisor.watches_tracking:
            return None
        joined = self._setpoint.joined(self._reference, now)
        if not self._feedback.lost(joined.q, measured.q):
            return None
        return position_error(joined.q, measured.q, self.model.continuous)

    def _runs_away(self, measured: Measured, now: float) -> bool:
        """Whether the arm is far from its way to rest, and too fast: a spring would throw it."""
        limits = self.model.dynamics.robot.limits.velocity
        fast = (np.abs(measured.qd) > limits) & (limits > 0.0)
        return bool(fast.any()) and self._feedback.lost(self._setpoint.at_rest(now).q, measured.q)

    @property
    def _law(self) -> Law:
        """The control law of the moment."""
        unled = self._supervisor.status is Status.HOLDING and self._reference is not None
        if unled and not self._supervisor.halted and self.settings.on_reference_timeout == GRAVITY:
            return MODES[GRAVITY]
        return MODES[self.settings.mode]

    def _wanted(self, measured: Measured, now: float, dt: float) -> Array:
        """What the law of the mode asks for, soft limits included."""
        model, status = self.model, self._supervisor.status
        blind = status is Status.BLIND
        if self._let_go or (blind and self.settings.on_state_timeout == ZERO_EFFORT):
            return self._none
        if blind:  # nothing to feed back: what it takes to stop and hold
            state = self._setpoint.at_rest(now)
            return model.feedforward(*state) + self._unseen.lacking(state.qd)
        law = self._law
        if status is Status.TRACKING and self._reference is not None:
            reference = self._setpoint.joined(self._reference, now)
        else:
            if law.feedback and self._runs_away(measured, now):
                self._go_on_from(State(measured.q, self._none, self._none), now)
            state = self._setpoint.at_rest(now)
            reference = Reference(state.q, state.qd, model.feedforward(*state))
        integrates = law.feedback and model.gains.has_integral
        integral = self._integral if integrates else self._none
        last = self._last or Limited(self._none, self._none)
        found = self._feedback.wanted(law, model, reference, measured, integral, last, dt)
        if law.feedback:
            self.error = found.error
        if integrates:
            self._integral = found.integral
        return found.wanted
