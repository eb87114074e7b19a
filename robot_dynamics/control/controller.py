"""Controller: computes the command of every cycle, with time and messages passed in.

Combines the laws, the limits and the watchdogs, so that the efforts change without a step
after a mode switch, new gains or a missing message. The equations are those of `control_cycle`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from robot_dynamics.control.collision import FADE_S, FLOAT, NONE, RETREAT, STOP_S, CollisionMonitor
from robot_dynamics.control.control_cycle import ControlCycle, Cycle, CycleState
from robot_dynamics.control.laws import (
    ALL_MODES,
    FLOATING,
    MODES,
    ControlLaw,
    Measured,
    Reference,
    position_error,
)
from robot_dynamics.control.limits import (
    FAST,
    NEAR,
    default_tracking_errors,
    effort_limits,
    excessive_error,
    velocity_limits,
)
from robot_dynamics.control.model import Model
from robot_dynamics.control.sampling.dead_reckoning import DeadReckoning
from robot_dynamics.control.sampling.oscillation import OscillationDetector
from robot_dynamics.control.setpoint import ReferenceSegment, Setpoint
from robot_dynamics.control.settings import GRAVITY, ZERO_EFFORT, Settings
from robot_dynamics.control.status import (
    COLLISION,
    FAST_REFERENCE,
    OSCILLATION,
    SATURATION,
    TRACKING_ERROR,
    Saturation,
    Start,
    Status,
    Stop,
    Supervisor,
    start_of,
)
from robot_dynamics.control.task import Task
from robot_dynamics.control.transitions import fade_share
from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.trajectory.motion_limits import unit_of
from robot_dynamics.trajectory.trajectory import State

HELD = MODES["feedforward"]
"""Law that holds an arm which was stopped in task space or because it oscillated."""

SOFT = 0.5
"""Bandwidth that holds an arm which oscillated, relative to the one that fits the sampling."""

UNLED = (Status.SILENT, Status.BLIND, Status.STOPPED, Status.PAUSED)
"""Statuses in which targets of the hand are given up, so that none moves the arm later."""


class Command(NamedTuple):
    """Efforts of one cycle, 1 for joints that were cut, else 0, shape (n,) each, and the status."""

    tau: Array
    cut: Array
    status: Status

    @property
    def saturated(self) -> Array:
        """Return which joints were cut, shape (n,)."""
        return np.asarray(self.cut > 0.0)


class Controller:
    """Efforts for one robot, cycle by cycle.

    Reads no clock: every call gets the time, s, of a clock that never jumps. The first command
    after `activate` holds the arm at its measured position.

    Args:
        model: The arm and its gains.
        settings: Behaviour.
        task: Of the modes in task space; by default there are none.

    Attributes:
        error: Position error of the last command's feedback, shape (n,); None without feedback.
        contacts: External efforts and contacts; fed while the settings detect collisions.
    """

    def __init__(
        self, model: Model, settings: Settings | None = None, task: Task | None = None
    ) -> None:
        self.model, self.task = model, task
        self.settings = settings or Settings()
        self._check_task()
        robot = model.dynamics.robot
        self.joint_names = robot.joint_names
        self._use_limits()
        self._none = np.zeros(robot.dof)
        self._equations = ControlCycle(robot.dof, model.continuous)
        self._equations.use(self.settings, self.limit)
        self._supervisor = Supervisor(robot.dof, self.settings)
        self._setpoint = Setpoint(self.joint_names)
        self._dead_reckoning = DeadReckoning(robot.dof)
        self.contacts = CollisionMonitor(robot.dof)
        self._oscillation, self._watched = OscillationDetector(robot.dof), False
        self._soft: tuple[Model, Model] | None = None  # the present model, and the soft one of it
        self._measured: Measured | None = None
        self._measured_at = 0.0
        self._reference: ReferenceSegment | None = None
        self._state: Array | None = None  # the rows of `CycleState`
        self._effort: Array | None = None
        self.error: Array | None = None
        self._led_by_hand = False
        self.activate()

    # -- messages in ------------------------------------------------------------------------

    def set_state(
        self, measured: Measured, now: float, *, finite: bool = False, at: float | None = None
    ) -> bool:
        """Take a measured state; return whether it was usable (every number finite).

        Args:
            measured: The state; may be written in place before the next one is given.
            now: Time of its arrival, s.
            finite: Whether every number is known to be finite.
            at: Time at which it was measured, s, of any clock; by default that of its arrival.
        """
        if not (finite or all_finite(*measured)):
            return False
        self._measured, self._measured_at = measured, now if at is None else at
        self._dead_reckoning.note_state(now, measured)
        self._supervisor.states.feed(now)
        return True

    def set_reference(
        self, reference: Reference | ReferenceSegment, now: float, *, finite: bool = False
    ) -> bool:
        """Take a reference; return whether it was usable (every number finite).

        Args:
            reference: The reference; it is kept, so its positions and velocities must not change.
            now: Time of its arrival, s.
            finite: Whether every number is known to be finite.
        """
        if isinstance(reference, Reference):
            reference = ReferenceSegment.at(*reference[:3])
        if not (finite or all_finite(*reference.desired(), reference.tau)):
            return False
        if self.in_task_space:
            return True
        self._reference = reference
        self._supervisor.references.feed(now)
        if self._supervisor.status is Status.TRACKING and self._law.feedback:
            speed = np.abs(reference.after[1])
            if (speed > self._too_fast).any() and self._supervisor.stopped_by is None:
                i = int(np.argmax(speed / self._too_fast))
                limit = self._fastest[i]
                self._supervisor.stopped_by = Stop(i, FAST_REFERENCE, float(speed[i]), limit)
        return True

    @property
    def in_task_space(self) -> bool:
        """Return whether the mode controls the hand."""
        return ALL_MODES[self.settings.mode].in_task_space

    def _check_task(self) -> None:
        if self.in_task_space and self.task is None:
            raise ArgumentError(
                f"mode '{self.settings.mode}' controls the hand; give the controller a task"
            )

    # -- changes from outside ---------------------------------------------------------------

    def change(
        self,
        model: Model | None = None,
        settings: Settings | None = None,
        task: Task | None = None,
    ) -> None:
        """Use another model (payload, gravity, gains), other settings (mode) or another task.

        Efforts pass from the old law to the new one over `settings.fade`.
        """
        by_hand, in_task_space = not self._law.feedback, self.in_task_space
        if task is not None and task is not self.task:
            if self.task is not None and self._measured is not None:
                task.go_on_from(self.task, self._measured.q)
            self.task = task
        self.model = model or self.model
        self.settings = settings or self.settings
        self._check_task()
        self._use_limits()
        self._equations.use(self.settings, self.limit)
        self._supervisor.use(self.settings)
        self._renew = True
        if by_hand and self._law.feedback:
            self._led_by_hand = True  # the arm may be anywhere
        if self.in_task_space and not in_task_space:
            self._reference = None
            self._supervisor.references.forget()
            self._begin_task()

    def _use_limits(self) -> None:
        robot = self.model.dynamics.robot
        self.limit, self._fastest = effort_limits(robot), velocity_limits(robot)
        self._too_fast, self._nearest = FAST * self._fastest, NEAR * default_tracking_errors(robot)

    def activate(self, effort: Array | None = None) -> None:
        """Start afresh and hold the arm until a reference comes.

        Args:
            effort: Present effort of the joints, shape (n,), N m or N, from which the first command
                starts; by default the effort of gravity.
        """
        self._supervisor.reset()
        self._watched = False
        self._dead_reckoning.forget()
        self.contacts.forget()
        self._last_effort: Array | None = None
        self._saturation = Saturation(self._nearest)
        self._renew = False
        self._reference = None
        self._state = None
        self._last_time, self._fade_began = 0.0, -np.inf
        self._effort = effort
        self._begin_task()

    def forget(self) -> None:
        """Forget the measured state; nothing is commanded before the next one."""
        self._measured, self._measured_at = None, 0.0
        self._dead_reckoning.forget()
        self.contacts.forget()

    def postpone(self, now: float) -> None:
        """Delay tracking while no node receives commands, unless the arm is in motion."""
        self.contacts.forget()
        if self.task is not None:
            self.task.stop()
        if self._supervisor.status is not Status.TRACKING:
            self._supervisor.settle(now)

    def halt(self) -> float:
        """Stop following references: come to rest and hold.

        Returns:
            Time to come to rest, s.
        """
        self._supervisor.halted = True
        return self.settings.stop if self._supervisor.status is Status.TRACKING else 0.0

    def refuse(self, why: str) -> None:
        """Come to rest and hold while there is a reason; an empty text withdraws it."""
        self._supervisor.refused = why

    def let_go(self) -> float:
        """Let the efforts fade to zero.

        Returns:
            Duration of the fade, s.
        """
        self._renew, self._last_effort = True, self._none
        return self.settings.fade

    def hold_by(self, effort: Array) -> None:
        """End feedback at rest: command an effort, shape (n,), N m or N, from the next cycle on."""
        self._fade_began, self._last_effort = -np.inf, effort

    @property
    def commanded(self) -> Array:
        """Return the last command, shape (n,), N m or N; zero before the first."""
        return self._none if self._state is None else self._state[0]

    @property
    def ended(self) -> bool:
        """Return whether the command has reached the effort of `let_go` or `hold_by`."""
        last = self._last_effort
        if last is None or self._state is None:
            return False
        return bool(np.array_equal(self.commanded, np.clip(last, -self.limit, self.limit)))

    def resume(self) -> bool:
        """Follow references after a stop or silence, once they are where the arm is.

        Returns:
            Whether there was anything to resume.
        """
        if not self._law.feedback:
            self._led_by_hand = True  # since a collision
        return self._supervisor.resume()

    @property
    def status(self) -> Status:
        """Return the status since the last `update`."""
        return self._supervisor.status

    def sees(self, now: float) -> bool:
        """Return whether states arrive."""
        return not self._supervisor.states.stale(now)

    @property
    def answers(self) -> bool:
        """Return whether any joint has moved since references were last joined."""
        return self._supervisor.brakes.answers

    @property
    def stopped_by(self) -> str | None:
        """Reason of the present stop, with joint, value and limit, if the arm is stopped."""
        stop = self._supervisor.stopped_by
        if stop is None:
            return None
        rad, rate, effort = (
            unit_of(self.model.dynamics.robot, stop.joint, quantity)
            for quantity in ("position", "velocity", "effort")
        )
        name, value, limit = self.joint_names[stop.joint], abs(stop.value), stop.limit
        return {
            TRACKING_ERROR: f"joint '{name}' is {value:.3g} {rad} from its reference, beyond its "
            f"limit of {limit:.3g} {rad}",
            SATURATION: f"joint '{name}' moves at {value:.3g} {rate} against its reference, with "
            f"its effort at its limit of {limit:.3g} {effort}",
            FAST_REFERENCE: f"the reference of joint '{name}' moves at {value:.3g} {rate}, beyond "
            f"its limit of {limit:.3g} {rate}",
            COLLISION: f"joint '{name}' feels an external {value:.3g} {effort}, beyond its "
            f"threshold of {limit:.3g} {effort}",
            OSCILLATION: f"joint '{name}' oscillates by {value:.2g} {rad} at {limit:.2g} Hz",
        }[stop.cause]

    @property
    def cause(self) -> str | None:
        """Cause of the present stop, as in `status.Stop`, if the arm is stopped."""
        stop = self._supervisor.stopped_by
        return None if stop is None else stop.cause

    @property
    def stopped_by_collision(self) -> bool:
        """Return whether a collision stopped the arm."""
        return self.cause == COLLISION

    @property
    def stopped_joint(self) -> int | None:
        """Index of the joint that stopped the arm, if it is stopped."""
        stop = self._supervisor.stopped_by
        return None if stop is None else stop.joint

    @property
    def braked_by(self) -> str | None:
        """Name of a joint that does not move although it is pushed, if there is one."""
        joint = self._supervisor.braked_by
        return None if joint is None else self.joint_names[joint]

    # -- the cycle --------------------------------------------------------------------------

    def update(self, now: float) -> Command | None:
        """Return the command of this cycle; None before the first state, and long after the last.

        Args:
            now: Present time, s.
        """
        measured, supervisor = self._measured, self._supervisor
        if measured is None:
            return None
        if self.task is not None and self.in_task_space:
            self._move_task(self.task, now)
        state = self._begin(measured, now) if self._state is None else self._state
        if self.settings.collision.reaction != NONE:
            self._watch_contacts(measured, state[0])
        found = error = None
        if supervisor.status is Status.TRACKING:  # the position error may end it
            found = self._cycle(measured, state, now)
            error = found[1] if found[2].item() > 0.0 and supervisor.watches_tracking else None
        near = not supervisor.returning or self._is_near(measured)
        status = supervisor.next_status(now, error, near)
        if status is not supervisor.status:
            self._enter(status, measured, CycleState(*state), now)
            found = None
        elif self._led_by_hand:
            self._go_on_from(State(measured.q, measured.qd, self._none), now)
            found = None
        self._led_by_hand = False
        if status is Status.SILENT:
            self.error = None
            return None
        state = (found or self._cycle(measured, state, now))[0]
        if self._renew:
            self._fade_began, self._renew = now, False
        dt, self._state, self._last_time = now - self._last_time, state, now
        command = Command(state[0], state[1], status)
        self._dead_reckoning.note_effort(now, command.tau)
        supervisor.watch_brakes(measured.q, command.tau, self.limit, now)
        if command.cut.any():
            self._watch_saturation(measured, command, dt, now)
        self._watch_oscillation(measured, now)
        return command

    def _move_task(self, task: Task, now: float) -> None:
        """Move the target of the hand on, while the arm may move; else give it up."""
        supervisor = self._supervisor
        if supervisor.halted or supervisor.refused or supervisor.status in UNLED:
            task.stop()
        if task.moves(now):
            supervisor.references.feed(now)
        tracking = supervisor.status is Status.TRACKING
        task.step(now, tracking, tracking or supervisor.status is Status.HOLDING)

    def _begin_task(self) -> None:
        """Hold the hand where it is."""
        if self.task is not None:
            self.task.forget()

    def _watch_saturation(
        self, measured: Measured, command: Command, dt: float, now: float
    ) -> None:
        """Stop an arm that moves as it should not while its efforts are at their limits."""
        law, task = self._law, self.task
        if command.status is Status.BLIND or not (law.feedback or law.in_task_space):
            return
        if law.in_task_space and task is not None:
            desired = task.velocity
        else:
            desired = self._at(Start.DESIRED, measured, now).qd
        speed = command.cut * np.abs(measured.qd - desired)
        i = self._saturation.joint(speed, min(max(dt, 0.0), self.settings.state_timeout), now)
        if i is not None and self._supervisor.stopped_by is None:
            self._supervisor.stopped_by = Stop(i, SATURATION, float(speed[i]), self.limit[i])

    def _watch_oscillation(self, measured: Measured, now: float) -> None:
        """Stop an arm that oscillates, also while it is stopped for another cause."""
        if self.error is None or self.cause in (COLLISION, OSCILLATION):
            self._watched = False
            return
        if not self._watched:
            self._oscillation.forget(self._none)
            self._watched = True
        found = self._oscillation.detect(self.error, now)
        if found is None:
            return
        supervisor = self._supervisor
        supervisor.stopped_by = Stop(found.joint, OSCILLATION, found.size, found.frequency)
        if supervisor.status is Status.STOPPED:  # another law holds it from now on
            self._renew = True
            self._go_on_from(State(measured.q, measured.qd, self._none), now)

    def _watch_contacts(self, measured: Measured, tau: Array) -> None:
        """Observe the external efforts since the last state, and react to a contact."""
        contacts, settings, supervisor = self.contacts, self.settings.collision, self._supervisor
        i = contacts.feed(self.model, settings, measured, tau, self._measured_at)
        if i is None or not settings.acts or supervisor.stopped_by is not None:
            return
        if self.touched is not None:
            effort, threshold = float(contacts.effort[i]), float(contacts.threshold[i])
            supervisor.stopped_by = Stop(i, COLLISION, effort, threshold)

    @property
    def touched(self) -> int | None:
        """Index of a joint with a contact, or None.

        Closed brakes are none, nor is a hand that leads the arm.
        """
        supervisor, law = self._supervisor, self._law
        tracks = supervisor.status is Status.TRACKING
        judged = tracks or supervisor.status in (Status.HOLDING, Status.STOPPED)
        braked = tracks and not supervisor.brakes.answers
        led = not (law.feedback or law.in_task_space)
        if not judged or braked or supervisor.braked_by is not None or led:
            return None
        return self.contacts.joint

    def _is_near(self, measured: Measured) -> bool:
        """Return whether the reference is where the arm is, no faster than the joints may move."""
        if self.in_task_space:
            return True
        if self._reference is None:
            return False
        q, qd = self._reference.desired()
        error = position_error(q, measured.q, self.model.continuous)
        near = np.abs(error) < self._nearest
        return bool((near & (np.abs(qd) <= self._fastest)).all())

    def _begin(self, measured: Measured, now: float) -> Array:
        """Begin with the present effort of the joints, or that of gravity."""
        effort = self.model.gravity(measured.q) if self._effort is None else self._effort
        self.model.forget()
        self._last_time = now
        self._supervisor.settle(now)
        self._renew = True
        return np.array(CycleState(effort, self._none, self._none, self._none))

    def _cycle(self, measured: Measured, state: Array, now: float) -> Cycle:
        """Evaluate the equations of the cycle in the present status; changes only `error`."""
        model, settings, status = self.model, self.settings, self._supervisor.status
        if self.cause == OSCILLATION:
            model = self._soft_model()
        dt, renew = now - self._last_time, self._renew
        began = now if renew else self._fade_began
        # The effort of an oscillation reverses many times in the usual fade
        at_once = self.cause in (COLLISION, OSCILLATION)
        duration = min(settings.fade, FADE_S) if at_once else settings.fade
        fade = 0.0 if now - began > duration else fade_share(now - began, duration)
        if (tau := self._last_effort) is not None or status is Status.BLIND:
            self.error = None
            if tau is None and settings.on_state_timeout == ZERO_EFFORT:
                tau = self._none
            elif tau is None:
                rest = self._setpoint.at_rest(now)
                model.follow(rest.q, rest.qd)
                tau = model.feedforward(*rest) + self._dead_reckoning.disturbance_at(rest.qd)
            return self._equations.open_loop(tau, measured, state, dt, fade, renew)
        if status is Status.TRACKING and self._reference is not None and not self.in_task_space:
            law, motion = ALL_MODES[settings.mode], self._reference
            offset = self._setpoint.offset(now)
            if model.memory is not None:
                model.follow(*(motion.desired() + offset))
        else:
            law = self._law
            if law.feedback and self._runs_away(measured, now):
                model.leave()
                self._go_on_from(State(measured.q, self._none, self._none), now)
            rest = self._setpoint.at_rest(now)
            model.follow(rest.q, rest.qd)
            if self.task is not None and self.in_task_space and status is Status.TRACKING:
                model.move(self.task.velocity * dt)
            motion = ReferenceSegment.at(rest.q, rest.qd, model.feedforward(*rest))
            offset = np.zeros_like(motion.before)
        found = self._equations.closed_loop(
            law, model, motion, offset, measured, state, dt, fade, renew, self.task
        )
        self.error = found[1] if law.feedback else None
        return found

    def _soft_model(self) -> Model:
        """Return the model that holds an arm which oscillated: other feedback would not end it."""
        model = self.model
        if self._soft is None or self._soft[0] is not model:
            gains, bandwidth = replace(model.gains, ki=self._none), SOFT * model.bandwidth
            soft = replace(model, coupled=True, gains=gains, bandwidth=bandwidth)
            self._soft = model, soft
        return self._soft[1]

    def _enter(self, status: Status, measured: Measured, last: CycleState, now: float) -> None:
        """Change the status without a jump of position or effort."""
        by_hand = self._led_by_hand or not self._law.feedback
        before = self._supervisor.status
        start = start_of(before, status, by_hand=by_hand)
        at = self._at(start, measured, now)
        if start is Start.MEASURED:
            last.integral[:] = 0.0
        self._supervisor.enter(status, measured.q, last.tau)
        self._renew = True
        if Status.STOPPED in (status, before) or before in (Status.BLIND, Status.SILENT):
            self._begin_task()
            if self.in_task_space:
                self._supervisor.references.forget()  # of the target that is given up
        self.model.leave()
        self._go_on_from(at, now)

    def _at(self, start: Start, measured: Measured, now: float) -> State:
        """Return the state from which the motion of a new status starts."""
        if start is Start.PREDICTED:
            return self._predicted(measured, now)
        if start is Start.MEASURED:
            return State(measured.q, measured.qd, self._none)
        if self._supervisor.status is Status.TRACKING and self._reference is not None:
            q, qd = self._reference.desired() + self._setpoint.offset(now)
            return State(q, qd, self._none)
        return self._setpoint.at_rest(now)._replace(qdd=self._none)

    def _predicted(self, measured: Measured, now: float) -> State:
        """Return the present state by dead reckoning: under the efforts since the last state.

        The motion to rest must begin with these efforts: while others faded in, the arm would
        deviate from the plan, and no state would show it.
        """
        age = min(self._supervisor.states.age(now), 2.0 * self.settings.state_timeout)
        self._dead_reckoning.estimate(self.model, self.limit)
        return self._dead_reckoning.predicted_state(self.model, measured, now - age, now)

    def _go_on_from(self, at: State, now: float) -> None:
        """Join the reference from a state, or come to rest if it is not followed."""
        if self._supervisor.status is Status.TRACKING and self._reference is not None:
            self._setpoint.join(at, self._reference, self.model, self.settings.join, now)
        else:
            limits, stop = self.model.dynamics.robot.limits, self.settings.stop
            hit = self.stopped_by_collision and self._supervisor.status is Status.STOPPED
            if hit:
                stop = min(stop, STOP_S)
            self._setpoint.rest_from(at, stop, (limits.lower, limits.upper), now)
            if hit and self.settings.collision.reaction == RETREAT:
                self._setpoint.move_on_to(self.contacts.retreat, self.model)

    def _runs_away(self, measured: Measured, now: float) -> bool:
        """Return whether the arm is too fast and far from its motion to rest for stable PD."""
        limits = self.model.dynamics.robot.limits.velocity
        fast = (np.abs(measured.qd) > limits) & (limits > 0.0)
        if not fast.any():
            return False
        error = position_error(self._setpoint.at_rest(now).q, measured.q, self.model.continuous)
        return excessive_error(error, np.asarray(self.settings.tracking_limit)) is not None

    @property
    def _law(self) -> ControlLaw:
        """The present control law."""
        law = ALL_MODES[self.settings.mode]
        if self.stopped_by_collision and self.settings.collision.reaction == FLOAT:
            return FLOATING
        if self.cause == OSCILLATION:
            return HELD
        if law.in_task_space:  # a stopped arm is held joint by joint
            return HELD if self._supervisor.status is Status.STOPPED else law
        unled = self._supervisor.status is Status.HOLDING and self._reference is not None
        if unled and not self._supervisor.halted and self.settings.on_reference_timeout == GRAVITY:
            return MODES[GRAVITY]
        return law


def all_finite(*arrays: Array) -> bool:
    """Return whether every number is finite, shape (n,) each: the guard on numbers in and out."""
    for array in arrays:  # noqa: SIM110  # a generator takes longer than what it tests
        # One product takes a tenth of the time of a test of each, which only squares too large need
        if not (math.isfinite(array.dot(array)) or np.isfinite(array).all()):
            return False
    return True
