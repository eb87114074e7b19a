"""Task: the target of the hand, always without a jump, and the law that brings it there."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from robot_dynamics.control.laws import Measured
from robot_dynamics.control.limits import velocity_limits
from robot_dynamics.control.target_motion import LONGEST_STEP_S, TargetMotion, way_between
from robot_dynamics.control.task_kernel import task_kernel
from robot_dynamics.control.task_settings import FRAME, HandMobility, TaskSettings
from robot_dynamics.control.task_space import FEEDBACK_SHAPES, RETURN_SHAPES
from robot_dynamics.control.transitions import Ramp
from robot_dynamics.dynamics.variant import payload_numbers
from robot_dynamics.foundation.arrays import Array, frozen
from robot_dynamics.spatial import Pose

if TYPE_CHECKING:
    from robot_dynamics.control.model import Model
    from robot_dynamics.dynamics.dynamics import Dynamics
    from robot_dynamics.robot.robot import Robot
    from robot_dynamics.trajectory.trajectory import State

WRENCH_RAMP_S = 0.2
"""Time from a wrench to another, s."""

STIFFER = 10.0
"""Factor on the stiffness of a direction from which it was too soft to hold the hand before."""

LEAD = 2.0
"""Error, relative to the largest that counts, from which the target waits for the hand."""

SLIGHT = 1e-3
"""Share of the motion of a target that counts as none."""

JOINT_SHARE = 0.5
"""Largest joint speed that a target asks for, relative to the speed limit of the joint."""

SAME = np.array([1e-3, 1e-3, 1e-3, 1e-2, 1e-2, 1e-2])
"""Distance of a hand in two descriptions of an arm that counts as none, m and rad."""

ROOT_AXES = frozen(np.eye(3))
"""Axes of the root link."""


MOTION = (
    *("target", "wrench", "given", "last", "velocity", "_posture", "_taken", "_waits"),
    *("_asked", "_exerted", "_aimed", "_until", "_exerts_until", "_stepped_at"),
    *("_felt", "_felt_at", "_correction", "_next_correction"),
)
"""Attributes of a task that its settings and equations do not determine."""


def largest_joint_speeds(robot: Robot) -> Array:
    """Return the joint speeds that a target asks for at most, shape (n,), rad/s or m/s."""
    return JOINT_SHARE * velocity_limits(robot)


class HandState(NamedTuple):
    """Results of the last cycle.

    Attributes:
        error: Target minus measured in the axes of the task, shape (6,), m and rad.
        singularity: 0 away from singularities, 1 at one.
        attainable: Share of its speed that the target may keep.
    """

    error: Array
    singularity: float
    attainable: float


class Task:
    """The hand of an arm in task space: its settings, target and kernels.

    Args:
        model: The arm.
        hand: Link or frame.
        settings: By default those of `HandMobility.defaults`.
        before: A task whose kernels this one uses too.

    Attributes:
        hand: Name of the hand.
        dynamics: Equations of the arm.
        defaults: Settings that fit the arm.
        settings: See `use`.
        target: Motion of the target.
        wrench: That the hand exerts beside spring and damper, about its origin in axes of the root
            link, shape (6,), N and N m; ramped.
        given: Last pose or twist and the time of its arrival; None once the pose is reached.
        last: Results of the last cycle; None before it.
        velocity: Joint velocities that belong to the target, shape (n,), rad/s or m/s.
    """

    def __init__(
        self,
        model: Model,
        hand: str,
        settings: TaskSettings | None = None,
        before: Task | None = None,
    ) -> None:
        self.hand, self.dynamics = hand, model.dynamics
        self.mobility = HandMobility(model.dynamics, hand)
        self.defaults = self.mobility.defaults(model.bandwidth, model.fastest)
        self.settings = settings or self.defaults
        self.target = TargetMotion(self.settings.speed, self.settings.acceleration)
        self.wrench = Ramp(np.zeros(6), WRENCH_RAMP_S)
        self.given: tuple[Pose | Array, float] | None = None
        self.last: HandState | None = None
        self._posture: Array | None = None
        self._taken: object = None
        self._waits = False
        self._felt, self._felt_at, self._dt = np.zeros(6), -np.inf, 0.0
        self._correction = self._next_correction = np.zeros((2, 6))
        self._asked = self._exerted = self._aimed = self._nothing = np.zeros(6)
        self._until, self._exerts_until, self._stepped_at = -np.inf, -np.inf, -np.inf
        self._none = self.velocity = np.zeros(model.dynamics.robot.dof)
        self._any_speed = np.full(model.dynamics.robot.dof, np.inf)
        self._fast = largest_joint_speeds(model.dynamics.robot)
        self._kernels: dict[tuple[Any, ...], Callable[..., Any]] = (
            {} if before is None else before._kernels
        )
        self._fastest: dict[TaskSettings, float] = {}
        self._constants_of: tuple[Any, ...] = ()

    def pose(self, model: Model, q: Array) -> Pose:
        """Return the pose of the hand in the root link."""
        found = model.dynamics.pose(q, self.hand)
        return Pose(found.rotation, found.position)

    def error(self, pose: Pose) -> Array:
        """Return target minus pose in axes of the root link, shape (6,), m and rad."""
        return way_between(pose, self.target.pose)

    def distance(self, pose: Pose, goal: Pose) -> float:
        """Return the distance between two poses in directions whose position is controlled, m."""
        away = (goal.translation - pose.translation) @ self._axes
        return float(np.linalg.norm(self.settings.selection[:3] * away))

    def forget(self) -> None:
        """Forget target and wrench: from the next cycle on, the hand is held where it is."""
        self._posture = None
        self._next_correction = np.zeros((2, 6))
        self.stop()

    def stop(self) -> None:
        """Give up target and wrench: the hand comes to rest on its way, and exerts no more."""
        self.given, self._until, self._exerts_until = None, -np.inf, -np.inf

    def go_on_from(self, before: Task, q: Array) -> None:
        """Follow the targets of a task of the same arm, if the hand is the same and where it was.

        Args:
            before: Task of another description of the arm.
            q: Measured positions, shape (n,).
        """
        poses = [task.dynamics.pose(q, task.hand) for task in (before, self)]
        was, now = (Pose(found.rotation, found.position) for found in poses)
        if self.hand != before.hand or (np.abs(way_between(was, now)) > SAME).any():
            return
        for name in MOTION:
            setattr(self, name, getattr(before, name))
        self.target.use(self.settings.speed, self.settings.acceleration)

    def _begin(self, model: Model, measured: Measured) -> None:
        found = model.dynamics.pose(measured.q, self.hand)
        self.target.begin(found.rotation, found.position)
        self._posture = measured.q.copy()
        self._fast = largest_joint_speeds(model.dynamics.robot)

    def use(self, settings: TaskSettings) -> None:
        """Use other settings from the next cycle on; the controller then fades to their efforts.

        A hand that would spring back, as it was led away while soft or free, is held where it is.
        """
        if settings is self.settings:
            return
        before, after = (s.selection * s.stiffness.diagonal() for s in (self.settings, settings))
        far = after > STIFFER * before
        if self.last is not None:
            far |= (after > 0.0) & (np.abs(self.last.error) > settings.largest_error)
        if far.any() or not np.array_equal(settings.free_axis, self.settings.free_axis):
            self.forget()
        if settings.feedback is None:
            self._next_correction = np.zeros((2, 6))
        self.settings = settings
        self.target.use(settings.speed, settings.acceleration)

    # -- targets ----------------------------------------------------------------------------

    def aim(self, pose: Pose, now: float) -> None:
        """Give a pose of the hand in the root link, to which it moves while the arm may move."""
        self.given, self._until = (pose, now), np.inf

    def drive(self, twist: Array, now: float, lasts: float) -> None:
        """Give a twist, shape (6,), m/s and rad/s, that lasts for a time, s."""
        self.given, self._until = (np.asarray(twist, dtype=np.float64), now), now + lasts

    def exert(self, wrench: Array, now: float, lasts: float) -> None:
        """Give a wrench on the surroundings, shape (6,), that lasts for a time, s."""
        self._asked, self._exerts_until = np.asarray(wrench, dtype=np.float64), now + lasts

    def feel(self, wrench: Array, now: float) -> None:
        """Take a measured wrench that the hand exerts, shape (6,), about it in its own axes."""
        self._felt, self._felt_at = np.asarray(wrench, dtype=np.float64), now

    def feels(self, now: float) -> bool:
        """Return whether a measured wrench is new enough for force feedback."""
        given = self.settings.feedback
        return given is not None and now - self._felt_at <= given.timeout

    @property
    def correction(self) -> Array:
        """Return the integral of the force feedback in the axes of the task, shape (6,)."""
        return np.asarray(self._next_correction[1])

    def wrench_effort(self, model: Model, q: Array, wrench: Array) -> Array:
        """Return the joint efforts by which the hand exerts a wrench, shape (n,), N m or N."""
        S = self._axes
        held = self.settings.held.reshape(2, 3) * (np.reshape(wrench, (2, 3)) @ S)
        return np.asarray(model.dynamics.jacobian(q, self.hand).T @ (held @ S.T).ravel())

    def follow(self, model: Model, desired: State) -> None:
        """Put target and posture on a motion of the joints, without limits of speed."""
        arm = model.dynamics
        J, pose = arm.jacobian(desired.q, self.hand), arm.pose(desired.q, self.hand)
        acceleration = J @ desired.qdd + arm.drift(desired.q, desired.qd, self.hand)
        self.target.follow(pose.rotation, pose.position, J @ desired.qd, acceleration)
        self._posture, self._fast = desired.q, self._any_speed

    def moves(self, now: float) -> bool:
        """Return whether a target asks for motion."""
        return self.given is not None and now < self._until

    def step(self, now: float, may_move: bool, may_push: bool = True) -> None:
        """Move target and wrench on to a time, s.

        Args:
            now: The time, s.
            may_move: Whether the arm may move; otherwise the target comes to rest.
            may_push: Whether the hand may exert a wrench; otherwise that fades to zero.
        """
        dt, self._stepped_at = now - self._stepped_at, now
        self._dt, self._correction = min(dt, LONGEST_STEP_S), self._next_correction
        if self._posture is None:
            return
        wrench = self._asked if may_push and now < self._exerts_until else self._nothing
        if wrench is not self._aimed:
            self._aimed = wrench
            self.wrench.aim(wrench)
        self._exerted = self.wrench.value(now)
        given, target = self.given, self.target
        if given is None or not may_move or now >= self._until:
            target.rest()
            self._taken, self._waits = None, False
        else:
            self._lead(given)
        target.slow_down(1.0 if self.last is None else self.last.attainable)
        target.step(dt)

    def _lead(self, given: tuple[Pose | Array, float]) -> None:
        """Move the target as it was asked to, but not away from a hand that does not follow.

        Otherwise a target that an obstacle or the reach of the arm keeps the hand from would have
        to come back all the way before the hand moves again.
        """
        target, (asked, at) = self.target, given
        new, self._taken = given is not self._taken, given
        if not isinstance(asked, Pose):
            self._waits = False
            target.drive(self._within_lead(asked))
        elif self._waits:
            returns = new and not self._leaves(way_between(target.pose, asked))
            if returns or not self._behind(1.0).any():
                self._waits = False
                target.aim(asked, at)
        elif new:
            target.aim(asked, at)
        elif self._leaves(target.twist):
            self._waits = True
            target.rest()
        elif target.arrived:
            self.given = None

    def _behind(self, share: float) -> Array:
        """Return the directions in which the hand is a share of `largest_error` or more behind."""
        if self.last is None:
            return np.zeros(6, dtype=bool)
        controlled, largest = self.settings.selection, self.settings.largest_error
        return np.asarray(controlled * np.abs(self.last.error) > share * largest)

    def _leaves(self, twist: Array) -> bool:
        """Return whether a twist takes the target on from a hand that is too far behind.

        One that leads back to the hand in other directions may leave it slightly in this one.
        """
        behind = self._behind(LEAD)
        if self.last is None or not behind.any():
            return False
        away = (twist.reshape(2, 3) @ self._axes).ravel() * self.last.error
        away *= self.settings.selection / self.settings.largest_error**2
        return bool(away[behind].sum() > SLIGHT * np.abs(away).sum())

    def _within_lead(self, twist: Array) -> Array:
        """Return a twist without the directions in which it leaves the hand too far behind."""
        behind = self._behind(LEAD)
        if self.last is None or not behind.any():
            return twist
        S = self._axes
        along = (twist.reshape(2, 3) @ S).ravel()
        along[behind & (along * self.last.error > 0.0)] = 0.0
        return np.asarray((along.reshape(2, 3) @ S.T).ravel())

    @property
    def _axes(self) -> Array:
        """Axes of the task in the root link, as columns."""
        return self.target.rotation if self.settings.axes == FRAME else ROOT_AXES

    def prepare(
        self,
        model: Model,
        mode: str,
        settings: TaskSettings | None = None,
        endpoint: str | None = None,
    ) -> None:
        """Compute and compile for a law what a loop must not wait for.

        Args:
            model: The arm.
            mode: The law.
            settings: By default the present ones.
            endpoint: Frame that may carry a payload; by default none.
        """
        settings = settings or self.settings
        self._own_frequency(settings)
        for place in {None, endpoint}:
            self._kernel(model.dynamics, mode, settings, place)
        self.pose(model, self._none)

    def kernel(self, model: Model, mode: str) -> Callable[..., Any]:
        """Return the kernel of a law, compiled when it is first needed."""
        place = model.frame if model.payload is not None else None
        return self._kernel(model.dynamics, mode, self.settings, place)

    def _kernel(
        self, dynamics: Dynamics, mode: str, settings: TaskSettings, place: str | None
    ) -> Callable[..., Any]:
        feels, projector = settings.feedback is not None, settings.projector
        key = (dynamics, self.hand, mode, projector, place, feels)
        if key not in self._kernels:
            further = [RETURN_SHAPES, *([FEEDBACK_SHAPES] if feels else [])]
            self._kernels[key] = task_kernel(dynamics, self.hand, mode, projector, place, further)
        return self._kernels[key]

    def effort(self, model: Model, mode: str, measured: Measured) -> Array:
        """Return the efforts of a law in one cycle without gravity, shape (n,).

        Args:
            model: The arm and its load.
            mode: `task_space.IMPEDANCE` or `OPERATIONAL_SPACE`.
            measured: Measured state.
        """
        if self._posture is None:
            self._begin(model, measured)
        inputs = self.inputs(model, measured)
        tau, qd, error, singularity, attainable, *correction = self.kernel(model, mode)(*inputs)
        if correction:
            self._next_correction = correction[0]
        self.velocity, self.last = qd, HandState(error, float(singularity[0]), float(attainable[0]))
        if model.base is not None:  # the kernel has the velocities of a base that stands
            tau = tau + model.gyroscopic(*measured)
        return np.asarray(tau + model.friction_effort(qd, tau))

    def inputs(self, model: Model, measured: Measured) -> list[Any]:
        """Return the inputs of a kernel in this cycle; see `task_space.input_shapes`."""
        target = self.target
        *constants, returning, feedback = self._constants(self.settings, model)
        inputs: list[Any] = [
            *measured,
            target.rotation,
            target.position,
            target.twist,
            target.acceleration,
            self._exerted,
            self._axes,
            *constants[:-1],
            self._posture,
            constants[-1],
            self._none if model.rotor_inertia is None else model.rotor_inertia,
            self._fast,
            returning,
        ]
        if self.settings.feedback is not None:
            feedback[-2:] = self.feels(self._stepped_at), self._dt
            inputs += [self._felt, self._correction, feedback]
        if model.payload is not None:
            inputs.append(payload_numbers(model.payload))
        return inputs

    def _constants(self, settings: TaskSettings, model: Model) -> tuple[Array, ...]:
        """Return the inputs that only settings and loop determine.

        In order, then `numbers`, `returning` and `feedback`.
        """
        known = settings, model.fastest, model.bandwidth
        if self._constants_of[:3] != known:
            share = self.share(settings, model.fastest)
            named = self.mobility.constants(settings, model.bandwidth, model.fastest, share)
            returning = self.mobility.returning(settings, model.fastest, share)
            feedback = self.mobility.feedback(settings, model.bandwidth)
            self._constants_of = (*known, (*named.values(), returning, feedback))
        found: tuple[Array, ...] = self._constants_of[3]
        return found

    def share(self, settings: TaskSettings, fastest: float) -> float:
        """Return the share of its natural frequencies that a stiffness has in a loop."""
        return min(1.0, fastest / self._own_frequency(settings))

    def _own_frequency(self, settings: TaskSettings) -> float:
        """Return the largest natural frequency under the stiffness of some settings, rad/s."""
        if settings not in self._fastest:
            last = list(self._fastest.items())[-1:]  # which a loop may still use
            found = self.mobility.fastest_mode(settings.stiffness)
            self._fastest = {**dict(last), settings: found}
        return self._fastest[settings]
