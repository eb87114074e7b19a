"""Task: the target of the hand, always without a jump, and the law that brings it there."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from robot_dynamics.control.laws import Measured
from robot_dynamics.control.target_motion import TargetMotion
from robot_dynamics.control.task_kernel import task_kernel
from robot_dynamics.control.task_settings import HAND, HandMobility, TaskSettings
from robot_dynamics.control.transitions import Ramp
from robot_dynamics.dynamics.variant import payload_numbers
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.spatial import Pose

if TYPE_CHECKING:
    from robot_dynamics.control.model import Model

WRENCH_RAMP_S = 0.2
"""Time from a wrench to another, s."""


class HandState(NamedTuple):
    """Results of the last cycle.

    Attributes:
        error: Target minus measured in the axes of the task, shape (6,), m and rad.
        singularity: 0 away from singularities, 1 at one.
    """

    error: Array
    singularity: float


class Task:
    """The hand of an arm in task space: its settings, target and kernels.

    Args:
        model: The arm.
        hand: Link or frame.
        settings: By default those of `HandMobility.defaults`.

    Attributes:
        hand: Name of the hand.
        settings: See `use`.
        target: Motion of the target.
        wrench: That the hand exerts beside spring and damper, about its origin in axes of the root
            link, shape (6,), N and N m; ramped.
        last: Results of the last cycle; None before it.
        velocity: Joint velocities that belong to the target, shape (n,), rad/s or m/s.
    """

    def __init__(self, model: Model, hand: str, settings: TaskSettings | None = None) -> None:
        self.hand = hand
        self.mobility = HandMobility(model.dynamics, hand)
        self.settings = settings or self.mobility.defaults(model.bandwidth, model.fastest)
        self.target = TargetMotion(self.settings.speed, self.settings.acceleration)
        self.wrench = Ramp(np.zeros(6), WRENCH_RAMP_S)
        self.last: HandState | None = None
        self._posture: Array | None = None
        self._given: tuple[Pose | Array, float] | None = None
        self._taken: object = None
        self._exerted = np.zeros(6)
        self._until, self._stepped_at = -np.inf, -np.inf
        self._none = self.velocity = np.zeros(model.dynamics.robot.dof)
        self._kernels: dict[tuple[Any, ...], Callable[..., Any]] = {}
        self._known: tuple[Any, ...] = ()
        self._fitted: tuple[Array, ...] = ()
        self._numbers = np.zeros(0)

    def pose(self, model: Model, q: Array) -> Pose:
        """Return the pose of the hand in the root link."""
        found = model.dynamics.pose(q, self.hand)
        return Pose(found.rotation, found.position)

    def forget(self) -> None:
        """Forget target and wrench: from the next cycle on, the hand is held where it is."""
        self._posture, self._given, self._until = None, None, -np.inf
        self.wrench.aim(np.zeros(6))

    def _begin(self, model: Model, measured: Measured) -> None:
        found = model.dynamics.pose(measured.q, self.hand)
        self.target.begin(found.rotation, found.position)
        self._posture = measured.q.copy()

    def use(self, settings: TaskSettings) -> None:
        """Use other settings from the next cycle on; the controller then fades to their efforts."""
        self.settings = settings
        self.target.use(settings.speed, settings.acceleration)

    # -- targets ----------------------------------------------------------------------------

    def aim(self, pose: Pose, now: float) -> None:
        """Give a pose of the hand in the root link, to which it moves while the arm may move."""
        self._given, self._until = (pose, now), np.inf

    def drive(self, twist: Array, now: float, lasts: float) -> None:
        """Give a twist, shape (6,), m/s and rad/s, that lasts for a time, s."""
        self._given, self._until = (np.asarray(twist, dtype=np.float64), now), now + lasts

    def follow(
        self, rotation: Array, position: Array, twist: Array, acceleration: Array, posture: Array
    ) -> None:
        """Lead the hand along a motion that is known beforehand, without limits.

        Args:
            rotation: Axes of the hand in those of the root link, shape (3, 3).
            position: Shape (3,), m.
            twist: Shape (6,), m/s and rad/s.
            acceleration: Shape (6,), m/s^2 and rad/s^2.
            posture: Joint positions for the null space, shape (n,).
        """
        self._posture = posture
        self.target.follow(rotation, position, twist, acceleration)

    def moves(self, now: float) -> bool:
        """Return whether a target asks for motion."""
        return self._given is not None and now < self._until

    def step(self, now: float, may_move: bool) -> None:
        """Move the target on to a time, s; to rest unless the arm may move."""
        dt, self._stepped_at = now - self._stepped_at, now
        if self._posture is None:
            return
        given, target = self._given, self.target
        if given is None or not may_move or now >= self._until:
            target.rest()
            self._taken = None
        elif given is not self._taken:
            self._taken = given
            asked, at = given
            if isinstance(asked, Pose):
                target.aim(asked, at)
            else:
                target.drive(asked)
        elif isinstance(given[0], Pose) and target.arrived:
            self._given = None
        target.step(dt)
        self._exerted = self.wrench.value(now)

    def kernel(self, model: Model, mode: str) -> Callable[..., Any]:
        """Return the kernel of a law, compiled when it is first needed."""
        place = model.frame if model.payload is not None else None
        key = (model.dynamics, mode, self.settings.projector, place)
        if key not in self._kernels:
            self._kernels[key] = task_kernel(
                model.dynamics, self.hand, mode, self.settings.projector, place
            )
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
        tau, qd, error, singularity = self.kernel(model, mode)(*inputs)
        self.velocity, self.last = qd, HandState(error, float(singularity[0]))
        return np.asarray(tau + model.friction_effort(qd, tau))

    def inputs(self, model: Model, measured: Measured) -> list[Any]:
        """Return the inputs of a kernel in this cycle; see `task_space.input_shapes`."""
        target, fitted = self.target, self._fit(model)
        axes = target.rotation if self.settings.axes == HAND else np.eye(3)
        inputs: list[Any] = [
            *measured,
            target.rotation,
            target.position,
            target.twist,
            target.acceleration,
            self._exerted,
            axes,
            *fitted,
            self._posture,
            self._numbers,
            self._none if model.rotor_inertia is None else model.rotor_inertia,
        ]
        if model.payload is not None:
            inputs.append(payload_numbers(model.payload))
        return inputs

    def _fit(self, model: Model) -> tuple[Array, ...]:
        """Return the inputs `root` to `free_axis`, with feedback that fits the loop."""
        settings = self.settings
        known = settings, model.fastest, model.bandwidth
        if self._known == known:
            return self._fitted
        share = min(1.0, model.fastest / self.mobility.fastest_mode(settings.stiffness))
        damping = self.mobility.force_damping(settings, model.bandwidth)
        if settings.damping is not None:
            damping = share * settings.damping
        self._numbers = np.array(
            [
                settings.damping_ratio if settings.damping is None else 0.0,
                self.mobility.heaviest,
                self.mobility.length,
                min(settings.posture_frequency, model.fastest),
                min(settings.settling, model.fastest),
            ]
        )
        self._fitted = (
            share * settings.root,
            damping,
            np.linalg.inv(settings.inertia),
            settings.largest_error,
            settings.selection,
            settings.held,
            settings.free_axis,
        )
        self._known = known
        return self._fitted
